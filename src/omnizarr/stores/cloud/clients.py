"""Build clients of a service, in any process, with a share of the deadline for each attempt.

A `Recipe` holds the arguments for obstore. A `Client` is built from it at the first use, and again
after a fork.

obstore has no deadline for a call, only a time limit for each attempt (`timeout`) and one after
which no further attempt begins (`retry_timeout`). Both belong to the client. So there is a client
for each `Share` of the deadline, and a request takes the most patient one that the time left
allows. The first waits nearly the whole deadline for one slow answer.

This module knows obstore's classes and options. It must not know URLs or what is read and written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from omnizarr.model.store import Capabilities
from omnizarr.stores.cloud import runtime
from omnizarr.stores.secrets import decoded, encoded, secrets_in

SERVICES = ("S3Store", "GCSStore", "AzureStore")
REBUILT = (*SERVICES, "HTTPStore")
"""obstore's classes whose objects can be built again from their attributes."""
PAUSE = 0.02
CONNECT = 0.20
BULK_RETRIES = 2
"""Fewer than elsewhere: obstore repeats requests that the service does not implement. The objects
of a failed request are then deleted one by one."""


@dataclass(frozen=True)
class Share:
    """Parts of a deadline."""

    attempt: float
    """How long one attempt may take."""
    again: float
    """After this long no further attempt begins."""

    @property
    def worst(self) -> float:
        """The longest time of a request with all its attempts."""
        return self.attempt + self.again + PAUSE


SHARES = (Share(0.90, 0.05), Share(0.50, 0.15), Share(0.25, 0.10), Share(0.10, 0.05))
LEAST = SHARES[-1].worst
"""With less of the deadline left, no request is sent."""


def share_of(left: float) -> Share:
    """The most patient share that ends within this part of the deadline."""
    return next((share for share in SHARES if share.worst <= left + 0.01), SHARES[-1])


@dataclass(frozen=True)
class Recipe:
    """Everything that a client is built from; its repr shows no values."""

    kind: str
    """The name of obstore's class."""
    prefix: str = ""
    config: Mapping[str, Any] = field(default_factory=dict, repr=False)
    client_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    retry_config: Mapping[str, Any] = field(default_factory=dict, repr=False)
    credential_provider: Any = field(default=None, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # The caller's secrets must be pickled, but not be readable in a log.
        return _restore, (encoded(vars(self)),)

    @property
    def endpoint(self) -> str:
        return str(self.config.get("endpoint") or self.config.get("base_url") or "")

    @property
    def container(self) -> str:
        config = self.config
        return str(config.get("bucket") or config.get("container_name") or config.get("url") or "")

    def secrets(self) -> list[str]:
        headers = self.client_options.get("default_headers")
        values = headers.values() if isinstance(headers, Mapping) else ()
        return [*secrets_in(self.config), *(value for value in values if isinstance(value, str))]


def _restore(text: str) -> Recipe:
    return Recipe(**decoded(text))


def recipe_of(store: Any) -> Recipe | None:
    """The recipe of an object of obstore; None if it cannot be built again."""
    kind = kind_of(store)
    if kind not in REBUILT:
        return None
    config: dict[str, Any] = dict(getattr(store, "config", None) or {})
    if kind == "HTTPStore":
        config = {"url": store.url}
    return Recipe(
        kind,
        str(getattr(store, "prefix", None) or ""),
        config,
        dict(store.client_options or {}),
        dict(store.retry_config or {}),
        getattr(store, "credential_provider", None),
    )


REQUESTS = 128
_CLOUD = Capabilities(conditional=True, versions=True, requests=REQUESTS, gap=1 << 20)
_PLAIN = Capabilities(requests=REQUESTS, gap=1 << 20)
_BY_KIND: dict[str, Capabilities] = {
    "S3Store": _CLOUD,
    "GCSStore": _CLOUD,
    "AzureStore": _CLOUD,
    "HTTPStore": _PLAIN,
    "MemoryStore": Capabilities(conditional=True, versions=True),
    "LocalStore": Capabilities(conditional=True),
}


def capabilities(kind: str, conditional: bool) -> Capabilities:
    """What the stores of one of obstore's classes can do."""
    return _BY_KIND.get(kind, _PLAIN) if conditional else _PLAIN


def kind_of(store: Any) -> str:
    """The name of the obstore class of an object; "" for other objects."""
    for cls in type(store).__mro__:
        if cls.__module__.partition(".")[0] == "obstore" and cls.__name__.endswith("Store"):
            return cls.__name__
    return ""


@dataclass(frozen=True)
class Client:
    """obstore's functions, and the store that is their first argument."""

    epoch: int
    functions: Any
    store: Any


class Methods:
    """obstore's functions for an object that has them as methods, as obspec's protocols do."""

    def __getattr__(self, name: str) -> Any:
        def call(store: Any, *arguments: Any, **options: Any) -> Any:
            return getattr(store, name)(*arguments, **options)

        return call


Role = Literal["read", "write", "once", "bulk"]
"""The purpose of a client. "once" writes without retries; "bulk" deletes many objects with one
request, which some services with an S3 interface lack."""


def build(recipe: Recipe, deadline: float, role: Role, share: Share = SHARES[0]) -> Client:
    epoch = runtime.epoch()
    module = runtime.extension()
    arguments: dict[str, Any] = {
        "client_options": client_options(recipe, deadline, share),
        "retry_config": retry_config(recipe, deadline, share),
    }
    if role == "once":
        arguments["retry_config"]["max_retries"] = 0
    elif role == "bulk":
        retries = arguments["retry_config"]["max_retries"]
        arguments["retry_config"]["max_retries"] = min(retries, BULK_RETRIES)
    if recipe.kind == "HTTPStore":
        store = module._store.HTTPStore(recipe.config["url"], **arguments)
        return Client(epoch, module, store)
    if recipe.credential_provider is not None:
        arguments["credential_provider"] = recipe.credential_provider
    if recipe.prefix:
        arguments["prefix"] = recipe.prefix
    config = dict(recipe.config)
    if recipe.kind == "S3Store" and role == "write":
        config["disable_bulk_delete"] = True
    store = getattr(module._store, recipe.kind)(config=config, **arguments)
    return Client(epoch, module, store)


def client_options(recipe: Recipe, deadline: float, share: Share = SHARES[0]) -> dict[str, Any]:
    options: dict[str, Any] = {
        "timeout": _text(share.attempt * deadline),
        "connect_timeout": _text(min(5.0, CONNECT * deadline, share.attempt * deadline)),
        "pool_max_idle_per_host": "128",
        "user_agent": "omnizarr",
    }
    plain = recipe.endpoint or endpoint_of_environment(recipe.kind)
    if plain.lower().startswith("http://"):
        options["allow_http"] = True
    return {**options, **recipe.client_options}


def retry_config(recipe: Recipe, deadline: float, share: Share = SHARES[0]) -> dict[str, Any]:
    return {
        "max_retries": 10,
        "retry_timeout": timedelta(seconds=share.again * deadline),
        "backoff": {
            "init_backoff": timedelta(seconds=min(0.1, PAUSE * deadline)),
            "max_backoff": timedelta(seconds=min(15.0, PAUSE * deadline)),
            "base": 2,
        },
        **recipe.retry_config,
    }


_ENDPOINTS: dict[str, tuple[str, ...]] = {
    "S3Store": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "AzureStore": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
    "GCSStore": ("GOOGLE_BASE_URL",),
}


def endpoint_of_environment(kind: str) -> str:
    values = (os.environ.get(name) for name in _ENDPOINTS.get(kind, ()))
    return next(filter(None, values), "")


def _text(seconds: float) -> str:
    return f"{max(1, round(seconds * 1000))}ms"
