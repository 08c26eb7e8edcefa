"""Write many small objects of a bucket from one thread, with `stores.http.batch`.

As for reading (`batch_reader`), obstore signs the URLs, and every unusual answer is left to it:
storing the same bytes once more does no harm. The signature of a URL does not cover the bytes, so
they are sent with their MD5, which S3 compares.

This module knows requests that store an object. It must not judge errors.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable
from hashlib import md5
from typing import Any

from omnizarr.model.paths import check_key
from omnizarr.model.store import Buffer
from omnizarr.runtime.parallel import Outbox
from omnizarr.stores.cloud import reads
from omnizarr.stores.cloud.batch_reader import BucketEndpoint
from omnizarr.stores.cloud.clients import Recipe
from omnizarr.stores.http.batch import MOST_BODY, Batch, Unusual, Whole

_PLAIN = frozenset(
    {
        "access_key_id",
        "allow_http",
        "bucket",
        "bucket_name",
        "conditional_put",
        "copy_if_not_exists",
        "default_region",
        "disable_bulk_delete",
        "disable_tagging",
        "endpoint",
        "endpoint_url",
        "region",
        "secret_access_key",
        "session_token",
        "skip_signature",
        "token",
        "unsigned_payload",
        "virtual_hosted_style_request",
    }
)
"""Options that add no header to a request that stores an object. Others choose encryption, say."""
_IN_ENVIRONMENT = ("AWS_SERVER_SIDE", "AWS_SSE", "AWS_CHECKSUM", "AWS_REQUEST_PAYER", "AWS_S3_")


def is_plain(recipe: Recipe | None) -> bool:
    """Whether objects are stored with no more than their bytes."""
    return (
        recipe is not None
        and recipe.kind == "S3Store"
        and all(name.removeprefix("aws_") in _PLAIN for name in recipe.config)
        and not any(name.upper().startswith(_IN_ENVIRONMENT) for name in os.environ)
    )


class Sender:
    """Stores values below `base`; see `model.store.Sender`. `put(key, value, begun)` is the
    ordinary way."""

    def __init__(
        self,
        place: BucketEndpoint,
        base: str,
        requests: int,
        put: Callable[[str, Buffer, float], None],
    ) -> None:
        self._place, self._base, self._requests, self._put = place, base, requests, put
        self._batch: Batch | None = None

    def set(self, key: str, value: Buffer) -> None:
        assert self._batch is not None
        clock = self._batch.clock_of(key)
        self._put(key, value, clock.end - clock.deadline)

    def send(
        self, desk: Outbox[Any, Any], value_of: Callable[[Any], tuple[str, Buffer] | None]
    ) -> None:
        place = self._place
        head = place.client.requester("PUT", {})

        def key_of(item: Any) -> str | None:
            found = value_of(item)
            return None if found is None or len(found[1]) > MOST_BODY else found[0]

        def request(item: Any) -> bytes:
            found = value_of(item)
            assert found is not None
            body = reads.contiguous(found[1])
            fields = f"Content-Length: {len(body)}\r\n"
            if place.signed:
                digest = b64encode(md5(body, usedforsecurity=False).digest()).decode("ascii")
                fields += f"Content-MD5: {digest}\r\n"
            lines = head(place.target(self._base + check_key(found[0]), "PUT"))
            return b"".join((lines[:-2], fields.encode("ascii"), b"\r\n", body))

        self._batch = place.sent = Batch(place.client, self._requests, key_of, request, _judge)
        self._batch.run(desk)


def _judge(item: object, answer: Whole) -> None:
    if answer.status != 200 or answer.header("ETag") is None:
        raise Unusual
