"""Read many small objects of a bucket from one thread, with `stores.http.batch_reader`.

obstore has no call for many objects, and a thread for each costs more than reading a small object.
S3 answers a GET of a URL that obstore has signed, and public buckets a plain one. So these requests
go over connections of our own. Every unusual answer is left to obstore, which repeats the request
and raises the error.

This module knows the URLs of objects. It must not judge errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from omnizarr.errors import StoreError
from omnizarr.model.paths import check_key
from omnizarr.model.store import Buffer, ByteRange
from omnizarr.stores.cloud.clients import Recipe, endpoint_of_environment
from omnizarr.stores.cloud.connection import BucketConnection, Method
from omnizarr.stores.http import batch_reader
from omnizarr.stores.http import url as http_url
from omnizarr.stores.http.batch import MOST_BODY, Batch, Unusual, Whole
from omnizarr.stores.http.batch_reader import Feeder
from omnizarr.stores.http.client import Client, Policy
from omnizarr.stores.http.connection import Clock, Security
from omnizarr.stores.http.ranges import check_content

GOOD_FOR = timedelta(minutes=15)
"""How long a signature is valid; it is used at once."""
_ERROR = re.compile(rb"\s*(?:<\?xml[^<>]*\?>\s*)?<Error\b")
_CODE = re.compile(rb"<\s*Code\b[^>]*>([^<]*)<")
_OPTIONS = frozenset({"allow_http", "connect_timeout", "timeout", "user_agent"})
"""Client options that our own connections honour, or may ignore."""
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_IN_REQUESTS = ("request_payer", "s3_express", "sse_customer_key_base64")
"""Options that change headers or signatures of requests."""


class BucketEndpoint:
    """The server of one bucket, and the targets of its objects."""

    def __init__(
        self, root: str, target: Callable[[str, Method], str], policy: Policy, *, signed: bool
    ) -> None:
        origin = http_url.parse(root).address.origin
        self.client = Client(origin, policy, Security())
        self.target = target
        self.signed = signed
        self.last: Feeder | None = None
        self.sent: Batch | None = None
        """The last one that stored objects."""


def endpoint_of(connection: BucketConnection, deadline: float) -> BucketEndpoint | None:
    """The endpoint of a store's objects; None if only obstore can read them."""
    recipe = connection.recipe
    if recipe is None or not connection.reached or not _is_plain(recipe):
        return None
    policy = Policy(deadline=deadline, timeout=min(20.0, deadline / 2))
    try:
        if _is_set(recipe.config.get("skip_signature")):
            root = _root(recipe, connection)
            begin = http_url.parse(root).address.path
            return BucketEndpoint(
                root, lambda path, method: begin + quote(path, safe="/"), policy, signed=False
            )
        if recipe.kind != "S3Store":
            return None
        sign = connection.signer(GOOD_FOR)
        scheme, _, rest = sign("probe").partition("://")
        root = f"{scheme}://{rest.partition('/')[0]}"
        return BucketEndpoint(
            root, lambda path, method: _below(root, sign(path, method)), policy, signed=True
        )
    except StoreError:
        return None  # obstore will raise it


def _is_plain(recipe: Recipe) -> bool:
    return (
        recipe.kind in ("S3Store", "GCSStore")
        and _OPTIONS.issuperset(recipe.client_options)
        and not any(_is_set(recipe.config.get(name)) for name in _IN_REQUESTS)
        and not any(name.lower() in _PROXIES and value for name, value in os.environ.items())
    )


def _is_set(value: Any) -> bool:
    return value is not None and str(value).lower() not in ("", "0", "false", "no", "off")


def _root(recipe: Recipe, connection: BucketConnection) -> str:
    """The URL of a public bucket."""
    if recipe.kind == "GCSStore":
        base = recipe.endpoint or endpoint_of_environment(recipe.kind)
        return f"{(base or 'https://storage.googleapis.com').rstrip('/')}/{recipe.container}/"
    # obstore tells the URL only with a signature: so one that is never used.
    named = connection.signer(GOOD_FOR, access_key_id="x", secret_access_key="x")("probe")
    return named.partition("?")[0].removesuffix("probe")


def _says_missing(body: bytes) -> bool:
    """Whether the body of an answer says that the object is missing, and nothing else."""
    told = _CODE.findall(body)
    return _ERROR.match(body) is not None and told == [b"NoSuchKey"] and b"<!" not in body


def _below(root: str, url: str) -> str:
    if not url.startswith(root + "/"):
        raise Unusual
    return url[len(root) :]


def feeder_of(
    place: BucketEndpoint,
    base: str,
    byte_range: ByteRange | None,
    requests: int,
    fetch: Callable[[str, float], Buffer | None],
) -> Feeder | None:
    """Reads this part of many objects below `base`; `fetch(key, begun)` is the ordinary way."""
    if place.last is not None and not place.last.fits:
        return None

    def is_there(key: str, answer: Whole) -> bool:
        if answer.status == 404 and _says_missing(answer.read(MOST_BODY)):
            return False
        if answer.status != 206 or answer.header("ETag") is None:
            raise Unusual
        check_content(answer, key, False)
        return True

    def ordinary(key: str, clock: Clock) -> Buffer | None:
        return fetch(key, clock.end - clock.deadline)

    def target(key: str) -> str:
        return place.target(base + check_key(key), "GET")

    found = batch_reader.feeder_of(place.client, target, byte_range, requests, is_there, ordinary)
    place.last = found or place.last
    return found
