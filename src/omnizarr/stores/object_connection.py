"""`Connection`: what asks a service, in every process that a store comes to.

This module knows who is asked, and what must not be shown of it. It must not know what is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, TypeVar

from omnizarr.errors import StoreError
from omnizarr.stores import object_clients, object_runtime, object_urls
from omnizarr.stores.object_clients import Client, Methods, Recipe, Role
from omnizarr.stores.object_errors import Failure, classify
from omnizarr.stores.object_reads import WrongAnswerError

T = TypeVar("T")


class Connection:
    """A service that clients are built for, or an object that is asked as it is.

    Its text is what a store shows of itself.
    """

    def __init__(self, store: Any, path: str, deadline: float) -> None:
        if not deadline > 0:
            raise ValueError(f"deadline must be a number of seconds above 0, found {deadline!r}")
        self._recipe = store if isinstance(store, Recipe) else object_clients.recipe_of(store)
        self._foreign = None if self._recipe is not None else store
        self.kind = object_clients.kind_of(store) if self._recipe is None else self._recipe.kind
        """The name of obstore's class; "" for an object that only keeps obspec's protocols."""
        for method in () if self.kind else ("get", "head", "list"):
            if not callable(getattr(store, method, None)):
                raise TypeError(
                    "expected a store of obstore, or an object with obspec's synchronous methods;"
                    f" {type(store).__name__} has no method {method!r}"
                )
        if self._recipe is not None and self._recipe.prefix:
            # One object has one name, however its store was opened.
            path = "/".join(part for part in (self._recipe.prefix.strip("/"), path) if part)
            self._recipe = replace(self._recipe, prefix="")
        self.base = path + "/" if path else ""
        self.deadline = float(deadline)
        self.reached = False
        """Whether the bucket is known to exist."""
        self._epoch = object_runtime.epoch()
        self._clients: dict[Role, Client] = {}

    @property
    def is_service(self) -> bool:
        return self.kind in object_clients.SERVICES

    @property
    def identity(self) -> Hashable:
        """Equal for every connection to one bucket."""
        if self._recipe is None:
            return "object", id(self._foreign)
        recipe = self._recipe
        endpoint = recipe.endpoint or str(recipe.config.get("account_name", ""))
        host = object_urls.host_of(endpoint) if endpoint else ""
        return "object", host, object_urls.shown(recipe, "")

    def __str__(self) -> str:
        if self._recipe is None:
            inner = self.kind or type(self._foreign).__name__
            return f"<{inner}>, prefix={self.base!r}"
        endpoint = self._recipe.endpoint
        at = f", endpoint={object_urls.host_of(endpoint)!r}" if endpoint else ""
        return repr(object_urls.shown(self._recipe, self.base[:-1])) + at

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_clients": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _epoch=object_runtime.epoch())

    def close(self) -> None:
        self._clients = {}

    def ask(self, request: Callable[[Any, Any], T], role: Role = "read") -> T | Failure:
        """What `request(functions, client)` gives, or why it gives nothing."""
        client = self._client(role)
        try:
            answer = request(client.functions, client.store)
        except StoreError as error:
            wrong = isinstance(error, WrongAnswerError)
            return Failure("wrong" if wrong else "other", error)
        except TypeError:
            raise  # ours, or that of a caller's own object
        except Exception as error:
            return classify(error, self._recipe.secrets if self._recipe is not None else tuple)
        self.reached = True
        return answer

    def _client(self, role: Role) -> Client:
        epoch = object_runtime.epoch()
        if self._recipe is None:
            if not self.kind:
                return Client(epoch, Methods(), self._foreign)
            if epoch != self._epoch:
                raise StoreError(
                    f"{self} was opened before this process was forked, and cannot be opened again"
                    " from here; start processes with multiprocessing.get_context('spawn')"
                )
            return Client(epoch, object_runtime.extension(), self._foreign)
        client = self._clients.get(role)
        if client is None or client.epoch != epoch:
            if client is not None:
                object_runtime.keep(client)
            client = object_clients.build(self._recipe, self.deadline, role)
            self._clients[role] = client
        return client
