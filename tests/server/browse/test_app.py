"""The API: what it tells of stores of every format, what it refuses, what it never does."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.server.browse import downloads, labels, selections, values

Ask = Callable[..., Any]


@pytest.mark.parametrize("zarr_format", [2, 3, "3-draft2019", "n5"])
def test_every_format(zarr_format: Any, stores: Any, ask: Ask) -> None:
    root = stores.write({}, zarr_format)
    page = ask(root)
    assert page.json("store")["kind"] == "group"
    names = [child["name"] for child in page.json("children")["children"]]
    assert {"air", "counts", "rgb"} <= set(names)
    facts = page.json("node", path="air/temperature")
    assert facts["shape"] == [24, 90, 180] and facts["chunks"] == [4, 30, 45]
    header, values = page.values("air/temperature", "3,:,10:20")
    np.testing.assert_array_equal(values, root["air/temperature"][3, :, 10:20])
    assert header["selection"] == "3, 0:90, 10:20"
    chunks = page.json("chunks", path="air/temperature", rows=1, columns=2)
    assert (chunks["height"], chunks["width"], chunks["folded"]) == (3, 4, 6)
    assert sum(chunks["counts"]) == len(root["air/temperature"].stored_chunks())


@pytest.mark.parametrize("zarr_format", [0, 1])
def test_a_lone_array_of_an_old_format(zarr_format: int, ask: Ask) -> None:
    array = zarr.create_array({}, shape=(4, 6), chunks=(2, 3), dtype="i4", zarr_format=zarr_format)
    array[:] = np.arange(24).reshape(4, 6)
    page = ask(array)
    assert page.json("node")["shape"] == [4, 6]
    np.testing.assert_array_equal(page.values("")[1], array[:])
    assert page.json("children")["children"] == []
    assert page.json("node", status=404, path="x")["error"]


def test_a_zip_archive(tmp_path: Path, stores: Any, ask: Ask) -> None:
    file = str(tmp_path / "data.zip")
    with zarr.ZipStore(file, mode="w") as store:
        root = zarr.create_group(store)
        root["a"] = np.arange(5)
    with zarr.ZipStore(file, mode="r") as store:
        page = ask(zarr.open(store, mode="r"))
        assert page.values("a")[1].tolist() == [0, 1, 2, 3, 4]
        assert page.json("chunks", path="a", columns=0)["counts"] == [1]


def test_coordinates_and_times(sample: zarr.Group, ask: Ask) -> None:
    page = ask(sample)
    time, lat, _ = page.json("node", path="air/temperature")["dims"]
    assert time["coordinates"] == "air/time" and time["type"] == "time"
    assert lat["units"] == "degrees_north"
    labels = page.json("labels", path="air/temperature", dim=0, s="3:6")
    assert labels["texts"] == ["2024-02-28 18:00", "2024-02-29 00:00", "2024-02-29 06:00"]
    assert page.json("labels", path="air/temperature", dim=1, s="0:90:89")["values"] == [89, -89]
    assert page.json("labels", path="rgb", dim=0, s="0:3") == {"values": None, "texts": None}


def test_coordinates_of_groups_above_and_of_an_array_at_the_top(ask: Ask) -> None:
    root = zarr.group({})
    root.create_array("x", data=[1.5, 2.5], dimension_names=["x"])
    array = root.create_array("deep/below/a", data=[[1, 2]], dimension_names=["y", "x"])
    found = ask(root).json("node", path="deep/below/a")["dims"]
    assert [dim["coordinates"] for dim in found] == [None, "x"]
    beside = root.create_array("b", data=[3, 4], dimension_names=["x"])
    assert ask(beside).json("labels", dim=0, s="0:2")["values"] == [1.5, 2.5]
    assert ask(array).json("node")["dims"][1]["length"] == 2


def test_packed_values(sample: zarr.Group, ask: Ask) -> None:
    page = ask(sample)
    assert page.json("node", path="air/packed")["packed"]
    meant = page.values("air/packed", "0,40,0:5")[1]
    stored = page.values("air/packed", "0,40,0:5", decode=0)[1]
    np.testing.assert_allclose(meant, stored * 0.1)
    assert np.isnan(page.values("air/packed", "0,0,0")[1])


@pytest.mark.parametrize(
    ("path", "kind", "dtype"),
    [
        *(("mask", "bool", "u1"), ("wave", "complex", "f4"), ("counts", "number", "i8")),
        *(("rgb", "number", "u1"), ("answer", "number", "i4"), ("days", "time", "i8")),
    ],
)
def test_numbers(path: str, kind: str, dtype: str, sample: zarr.Group, ask: Ask) -> None:
    header, values = ask(sample).values(path)
    assert (header["type"], header["dtype"]) == (kind, dtype)
    expected = np.asarray(sample[path][...])
    if kind == "complex":
        expected = np.stack([expected.real, expected.imag], axis=-1)
    np.testing.assert_array_equal(values, expected.astype(dtype))


@pytest.mark.parametrize(
    ("dtype", "sent"),
    [(">i4", "i4"), (">f8", "f8"), ("f2", "f4"), ("u8", "u8"), ("bfloat16", "f4"), ("int4", "f4")],
)
def test_types_that_javascript_has_not(dtype: str, sent: str, ask: Ask) -> None:
    zarr_format = 2 if dtype[0] == ">" else 3
    array = zarr.create_array({}, shape=3, dtype=dtype, zarr_format=zarr_format)
    array[:] = np.array([1, 2, 3])
    header, values = ask(array).values("")
    assert header["dtype"] == sent and values.tolist() == [1, 2, 3]


@pytest.mark.parametrize("fill", ["NaT", 5])
def test_a_duration_that_fills(fill: Any, ask: Ask) -> None:
    array = zarr.create_array({}, shape=3, dtype="m8[h]", fill_value=np.timedelta64(fill, "h"))
    facts = ask(array).json("node")
    assert facts["fill_value"] == str(array.fill_value)
    assert facts["problems"] == [] and facts["chunks"] == [3]


def test_text_and_records(sample: zarr.Group, ask: Ask) -> None:
    page = ask(sample)
    assert page.values("words")[0]["texts"] == ["one", "<script>alert(1)</script>", "ü"]
    header = page.values("people")[0]
    assert header["fields"] == ["number", "height"] and header["rows"] == [
        ["1", "2.5"],
        ["2", "3.5"],
    ]
    assert page.values("days", "0:2")[0]["texts"] == ["2024-01-01", "2024-01-02"]


def test_a_picture_has_no_more_values_than_were_asked_for(sample: zarr.Group, ask: Ask) -> None:
    header, values = ask(sample).values("air/temperature", "0", size="30,40")
    assert values.shape == (30, 36)
    assert header["parts"] == [0, [0, 30, 3], [0, 36, 5]]
    np.testing.assert_array_equal(values, sample["air/temperature"][0, ::3, ::5])


def test_pyramids(sample: zarr.Group, ask: Ask) -> None:
    page = ask(sample)
    levels = page.json("node", path="image/1")["multiscale"]["levels"]
    assert [level["path"] for level in levels] == ["image/0", "image/1", "image/2"]
    assert page.json("node", path="image/1")["dims"][0]["units"] == "micrometer"
    assert page.json("node", path="image")["multiscale"]["convention"] == "ome-0.5"


def test_axes_of_maps(ask: Ask) -> None:
    pytest.importorskip("pyproj")
    root = zarr.create_group({})
    grid = {"proj:code": "EPSG:32631", "spatial:dimensions": ["y", "x"]}
    straight = grid | {"spatial:transform": [10, 0, 500000, 0, -20, 4600000]}
    turned = grid | {"spatial:transform": [10, 1, 500000, 1, -20, 4600000]}
    names = ["band", "y", "x"]
    root.create_array("a", shape=(2, 3, 4), dtype="i1", attributes=straight, dimension_names=names)
    root.create_array("b", shape=(3, 4), dtype="i1", attributes=turned, dimension_names=names[1:])
    page = ask(root)
    found = page.json("node", path="a")
    assert found["map"]["code"] == "EPSG:32631"
    centres = [dim["centres"] for dim in found["dims"]]
    assert centres == [None, [4599990, -20], [500005, 10]]
    assert [dim["centres"] for dim in page.json("node", path="b")["dims"]] == [None, None]
    root["a"].geo.set(crs="EPSG:32631", transform=(10, 0, 500000, 0, -20, 4600000))
    found = ask(root).json("node", path="a")["dims"][2]
    assert (found["coordinates"], found["centres"]) == ("x", None)


def test_the_map_of_shards(sample: zarr.Group, ask: Ask) -> None:
    page = ask(sample)
    found = page.json("chunks", path="sharded", rows=0, columns=1)
    assert (found["unit"], found["lengths"], found["inner"]) == ("shard", [100, 150], [20, 30])
    assert found["counts"] == [1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1]
    assert found["total"] == sum(found["bytes"]) > 0 and found["complete"]
    one = page.json("chunk", path="sharded", index="3,3")
    assert one["selection"] == "300:400,450:600"
    assert page.values("sharded", one["selection"])[1].tolist() == np.ones((100, 150)).tolist()
    assert "grid" in page.json("chunk", status=400, path="sharded", index="4,0")["error"]


def test_the_map_of_chunks_of_several_lengths(sample: zarr.Group, ask: Ask) -> None:
    found = ask(sample).json("chunks", path="uneven", rows=1, columns=2)
    assert found["lengths"] == [[1, 2, 3], [2, 8], 5]
    assert found["decoded"] == [8 * 6 * rows * 5 for rows in (2, 2, 2, 8, 8, 8)]
    assert found["largest"] == 8 * 3 * 8 * 5


def test_a_fixed_position_in_the_map(sample: zarr.Group, ask: Ask) -> None:
    found = ask(sample).json("chunks", path="air/temperature", rows=1, columns=2, at="2,*,*")
    assert found["folded"] == 1 and set(found["counts"]) == {1}


def test_search_and_pages(ask: Ask) -> None:
    root = zarr.group({})
    for number in range(12):
        root.create_group(f"g/{number}")
    root.create_array("g/10/Wind", shape=2, dtype="i1")
    page = ask(root)
    found = page.json("children", path="g", offset=2, limit=9)
    assert found["total"] == 12
    assert [each["name"] for each in found["children"]] == [str(n) for n in range(2, 11)]
    assert [hit["path"] for hit in page.json("search", q="wind")["hits"]] == ["g/10/Wind"]
    assert page.json("search", q="none")["looked"] == 14


# -- files -----------------------------------------------------------------------------------------


def test_downloads(sample: zarr.Group, ask: Ask) -> None:
    client = ask(sample).client
    query = {"path": "air/temperature", "s": "2,40:44,3:6"}
    expected = sample["air/temperature"][2, 40:44, 3:6]
    file = client.get("/api/download", params={**query, "as": "npy"})
    assert 'filename="air_temperature.npy"' in file.headers["content-disposition"]
    np.testing.assert_array_equal(np.load(io.BytesIO(file.content)), expected)
    text = client.get("/api/download", params={**query, "as": "csv"}).text
    np.testing.assert_array_equal(
        np.loadtxt(io.StringIO(text), delimiter=",", dtype="f4"), expected
    )
    people = client.get("/api/download", params={"path": "people", "as": "csv"}).text
    assert people == "number,height\n1,2.5\n2,3.5\n"


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2"])
def test_types_that_npy_has_not(dtype: str, ask: Ask) -> None:
    array = zarr.create_array({}, shape=2, dtype=dtype)
    array[:] = np.array([0.5, 2.0])
    page = ask(array)
    assert dtype in page.json("download", status=400, **{"as": "npy"})["error"]
    text = page.client.get("/api/download", params={"as": "csv"}).text
    assert [float(line) for line in text.split()] == [0.5, 2]


def test_labels_are_whole(ask: Ask) -> None:
    root = zarr.open_group({}, mode="w")
    root.create_array("a", shape=(2, 2), dtype="i1", dimension_names=["x", "n"])
    root.create_array("x", data=np.array([0.1, 4512345.5], "f4"), dimension_names=["x"])
    root.create_array("n", data=np.array([1, 2**53 + 1]), dimension_names=["n"])
    assert ask(root).json("labels", path="a", dim=0)["values"] == [0.1, 4512345.5]
    assert ask(root).json("labels", path="a", dim=1)["texts"] == ["1", "9007199254740993"]


def test_netcdf(sample: zarr.Group, ask: Ask) -> None:
    query = {"path": "air/temperature", "s": "2", "as": "nc"}
    with _file(ask(sample), **query) as file:
        variable = file["temperature"]
        assert [scale[0].name for scale in variable.dims] == ["/lat", "/lon"]
        assert variable.attrs["units"] == b"K"
        np.testing.assert_array_equal(variable[:], sample["air/temperature"][2])
        np.testing.assert_array_equal(file["lat"][:], sample["air/lat"][:])


def _file(asker: Any, **query: Any) -> Any:
    h5py = pytest.importorskip("h5py")
    response = asker.client.get("/api/download", params={**query, "as": "nc"})
    assert response.status_code == 200, response.text
    return h5py.File(io.BytesIO(response.content))


def test_netcdf_keeps_values_and_attributes(ask: Ask) -> None:
    root = zarr.open_group({}, mode="w")
    for dtype in ("i8", "u8"):
        root.create_array(dtype, data=np.array([2**53 + 1, 2**63 - 1], dtype))
    since = {"units": "days since 2000-01-01", "calendar": "360_day"}
    root.create_array("t", data=[0.0, 59.0], dimension_names=["t"], attributes=since)
    packed = {"scale_factor": 0.5, "_FillValue": -99, "units": "K", "odd": {"a": [1, None]}}
    data = np.array([[5, -99]], "i2")
    root.create_array("p", data=data, dimension_names=["x", "t"], attributes=packed)
    root.create_array("e", shape=(0, 5), dtype="f8")
    root.create_array("half", data=np.array([1.5], "f2"))
    asker = ask(root)
    for dtype in ("i8", "u8"):
        with _file(asker, path=dtype) as file:
            assert file[dtype].dtype == dtype and file[dtype][:].tolist() == [2**53 + 1, 2**63 - 1]
    with _file(asker, path="p", decode="0") as file:
        stored = file["p"]
        assert stored[:].tolist() == [[5, -99]] and stored.dtype == "i2"
        assert stored.attrs["scale_factor"] == 0.5 and stored.attrs["_FillValue"] == -99
        assert file["t"].attrs["calendar"] == b"360_day" and file["t"][:].tolist() == [0, 59]
    with _file(asker, path="p") as file:
        np.testing.assert_array_equal(file["p"][:], [[2.5, np.nan]])
        assert "scale_factor" not in file["p"].attrs and file["p"].attrs["units"] == b"K"
    with _file(asker, path="half") as file:
        assert file["half"].dtype == "f4" and file["half"][:].tolist() == [1.5]
    with _file(asker, path="e") as file:
        assert file["e"].shape == (0, 5)


def test_netcdf_without_h5py(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    told = ask(zarr.array([1])).json("download", status=400, **{"as": "nc"})["error"]
    assert "pip install 'omnizarr[virtual]'" in told


# -- what is refused, and what is bounded ----------------------------------------------------------


@pytest.fixture
def huge() -> zarr.Array:
    return zarr.create_array({}, shape=(160_000, 160_000), chunks=(1000, 1000), dtype="f4")


def test_a_huge_array_opens_at_once(huge: zarr.Array, ask: Ask) -> None:
    page = ask(huge)
    assert page.json("node")["bytes"] == 102_400_000_000
    header, values = page.values("", size="900,900")
    parts = [slice(start, start + n * step, step) for start, n, step in header["parts"]]
    cost = selections.cost(tuple(parts), (1000, 1000), 4)
    assert cost <= selections.DECODED and values.size > 1
    found = page.json("chunks", rows=0, columns=1)
    assert (found["height"], found["width"], found["per_cell"]) == (80, 80, [2, 2])


def test_the_longest_dimension(ask: Ask) -> None:
    length = 2**63 - 1
    array = zarr.create_array({}, shape=(length,), chunks=(1000,), dtype="i1")
    header, values = ask(array).values("", f"0:{length}", size="100")
    assert header["parts"][0][1] == values.size > 1


def test_what_is_too_large_is_refused(huge: zarr.Array, ask: Ask) -> None:
    page = ask(huge)
    assert page.json("download", status=413, **{"as": "npy"})["error"]
    one = zarr.create_array({}, shape=(40_000, 10_000), chunks=(40_000, 10_000), dtype="f4")
    assert "MiB" in ask(one).json("values", status=413, s="0,0")["error"]
    words = zarr.create_array({}, shape=30_000, chunks=30_000, dtype="string")
    assert "text" in ask(words).json("values", status=413)["error"]
    assert page.json("labels", status=413, dim=0, s="0:6000")["error"]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("values", {"path": "counts", "s": "40"}),
        ("values", {"path": "counts", "s": "-1"}),
        ("values", {"path": "counts", "s": "1,2"}),
        ("values", {"path": "counts", "s": "0:9:0"}),
        ("values", {"path": "counts", "s": "٣"}),
        ("values", {"path": "counts", "size": "many"}),
        ("values", {"path": "counts", "s": "1" * 600}),
        ("values", {"path": "air"}),
        ("labels", {"path": "counts", "dim": 1, "s": ":"}),
        ("labels", {"path": "counts", "dim": "x", "s": ":"}),
        ("chunks", {"path": "counts", "columns": 7}),
        ("chunks", {"path": "counts", "at": "1,2,3"}),
        ("chunks", {"path": "counts", "at": "x"}),
        ("chunk", {"path": "counts", "index": ""}),
        ("download", {"path": "counts", "as": "exe"}),
        ("download", {"path": "wave", "as": "nc"}),
        ("children", {"offset": "1e9"}),
    ],
)
def test_what_has_no_meaning_is_told(name: str, query: Any, sample: zarr.Group, ask: Ask) -> None:
    assert ask(sample).json(name, status=400, **query)["error"]


@pytest.mark.parametrize("path", ["nothing", "../x", "air/../..", "a" * 4000, "\x00", "air//x"])
def test_a_path_that_leads_nowhere(path: str, sample: zarr.Group, ask: Ask) -> None:
    response = ask(sample).client.get("/api/node", params={"path": path})
    assert response.status_code in (404, 422) and response.json()["error"]


def test_a_hint_is_given_once(sample: zarr.Group, ask: Ask) -> None:
    found = ask(sample).json("node", status=404, path="cuonts")
    assert "'counts'" in found["hint"] and "'counts'" not in found["error"]


def test_a_damaged_chunk_is_told(ask: Ask) -> None:
    array = zarr.create_array({}, shape=4, chunks=2, dtype="i4")
    array[:] = 1
    array.store.set("c/0", b"nonsense")
    page = ask(array)
    assert page.json("values", status=422)["error"]
    assert page.values("", "2:4")[1].tolist() == [1, 1]


@pytest.mark.parametrize("document", [b"nonsense", b'{"zarr_format": 3, "node_type": "array"}'])
def test_a_damaged_member_hides_no_other(document: bytes, ask: Ask) -> None:
    root = zarr.group({})
    root["a"], root["b"] = [1], [2]
    root.store.set("b/zarr.json", document)
    page = ask(root)
    kinds = {each["name"]: each["kind"] for each in page.json("children")["children"]}
    assert kinds == {"a": "array", "b": "damaged"}
    assert "b/zarr.json" in page.json("node", status=422, path="b")["error"]
    assert page.json("search", q="a")["hits"][0]["path"] == "a"


def test_only_reading(sample: zarr.Group, ask: Ask) -> None:
    client = ask(sample).client
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert client.request(method, "/api/node").status_code == 405


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd"]
)
def test_no_other_file_is_served(path: str, sample: zarr.Group, ask: Ask) -> None:
    assert ask(sample).client.get(path).status_code == 404


def test_hostile_attributes(ask: Ask) -> None:
    root = zarr.create_group({}, zarr_format=2)
    name = "<img src=x onerror=alert(1)>"
    root.create_array(name, data=[1], attributes={"bad": float("nan"), "big": 2**70, name: name})
    deep: Any = 0
    for _ in range(100):
        deep = [deep]
    root.attrs.update({"deep": deep, "long": "x" * 100_000, "many": list(range(100_000))})
    page = ask(root)
    facts = page.json("node", path=name)
    assert facts["attributes"] == {"bad": "NaN", "big": str(2**70), name: name}
    assert facts["attributes"]["bad"] == "NaN"
    response = page.client.get("/api/node")
    assert response.status_code == 200 and len(response.content) < 1_000_000
    assert page.client.get("/").headers["content-type"].startswith("text/html")


def test_the_page_and_its_headers(sample: zarr.Group, ask: Ask) -> None:
    client = ask(sample).client
    for path in ("/", "/static/page.js", "/static/style.css", "/api/store", "/api/nothing"):
        headers = client.get(path, headers={"origin": "http://evil.example"}).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(("127.0.0.1:80", 200), ("localhost", 200), ("[::1]:99", 200), ("10.0.0.5:1", 200)),
        *(("evil.example", 403), ("localhost.evil.example", 403), ("", 403)),
        *(("127.0.0.1.evil.example:80", 403), ("known.example", 200), ("[::1]", 200)),
        *(("[::1].evil", 403), ("[::1]evil:80", 403), ("127.0.0.1:evil", 403), ("[", 403)),
        *(("localhost:80:80", 403), ("localhost:99999", 403), ("localhost:", 200), ("::1", 403)),
        *(("[localhost]", 403), ("[127.0.0.1]", 403), ("known.example:evil", 403)),
        *(("evil@localhost", 403), ("Known.Example:8000", 200)),
    ],
)
def test_names_that_were_not_given_are_refused(
    host: str, status: int, sample: zarr.Group, ask: Ask
) -> None:
    client = ask(sample, hosts=["known.example"]).client
    response = client.get("/api/store", headers={"host": host})
    assert response.status_code == status
    assert "error" in response.json() if status == 403 else response.json()["title"]


@pytest.mark.parametrize("name", ["values", "labels", "download"])
def test_what_decodes_waits_for_its_turn(
    name: str, sample: zarr.Group, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    asker = ask(sample)
    session = asker.client.app.state.session
    read, holding = values.read, []

    class Turn:
        def __enter__(self) -> None:
            holding.append(True)

        def __exit__(self, *_: object) -> None:
            holding.append(False)

    def checked(*args: Any) -> Any:
        assert holding == [True]
        return read(*args)

    monkeypatch.setattr(session, "reads", Turn())
    for module in (values, labels, downloads):
        monkeypatch.setattr(module, "read", checked)
    query = {"path": "air/temperature", "s": "0:1", "as": "npy"}
    response = asker.client.get(f"/api/{name}", params=query)
    assert response.status_code == 200 and holding == [True, False]
