"""Many small objects from one thread, to a server that fails on purpose."""

from __future__ import annotations

import socket
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import md5
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import StoreAccessError, StoreError
from omnizarr.stores import ObjectStore, as_store
from omnizarr.stores.http import batch
from omnizarr.stores.http.batch import MOST_BODY
from tests.servers import faulty as faults
from tests.servers.faulty import Faulty

pytestmark = pytest.mark.slow

COUNT = 150
DATA = np.arange(1, COUNT * 40 + 1, dtype="i4").reshape(COUNT, 40)


@pytest.fixture(scope="module")
def running() -> Iterator[Faulty]:
    with faults.serve() as found:
        yield found


@pytest.fixture
def server(running: Faulty) -> Faulty:
    running.heal()
    running.values.clear()
    running.metadata.clear()
    running.injected.clear()
    return running


SIGNED = {"access_key_id": "someone", "secret_access_key": "hidden"}
PUBLIC = {"skip_signature": True}


def opened(server: Faulty, **options: Any) -> ObjectStore:
    place = {"endpoint": server.url, "region": "us-east-1", "deadline": 20}
    store = as_store("s3://bucket", storage_options={**place, **(options or PUBLIC)})
    assert isinstance(store, ObjectStore)
    return store


def created(store: ObjectStore, **options: Any) -> Any:
    layout = {"shape": DATA.shape, "dtype": "i4", "chunks": (1, 40), "compressors": None}
    return omnizarr.create_array(store, **(layout | options))


def counts(store: ObjectStore) -> tuple[int, int]:
    """How many answers were taken, and how many left aside."""
    assert store._place is not None and store._place.sent is not None
    return store._place.sent._usual, store._place.sent._unusual


@pytest.mark.parametrize("options", [SIGNED, PUBLIC], ids=["signed", "public"])
def test_all_by_one_thread(
    server: Faulty, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str | None, bytes]] = []
    put = server.put

    def watched(key: str, value: bytes, headers: Any) -> int:
        sent.append((headers.get("Content-MD5"), value))
        return put(key, value, headers)

    with opened(server, **options) as store:
        array = created(store)
        monkeypatch.setattr(server, "put", watched)
        array[...] = DATA
        assert counts(store) == (COUNT, 0) and len(sent) == COUNT
        np.testing.assert_array_equal(array[...], DATA)
    signed = "access_key_id" in options
    for digest, value in sent:
        assert digest == (b64encode(md5(value).digest()).decode() if signed else None)


@pytest.mark.parametrize("fault", [name for name in faults.WRITING if name not in ("stall", "403")])
def test_faults_are_left_to_obstore(server: Faulty, fault: str) -> None:
    with opened(server) as store:
        array = created(store)
        server.plan(fault, rate=0.2, seed=3, in_a_row=False)
        try:
            array[...] = DATA
        except StoreError:
            assert fault in ("400", "401")  # not worth another attempt
            return
        finally:
            assert server.injected[fault] > 0
            server.heal()
        assert counts(store)[1] > 0
        np.testing.assert_array_equal(array[...], DATA)


def test_a_refusal_is_raised_and_names_the_key(server: Faulty) -> None:
    with opened(server) as store:
        array = created(store)
        server.plan("403", rate=1.0)
        with pytest.raises(StoreAccessError, match=r"'c/\d+/0'.*credentials"):
            array[...] = DATA


def test_a_server_that_mostly_fails_is_not_asked_so_again(server: Faulty) -> None:
    with opened(server) as store:
        array = created(store)
        server.plan("503", rate=0.9, seed=1)
        with pytest.raises(StoreError):
            array[...] = DATA
        assert store.sender(8) is None


def test_values_that_the_connection_takes_in_pieces(
    server: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    dial = batch.Batch._dial

    def narrow(self: Any, line: Any) -> None:
        dial(self, line)
        line.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

    monkeypatch.setattr(batch.Batch, "_dial", narrow)
    data = np.random.default_rng(5).integers(0, 255, (12, MOST_BODY), dtype="u1")
    with opened(server) as store:
        array = created(store, shape=data.shape, dtype="u1", chunks=(1, MOST_BODY))
        array[...] = data
        assert counts(store) == (12, 0)
        np.testing.assert_array_equal(array[...], data)


regions = st.tuples(
    *(
        st.tuples(st.integers(0, n - 1), st.integers(1, n)).map(
            lambda pair, n=n: slice(pair[0], min(n, sum(pair)))
        )
        for n in (23, 30)
    )
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=st.lists(st.tuples(regions, st.integers(-1, 2)), max_size=5))
def test_whole_and_partial_and_empty_chunks(
    server: Faulty, writes: list[tuple[tuple[slice, slice], int]]
) -> None:
    server.values.clear()
    expected = np.zeros((23, 30), "i2")
    with opened(server) as store:
        array = created(
            store, shape=(23, 30), dtype="i2", chunks=(4, 7), fill_value=0, overwrite=True
        )
        for region, value in writes:
            array[region] = expected[region] = value
        np.testing.assert_array_equal(array[...], expected)


def test_large_values_go_the_ordinary_way(server: Faulty) -> None:
    length = MOST_BODY + 1
    data = np.ones((3, length), "u1")
    with opened(server) as store:
        array = created(store, shape=data.shape, dtype="u1", chunks=(1, length))
        array[...] = data
        assert counts(store) == (0, 0)
        np.testing.assert_array_equal(array[...], data)


def test_requests_with_more_than_bytes_are_left_to_obstore(
    server: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sends(**options: Any) -> bool:
        with opened(server, **PUBLIC, **options) as store:
            created(store, overwrite=True)
            return store.sender(8) is not None

    assert sends()
    assert not sends(aws_server_side_encryption="AES256")
    assert not sends(aws_checksum_algorithm="sha256")
    monkeypatch.setenv("AWS_SERVER_SIDE_ENCRYPTION", "AES256")
    assert not sends()


def test_a_store_without_conditions_uses_locks(server: Faulty) -> None:
    """A whole chunk must not be stored while another thread changes it."""
    with opened(server, **PUBLIC, conditional=False) as store:
        array = created(store)
        array[...] = DATA
        assert store._place is None or store._place.sent is None
        np.testing.assert_array_equal(array[...], DATA)


def test_a_failure_elsewhere_stops_it(server: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    from omnizarr.engine import writing

    encode: Callable[..., Any] = writing._Writing._encode

    def failing(self: Any, parts: Any) -> Any:
        if any(part.coordinates[0] == 70 for part in parts):
            raise OSError("no more")
        return encode(self, parts)

    monkeypatch.setattr(writing._Writing, "_encode", failing)
    with opened(server) as store:
        array = created(store)
        with pytest.raises(OSError, match="no more"):
            array[...] = DATA
