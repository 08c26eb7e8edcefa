"""URLs, databases and reference files on the command line, and the options that open them."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.cli import urls
from omnizarr.stores import as_store
from tests.cli.conftest import Run, write
from tests.servers.nginx import PASSWORD, USER

SECRET = "wJalrXUtnFEMI/K7MDENG"


# -- how they are read -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("region=eu-west-1", ("region", "eu-west-1")),
        ("endpoint=http://h:1/?a=b", ("endpoint", "http://h:1/?a=b")),
        ("anon=true", ("anon", True)),
        ("timeout=2.5", ("timeout", 2.5)),
        ('key="123"', ("key", "123")),
        ('client_kwargs={"region_name": "x"}', ("client_kwargs", {"region_name": "x"})),
        ("empty=", ("empty", "")),
        ("nothing=null", ("nothing", None)),
    ],
)
def test_an_option(text: str, expected: tuple[str, Any]) -> None:
    assert urls.option(text) == expected


@pytest.mark.parametrize("text", [SECRET, "=" + SECRET, ""])
def test_what_is_no_option_is_not_repeated(text: str) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        urls.option(text)
    assert str(caught.value) == "expected KEY=VALUE"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/a?sig=abc&x=1", "https://host/a?sig=***&x=***"),
        ("redis://user:pass@host:1/0", "redis://user:***@host:1/0"),
        ("https://TOKEN@host/x", "https://***@host/x"),
        ("abfs://container@account/x", "abfs://container@account/x"),
        ("s3://bucket/a", "s3://bucket/a"),
        ("http://u:p@w@host/a", "http://u:***@host/a"),
        ("http://u:p/w@host/a?TOKEN", "http://u:***@host/a?***"),
        ("http://u:p w@host/a", "http://u:***@host/a"),
        ("reference://::http://u:p@host/a", "reference://::http://u:***@host/a"),
    ],
)
def test_a_url_is_shown_without_secrets(url: str, shown: str) -> None:
    assert urls.masked(url) == shown


def test_secrets_are_hidden_and_other_values_are_not() -> None:
    options = {"secret_access_key": SECRET, "region": "eu-west-1", "deep": {"token": "tokentoken"}}
    text = f"{SECRET} in eu-west-1 with tokentoken"
    assert urls.hidden(text, options) == "*** in eu-west-1 with ***"


def test_the_stores_that_a_url_may_mean() -> None:
    assert list(urls.places("s3://bucket/a.zarr/g/x", "")) == [
        ("s3://bucket/a.zarr/g/x", ""),
        ("s3://bucket/a.zarr/g", "x"),
        ("s3://bucket/a.zarr", "g/x"),
        ("s3://bucket", "a.zarr/g/x"),
    ]
    assert list(urls.places("https://h/a%20b/c?sig=1", "n"))[-1] == ("https://h?sig=1", "a b/c/n")
    assert list(urls.places("redis://host/0/a", "x")) == [("redis://host/0/a", "x")]
    assert list(urls.places("simplecache::s3://b/a", "")) == [("simplecache::s3://b/a", "")]


# -- without a server --------------------------------------------------------------------------


def test_file_urls(run: Run, store: Path) -> None:
    url = store.as_uri()
    assert run("tree", url).out.splitlines()[0].startswith(url)
    assert run("info", f"{url}/deep/z", "--json").document["shape"] == [2, 3]
    assert run("info", url, "deep/z", "--json").document["path"] == "deep/z"
    done = run("info", f"{url}/deep/y")
    assert done.status == 2
    assert "deep/y: no array or group" in done.err


def test_a_sqlite_file_and_a_path_into_it(run: Run, tmp_path: Path, store: Path) -> None:
    file = tmp_path / "data.sqlite"
    done = run("convert", store, file, "--to", "3")
    assert done.status == 0, done.err
    assert file.is_file()
    for place in (f"{file}/deep/z", f"sqlite://{file}/deep/z"):
        assert run("info", place, "--json").document["shape"] == [2, 3]
    assert run("info", file, "deep/z", "--json").document["store_kind"] == "SQLite database"
    assert "2 groups" in run("tree", file).out
    assert run("check", file).status == 0
    done = run("info", f"{file}/deep/y")
    assert done.status == 2
    assert "did you mean" in done.err or "no array or group" in done.err
    assert run("convert", file, tmp_path / "back.zarr", "--to", "2").status == 0
    assert run("tree", tmp_path / "back.zarr").status == 0


def test_a_reference_file_and_a_path_into_it(run: Run, tmp_path: Path) -> None:
    root = zarr.create_group(tmp_path / "plain.zarr", zarr_format=2)
    root.create_array("a/x", data=np.arange(4, dtype="i4"), chunks=(4,), compressor=None)
    references: dict[str, Any] = {}
    for key in as_store(tmp_path / "plain.zarr").list():
        value = (tmp_path / "plain.zarr" / key).read_bytes()
        references[key] = value.decode() if ".z" in key else [str(tmp_path / "plain.zarr" / key)]
    file = tmp_path / "refs.json"
    file.write_text(json.dumps({"version": 1, "refs": references}))
    assert run("info", f"{file}/a/x", "--json").document["shape"] == [4]
    assert run("info", file, "--json").document["store_kind"] == "reference file"
    assert "2 groups, 1 array" in run("tree", file).out
    assert run("check", file).status == 0


def test_a_missing_package_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setattr("omnizarr.stores.cloud.runtime._module", None)
    for arguments in (
        ("tree", "s3://bucket/data.zarr"),
        ("info", "gs://bucket/data.zarr/x"),
        ("check", "az://container/data.zarr", "--storage-option", "account_name=me"),
        ("convert", "s3://bucket/a.zarr", tmp_path / "b.zarr", "--to", "3"),
    ):
        done = run(*arguments)
        assert done.status == 2
        lines = done.err.splitlines()
        assert len(lines) == 2, done.err
        assert "needs the package obstore" in lines[0]
        assert lines[1] == "hint: pip install 'omnizarr[cloud]'"


def test_options_go_with_a_url(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("tree", store, "--storage-option", f"key={SECRET}")
    assert done.status == 2
    assert "has no options" in done.err
    assert SECRET not in done.err
    done = run("tree", store, "--storage-option", SECRET)
    assert done.status == 2
    assert "expected KEY=VALUE" in done.err
    assert SECRET not in done.err + done.out
    done = run("convert", store, "--in-place", "--to", "2", "--destination-option", f"key={SECRET}")
    assert done.status == 2
    assert SECRET not in done.err


def test_unknown_options_are_named_and_values_are_not(run: Run) -> None:
    done = run("tree", "s3://bucket/x.zarr", "--storage-option", f"secret_acess_key={SECRET}")
    assert done.status == 2
    assert "secret_acess_key" in done.err
    assert SECRET not in done.err


# -- with servers ------------------------------------------------------------------------------


def test_s3(run: Run, server: Any, store: Path, tmp_path: Path) -> None:
    s3 = server("s3")
    given = [
        word
        for name, value in s3.options.items()
        for word in ("--storage-option", f"{name}={value}")
    ]
    url = s3.url("cli/data.zarr")
    done = run("convert", store, url, "--to", "3", *given)
    assert done.status == 0, done.err
    shown = run("tree", url, *given)
    assert "2 groups" in shown.out
    assert shown.out.splitlines()[0].startswith(url)
    found = run("info", f"{url}/deep/z", "--json", *given).document
    assert (found["shape"], found["store_kind"]) == ([2, 3], "URL")
    assert run("check", f"{url}/deep", *given).status == 0
    done = run("info", f"{url}/deep/y", *given)
    assert done.status == 2
    assert len(done.err.splitlines()) == 2
    assert "deep/y: no array or group" in done.err
    done = run("convert", url, s3.url("cli/old.zarr"), "--to", "2", "--quiet", *given)
    assert (done.status, done.out, done.err) == (0, "", "")
    assert run("convert", s3.url("cli/old.zarr"), tmp_path / "back.zarr", "--to", "3", *given)
    np.testing.assert_array_equal(
        zarr.open_array(tmp_path / "back.zarr", path="deep/z")[...],
        zarr.open_array(store, path="deep/z")[...],
    )
    done = run("convert", s3.url("cli/old.zarr"), "--in-place", "--to", "3", "--json", *given)
    assert done.status == 0
    assert done.document["destination"] == s3.url("cli/old.zarr")
    assert s3.options["secret_access_key"] not in done.out + shown.out


def test_a_draft_keeps_its_metadata_at_the_root(run: Run, server: Any) -> None:
    s3 = server("s3")
    given = [
        word
        for name, value in s3.options.items()
        for word in ("--storage-option", f"{name}={value}")
    ]
    root = zarr.create_group(
        s3.url("cli/draft.zarr"), zarr_format="3-draft2020-10", storage_options=s3.options
    )
    root.create_array("deep/x", shape=(5,), dtype="i4")
    found = run("info", s3.url("cli/draft.zarr/deep/x"), "--json", *given).document
    assert found["shape"] == [5]
    assert found["path"] == "deep/x"


def test_http(run: Run, server: Any) -> None:
    nginx = server("nginx")
    store = write(nginx.root / "cli.zarr")
    url = f"{nginx.urls['json']}/cli.zarr"
    assert "2 groups" in run("tree", url).out
    assert run("info", f"{url}/deep/z", "--json").document["shape"] == [2, 3]
    assert run("check", url).status == 0
    done = run("convert", store, url, "--to", "2")
    assert done.status == 2
    assert len(done.err.splitlines()) <= 2
    locked = f"{nginx.urls['password']}/cli.zarr"
    done = run("tree", locked)
    assert done.status == 2
    with_password = locked.replace("://", f"://{USER}:{PASSWORD.replace(' ', '%20')}@")
    done = run("info", f"{with_password}/deep/z")
    assert done.status == 0, done.err
    assert PASSWORD.replace(" ", "%20") not in done.out
    assert f"{USER}:***@" in done.out


# -- databases ---------------------------------------------------------------------------------


def test_a_dbm_database_is_found(run: Run, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "z.dbm"
    done = run("convert", store, file, "--to", "2")
    assert done.status == 0, done.err
    assert "2 groups" in run("tree", file).out
    assert run("check", file).status == 0
    for place in (f"{file}/deep/z", f"dbm://{file}/deep/z"):
        assert run("info", place, "--json").document["shape"] == [2, 3]
    assert run("info", file, "deep/z", "--json").document["store_kind"] == "DBM database"
    assert run("convert", file, tmp_path / "back.zarr", "--to", "3").status == 0
    done = run("tree", tmp_path / "y.dbm")
    assert done.status == 2
    assert "no such file" in done.err


@pytest.mark.parametrize("name", ["x.sqlite", "y.lmdb", "z.dbm", "w.zip"])
@pytest.mark.parametrize("existing", [True, False])
def test_a_path_into_a_database_is_written_there(
    run: Run, store: Path, tmp_path: Path, name: str, existing: bool
) -> None:
    file = tmp_path / name
    if existing:
        assert run("convert", store, file, "--to", "3").status == 0
    done = run("convert", store, f"{file}/new/one", "--to", "3")
    assert done.status == 0, done.err
    assert not (file / "new").exists()
    assert run("info", f"{file}/new/one/deep/z", "--json").document["shape"] == [2, 3]
    assert run("info", file, "new/one/deep/z", "--json").document["shape"] == [2, 3]
    if existing:
        assert run("info", f"{file}/deep/z", "--json").document["shape"] == [2, 3]
    opened = as_store(file, mode="r")
    with opened:
        assert opened.exists("new/one/deep/z/zarr.json")


@pytest.mark.parametrize("scheme", ["sqlite", "lmdb", "dbm"])
def test_a_url_of_a_new_database(run: Run, store: Path, tmp_path: Path, scheme: str) -> None:
    url = f"{scheme}://{tmp_path}/new.{scheme}"
    assert run("convert", store, url, "--to", "3").status == 0
    assert not (tmp_path / "data.mdb").exists()
    assert run("convert", store, f"{url}/below", "--to", "3").status == 0
    assert run("info", f"{url}/below/deep/z", "--json").document["shape"] == [2, 3]


def test_options_go_to_whom_they_concern(run: Run, store: Path, tmp_path: Path) -> None:
    source = tmp_path / "source.sqlite"
    assert run("convert", store, source, "--to", "3").status == 0
    both = ["--storage-option", "table=zarr", "--storage-option", "flag=c"]
    done = run("convert", source, tmp_path / "z.dbm", "--to", "3", *both)
    assert done.status == 0, done.err
    done = run("convert", tmp_path / "z.dbm", tmp_path / "other.sqlite", "--to", "2", *both)
    assert done.status == 0, done.err
    wrong = ["--storage-option", f"tabel={SECRET}", "--storage-option", "timeout=5"]
    done = run("convert", source, tmp_path / "y.dbm", "--to", "3", *wrong)
    assert done.status == 2
    assert "tabel" in done.err and SECRET not in done.err and "fault of omnizarr" not in done.err
    assert not list(tmp_path.glob("y.dbm*"))
    done = run(
        "convert", source, tmp_path / "y.dbm", "--to", "3", "--destination-option", "table=zarr"
    )
    assert done.status == 2
    assert "table" in done.err


def test_options_of_a_service_and_of_a_database(run: Run, server: Any, tmp_path: Path) -> None:
    s3, redis = server("s3"), server("redis")
    given = [
        word
        for name, value in {**s3.options, "timeout": 20}.items()
        for word in ("--storage-option", f"{name}={value}")
    ]
    source = write(tmp_path / "a.zarr")
    url = s3.url("cli/shared.zarr")
    without = given[:-2]
    assert run("convert", source, url, "--to", "3", *without).status == 0
    for target in ("b.sqlite", "c.dbm"):
        done = run("convert", url, tmp_path / target, "--to", "3", *given)
        assert done.status == 0, done.err
    there = f"{redis.url}?prefix=cli-shared"
    done = run("convert", url, there, "--to", "3", *given)
    assert done.status == 0, done.err
    done = run("convert", there, s3.url("cli/shared2.zarr"), "--to", "3", *given)
    assert done.status == 0, done.err
    assert "prefix=cli-shared" in run("tree", there).out
    done = run("tree", there, "--storage-option", "prot=1")
    assert done.status == 2
    assert "prot" in done.err and "fault of omnizarr" not in done.err
    done = run("tree", f"{redis.url}/sub/a?prefix=cli-shared")
    assert done.status == 2
    assert "a node below it is named with path=" in done.err


def test_mistakes_of_a_person_are_no_faults(run: Run) -> None:
    for url, option in (
        ("s3://b/x", "endpoint=127.0.0.1:9000"),
        ("s3://b/x", 'client_options={"timeot": "5s"}'),
        ("s3://b/x", "deadline=soon"),
        ("az://c/x", f"account_key={SECRET}"),
        ("gs://b/x", "service_account=/nowhere.json"),
    ):
        done = run("tree", url, "--storage-option", option)
        assert done.status == 2
        assert len(done.err.splitlines()) <= 2
        assert "unexpected" not in done.err and "Debug" not in done.err
        assert SECRET not in done.err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["info", "tree", "check"])
@pytest.mark.parametrize(
    "url",
    [
        "reference://::http://u:HUSHHUSH@127.0.0.1:9/a",
        "::http://u:HUSHHUSH@127.0.0.1:9/a",
        "unknown://u:p/HUSHHUSH@127.0.0.1:9/a?jwt=HUSHHUSH",
        "redis://u:1/HUSHHUSH@127.0.0.1:9/0",
        "mongodb://u:1/HUSHHUSH@127.0.0.1:9/a.b",
    ],
)
def test_nothing_secret_is_printed(run: Run, command: str, url: str) -> None:
    done = run(command, url)
    assert done.status == 2 and done.err
    assert "HUSH" not in done.out + done.err


def test_a_prefix_is_no_secret() -> None:
    assert urls.masked("redis://u:p@h/0?prefix=a&x=b") == "redis://u:***@h/0?prefix=a&x=***"
    assert urls.masked("https://h/a?prefix=a") == "https://h/a?prefix=***"


def test_a_symbolic_link_is_followed_when_asked(run: Run, store: Path, tmp_path: Path) -> None:
    (store / "sparse").rename(tmp_path / "outside")
    (store / "sparse").symlink_to(tmp_path / "outside")
    refused = run("info", store, "sparse")
    assert refused.status == 2 and "follow_symlinks=True" not in refused.err
    assert "--storage-option follow_symlinks=true" in refused.err and "cp -rL" in refused.err
    follow = ("--storage-option", "follow_symlinks=true")
    assert run("info", store, "sparse", *follow).status == 0
    assert run("cp", store, tmp_path / "copy.zarr", *follow).status == 0
    assert zarr.open(tmp_path / "copy.zarr")["sparse"].shape == (40, 60)
    assert run("rm", store, "--yes", *follow).status == 2
    assert (tmp_path / "outside" / "zarr.json").exists()
