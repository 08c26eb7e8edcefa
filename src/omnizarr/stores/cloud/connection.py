"""`BucketConnection`: sends requests to a service, in every process that its store comes to.

This module knows clients, deadlines and secrets. It must not know what the requests are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal, Protocol, TypeVar

from omnizarr.errors import ErrorLocation, StoreError, ZarrError
from omnizarr.stores.cloud import clients, runtime, urls
from omnizarr.stores.cloud.clients import SHARES, Client, Methods, Recipe, Role, Share, share_of
from omnizarr.stores.cloud.failures import Failure, classify, no_client
from omnizarr.stores.cloud.reads import WrongAnswerError
from omnizarr.stores.options import seconds

T = TypeVar("T")
Method = Literal["GET", "PUT"]


class Sign(Protocol):
    """Gives the signed URL of an object."""

    def __call__(self, path: str, method: Method = "GET") -> str: ...


class BucketConnection:
    """A service that clients are built for, or an object that is used as it is.

    Its text is the part of a store's repr in parentheses.
    """

    def __init__(self, store: Any, path: str, deadline: float) -> None:
        self.deadline = seconds("deadline", deadline)
        self._recipe = store if isinstance(store, Recipe) else clients.recipe_of(store)
        self._foreign = None if self._recipe is not None else store
        self.kind = clients.kind_of(store) if self._recipe is None else self._recipe.kind
        """The name of obstore's class; "" for an object with obspec's methods."""
        for method in () if self.kind else ("get", "head", "list"):
            if not callable(getattr(store, method, None)):
                raise TypeError(
                    "expected a store of obstore, or an object with obspec's synchronous methods;"
                    f" {type(store).__name__} has no method {method!r}"
                )
        if self._recipe is not None and self._recipe.prefix:
            # An object has the same path, however its store was opened.
            path = "/".join(part for part in (self._recipe.prefix.strip("/"), path) if part)
            self._recipe = replace(self._recipe, prefix="")
        self.base = path + "/" if path else ""
        self.reached = False
        """Whether the bucket is known to exist."""
        self._epoch = runtime.epoch()
        self._clients: dict[tuple[Role, Share], Client] = {}

    @property
    def recipe(self) -> Recipe | None:
        """How its clients are built; None for an object that is used as it is."""
        return self._recipe

    @property
    def asked(self) -> Any:
        """The argument for a connection to the whole bucket."""
        return self._foreign if self._recipe is None else self._recipe

    def signer(self, good_for: timedelta, **config: str) -> Sign:
        """A function that signs URLs of objects, with the client's credentials or given ones."""
        assert self._recipe is not None
        other: Client | None = None
        if config:
            changed = {**self._recipe.config, **config}
            changed.pop("skip_signature", None)
            other = self._build(replace(self._recipe, config=changed), "read", SHARES[0])

        def sign(path: str, method: Method = "GET") -> str:
            client = other or self._client("read")
            try:
                return str(client.functions.sign(client.store, method, path, good_for))
            except Exception as error:
                raise StoreError("obstore did not sign a URL").at(self.location) from error

        return sign

    @property
    def is_service(self) -> bool:
        return self.kind in clients.SERVICES

    @property
    def identity(self) -> Hashable:
        """Equal for every connection to one bucket, and to one folder of obstore's LocalStore."""
        if self.kind == "LocalStore":
            return "local", os.path.realpath(getattr(self._foreign, "prefix", None) or os.sep)
        if self._recipe is None:
            return "object", id(self._foreign)
        recipe = self._recipe
        endpoint = recipe.endpoint or str(recipe.config.get("account_name", ""))
        host = urls.host_of(endpoint) if endpoint else ""
        return "object", host, urls.shown(recipe, "")

    @property
    def url(self) -> str | None:
        """The URL, without secrets; None for an object that has none."""
        return None if self._recipe is None else urls.shown(self._recipe, self.base[:-1])

    @property
    def location(self) -> ErrorLocation:
        return ErrorLocation(f"ObjectStore({self})", self.url)

    def __str__(self) -> str:
        if self._recipe is None:
            inner = self.kind or type(self._foreign).__name__
            return f"<{inner}>, prefix={self.base!r}"
        endpoint = self._recipe.endpoint
        at = f", endpoint={urls.host_of(endpoint)!r}" if endpoint else ""
        if self.kind == "AzureStore" and "account_name" in self._recipe.config:
            at = f", account={self._recipe.config['account_name']!r}{at}"
        return f"{self.url!r}{at}"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_clients": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _epoch=runtime.epoch())

    def close(self) -> None:
        self._clients = {}

    def ask(
        self, request: Callable[[Any, Any], T], role: Role = "read", begun: float | None = None
    ) -> T | Failure:
        """The result of `request(functions, client)`, or its failure.

        begun: the start of the deadline; None: now.
        """
        begun = time.monotonic() if begun is None else begun
        share = share_of(self._left(begun))
        answer = self._ask(request, role, share)
        if isinstance(answer, Failure) and answer.passing and self._recipe is not None:
            # Once more, less patiently, if there is time.
            left = self._left(begun)
            if share is SHARES[0] and left >= SHARES[1].worst:
                answer = self._ask(request, role, share_of(min(left, SHARES[1].worst)))
        return answer

    def _left(self, begun: float) -> float:
        """The part of the deadline that is left."""
        return 1 - (time.monotonic() - begun) / self.deadline

    def _ask(self, request: Callable[[Any, Any], T], role: Role, share: Share) -> T | Failure:
        client = self._client(role, share)
        try:
            answer = request(client.functions, client.store)
        except StoreError as error:
            wrong = isinstance(error, WrongAnswerError)
            return Failure("wrong" if wrong else "other", error)
        except TypeError:
            raise  # ours, or that of a caller's own object
        except Exception as error:
            return classify(error, self._secrets())
        except BaseException as error:
            if not is_panic(error):
                raise
            return classify(OSError(f"obstore failed: {error}"), self._secrets())
        self.reached = True
        return answer

    def _secrets(self) -> Callable[[], Iterable[str]]:
        return self._recipe.secrets if self._recipe is not None else tuple

    def _client(self, role: Role, share: Share = SHARES[0]) -> Client:
        epoch = runtime.epoch()
        if self._recipe is None:
            if not self.kind:
                return Client(epoch, Methods(), self._foreign)
            if epoch != self._epoch:
                raise StoreError(
                    "was opened before this process was forked, and cannot be opened again here;"
                    " start processes with multiprocessing.get_context('spawn')"
                ).at(self.location)
            return Client(epoch, runtime.extension(), self._foreign)
        client = self._clients.get((role, share))
        if client is None or client.epoch != epoch:
            if client is not None:
                runtime.keep(client)
            client = self._clients[role, share] = self._build(self._recipe, role, share)
        return client

    def _build(self, recipe: Recipe, role: Role, share: Share) -> Client:
        if not recipe.endpoint:
            urls.check_endpoint(clients.endpoint_of_environment(recipe.kind), "of the environment")
        try:
            return clients.build(recipe, self.deadline, role, share)
        except ZarrError:
            raise
        except BaseException as raised:
            if not isinstance(raised, Exception) and not is_panic(raised):
                raise
            known = raised if isinstance(raised, Exception) else OSError(str(raised))
            failure = classify(known, recipe.secrets)
            raise no_client(failure, self.location) from failure.cause


def is_panic(error: BaseException) -> bool:
    """Whether a library written in Rust panicked."""
    return type(error).__name__ == "PanicException"
