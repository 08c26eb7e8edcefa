"""URLs and options of object stores, as obstore wants them.

Options are taken in obstore's own words (`access_key_id`, also with the service's prefix, as
`aws_access_key_id`) and in those of s3fs, gcsfs and adlfs (`key`, `anon`, `client_kwargs`, …).

This module knows names. It must not open anything, and never shows a value: it may be a secret.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from omnizarr.errors import StoreError
from omnizarr.model.paths import check_key
from omnizarr.stores.cloud.clients import Recipe
from omnizarr.stores.secrets import masked_url

DEADLINE = 60.0
_OWN = ("deadline", "conditional", "client_options", "retry_config", "credential_provider")
_IGNORED = frozenset(
    {
        "asynchronous",
        "default_block_size",
        "default_cache_type",
        "default_fill_cache",
        "loop",
        "project",
        "skip_instance_cache",
        "use_listings_cache",
    }
)
"""What concerns only fsspec's own machinery."""


@dataclass(frozen=True)
class Service:
    kind: str
    container: str
    """What obstore calls the bucket."""
    marks: tuple[str, ...]
    """What may stand before a name."""
    names: tuple[str, ...]
    """obstore's own."""
    aliases: Mapping[str, str]
    """Other spellings of them."""

    def canonical(self, name: str) -> str | None:
        name = name.lower()
        for mark in ("", *self.marks):
            bare = name.removeprefix(mark)
            bare = self.aliases.get(bare, bare)
            if name.startswith(mark) and bare in self.names:
                return bare
        return None

    def known(self) -> list[str]:
        return sorted({*self.names, *self.aliases, *_OWN, *_STRUCTURED[self.kind]})


_STRUCTURED: dict[str, tuple[str, ...]] = {
    "S3Store": ("client_kwargs", "config_kwargs", "use_ssl"),
    "GCSStore": ("token",),
    "AzureStore": ("connection_string",),
}
S3 = Service(
    "S3Store",
    "bucket",
    ("aws_",),
    (
        "access_key_id",
        "secret_access_key",
        "session_token",
        "endpoint",
        "region",
        "default_region",
        "skip_signature",
        "virtual_hosted_style_request",
        "checksum_algorithm",
        "conditional_put",
        "copy_if_not_exists",
        "disable_tagging",
        "disable_bulk_delete",
        "imdsv1_fallback",
        "metadata_endpoint",
        "request_payer",
        "role_arn",
        "role_session_name",
        "s3_express",
        "server_side_encryption",
        "sse_bucket_key_enabled",
        "sse_customer_key_base64",
        "sse_kms_key_id",
        "sts_endpoint",
        "unsigned_payload",
        "web_identity_token_file",
        "container_credentials_relative_uri",
        "container_credentials_full_uri",
        "container_authorization_token_file",
    ),
    {
        "key": "access_key_id",
        "username": "access_key_id",
        "secret": "secret_access_key",
        "password": "secret_access_key",
        "token": "session_token",
        "anon": "skip_signature",
        "anonymous": "skip_signature",
        "no_sign_request": "skip_signature",
        "endpoint_url": "endpoint",
        "endpoint_url_s3": "endpoint",
        "region_name": "region",
        "requester_pays": "request_payer",
    },
)
GCS = Service(
    "GCSStore",
    "bucket",
    ("google_", "gcs_"),
    (
        "service_account",
        "service_account_key",
        "base_url",
        "bearer_token",
        "application_credentials",
        "skip_signature",
    ),
    {
        "service_account_path": "service_account",
        "anon": "skip_signature",
        "anonymous": "skip_signature",
        "endpoint": "base_url",
        "endpoint_url": "base_url",
    },
)
AZURE = Service(
    "AzureStore",
    "container_name",
    ("azure_storage_", "azure_"),
    (
        "account_name",
        "account_key",
        "client_id",
        "client_secret",
        "credential_type",
        "tenant_id",
        "authority_host",
        "sas_key",
        "token",
        "use_emulator",
        "use_fabric_endpoint",
        "encryption_key",
        "endpoint",
        "msi_endpoint",
        "object_id",
        "msi_resource_id",
        "federated_token_file",
        "use_azure_cli",
        "skip_signature",
        "disable_tagging",
        "fabric_token_service_url",
        "fabric_workload_host",
        "fabric_session_token",
        "fabric_cluster_identifier",
    ),
    {
        "access_key": "account_key",
        "master_key": "account_key",
        "sas_token": "sas_key",
        "anon": "skip_signature",
        "anonymous": "skip_signature",
        "account_host": "endpoint",
        "endpoint_url": "endpoint",
        "bearer_token": "token",
    },
)
SCHEMES: dict[str, Service] = {
    **dict.fromkeys(("s3", "s3a"), S3),
    **dict.fromkeys(("gs", "gcs"), GCS),
    **dict.fromkeys(("az", "azure", "abfs", "abfss", "adl"), AZURE),
}
_SHOWN = {"S3Store": "s3", "GCSStore": "gs", "AzureStore": "az"}


@dataclass(frozen=True)
class ObjectLocation:
    """What a URL and its options mean."""

    recipe: Recipe
    prefix: str
    deadline: float
    conditional: bool | None


def location_of(url: str, options: Mapping[str, Any]) -> ObjectLocation:
    scheme, _, rest = url.partition("://")
    service = SCHEMES.get(scheme.lower())
    if service is None:
        raise StoreError(f"{masked_url(url)!r} is not the URL of an object store")
    config: dict[str, Any] = {}
    container, path = _parts(url, rest, service, config)
    own = {name: options[name] for name in _OWN if name in options}
    others = {name: value for name, value in options.items() if name not in _OWN}
    client_options = _mapping("client_options", own.get("client_options"))
    for name in ("endpoint", "base_url"):
        check_endpoint(config.get(name), "of the URL")
    config.update(translated(service, others, client_options))
    for name in ("endpoint", "base_url", "sts_endpoint", "metadata_endpoint", "msi_endpoint"):
        check_endpoint(config.get(name), f"in storage_options, {name!r},")
    config[service.container] = container
    recipe = Recipe(
        service.kind,
        "",
        config,
        client_options,
        _retry_config(own.get("retry_config")),
        own.get("credential_provider"),
    )
    return ObjectLocation(recipe, path, own.get("deadline", DEADLINE), own.get("conditional"))


def _parts(url: str, rest: str, service: Service, config: dict[str, Any]) -> tuple[str, str]:
    """Container and path; what else the URL says goes into `config`."""
    rest, _, query = rest.partition("?")
    if query and service is AZURE:
        config["sas_key"] = query
    elif query:
        raise StoreError(f"{masked_url(url)!r}: nothing may follow the path of such a URL")
    host, _, path = rest.partition("/")
    login, at, name = host.rpartition("@")
    if not at:
        name = host
    elif service is AZURE and ":" not in login:
        config.update(_account(name))  # abfss://container@account.dfs.core.windows.net/path
        name = login
    elif service is S3:
        user, _, password = login.partition(":")
        config.update(access_key_id=unquote(user), secret_access_key=unquote(password))
    else:
        raise StoreError(f"{masked_url(url)!r}: such a URL carries no user name")
    if ":" in name and "@" in path:
        # A secret key may hold a slash, and would be taken for a bucket and its path.
        raise StoreError(
            f"'{url.partition('://')[0]}://***': a login in a URL must be percent-encoded (\"/\" as"
            " %2F); better give access_key_id and secret_access_key in storage_options"
        )
    if not name:
        raise StoreError(f"{masked_url(url)!r} names no {service.container.partition('_')[0]}")
    path = path.strip("/")
    return name, check_key(path) if path else ""


AZURE_CLOUDS = (
    "core.windows.net",
    "core.chinacloudapi.cn",
    "core.usgovcloudapi.net",
    "fabric.microsoft.com",
)
"""Where Azure's accounts have their hosts."""


def _account(host: str) -> dict[str, str]:
    name, dot, domain = host.partition(".")
    config = {"account_name": name}
    service, _, cloud = domain.partition(".")
    if dot and (service not in ("blob", "dfs") or cloud not in AZURE_CLOUDS):
        # The URL may come from a reference file, and credentials of the environment go with it.
        raise StoreError(
            f"{host!r} is no host of Azure's (ACCOUNT.blob.{AZURE_CLOUDS[0]}, say); for another"
            " service give its address as 'endpoint' in storage_options"
        )
    if dot and cloud != AZURE_CLOUDS[0]:
        config["endpoint"] = f"https://{name}.blob.{cloud}"
    return config


def translated(
    service: Service, options: Mapping[str, Any], client_options: dict[str, Any]
) -> dict[str, Any]:
    """obstore's names and values; what concerns the connection goes to `client_options`."""
    config: dict[str, Any] = {}
    unknown: list[str] = []
    for name, value in options.items():
        if value is None or name in _IGNORED:
            continue
        if name in _STRUCTURED[service.kind]:
            _structured(service, name, value, config, client_options)
            continue
        canonical = service.canonical(name)
        if canonical is None:
            unknown.append(name)
        elif canonical != "skip_signature" or _is_true(value):
            config[canonical] = value if isinstance(value, bool | str) else str(value)
    if unknown:
        raise TypeError(
            f"storage_options do not know {', '.join(sorted(map(repr, unknown)))} for this service;"
            f" known are {', '.join(service.known())}"
        )
    return config


def _structured(
    service: Service, name: str, value: Any, config: dict[str, Any], client_options: dict[str, Any]
) -> None:
    """Options whose value decides what they mean."""
    if name == "token":
        config.update(_google_token(value))
    elif name == "connection_string":
        config.update(_connection_string(str(value)))
    elif name == "use_ssl":
        if not _is_true(value):
            client_options["allow_http"] = True
    elif name == "client_kwargs":
        inner = _mapping(name, value)
        if "verify" in inner and inner.pop("verify") is False:
            client_options["allow_invalid_certificates"] = True
        config.update(translated(service, inner, client_options))
    else:  # config_kwargs
        inner = _mapping(name, value)
        style = _mapping("config_kwargs['s3']", inner.pop("s3", None)).get("addressing_style")
        if style in ("virtual", "path"):
            config["virtual_hosted_style_request"] = style == "virtual"
        if inner.pop("signature_version", None) == "unsigned":
            config["skip_signature"] = True
        if inner:
            raise TypeError(
                f"config_kwargs do not know {', '.join(sorted(map(repr, inner)))};"
                " known are 's3' and 'signature_version'"
            )


def _google_token(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {"service_account_key": json.dumps(dict(value))}
    if value == "anon":
        return {"skip_signature": True}
    if value in ("google_default", "cloud", "cache"):
        return {}  # where credentials are looked for anyway
    if isinstance(value, str | os.PathLike) and os.path.exists(value):
        return {"service_account": os.fspath(value)}
    raise TypeError(
        "token must be 'anon', 'google_default', 'cloud', the path of a service account's file or"
        " its content as a dict; an access token is given as bearer_token"
    )


def _connection_string(value: str) -> dict[str, Any]:
    parts = dict(part.partition("=")[::2] for part in value.split(";") if part)
    if parts.get("UseDevelopmentStorage", "").lower() == "true":
        return {"use_emulator": True}
    config: dict[str, Any] = {}
    for theirs, ours in (
        ("AccountName", "account_name"),
        ("AccountKey", "account_key"),
        ("SharedAccessSignature", "sas_key"),
        ("BlobEndpoint", "endpoint"),
    ):
        if parts.get(theirs):
            config[ours] = parts[theirs].rstrip("/") if ours == "endpoint" else parts[theirs]
    suffix = parts.get("EndpointSuffix", "core.windows.net")
    if "endpoint" not in config and suffix != "core.windows.net" and "account_name" in config:
        config["endpoint"] = f"https://{config['account_name']}.blob.{suffix}"
    if not config:
        raise TypeError("connection_string has none of the parts that Azure gives it")
    return config


_RETRYING = {
    "retry_config": ("backoff", "max_retries", "retry_timeout"),
    "retry_config['backoff']": ("base", "init_backoff", "max_backoff"),
}


def _retry_config(value: Any) -> dict[str, Any]:
    """obstore leaves out what it does not know, and does not say so."""
    config = _mapping("retry_config", value)
    inner = _mapping("retry_config['backoff']", config.get("backoff"))
    for (where, known), given in zip(_RETRYING.items(), (config, inner), strict=True):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise TypeError(
                f"{where} does not know {', '.join(sorted(map(repr, unknown)))};"
                f" known are {', '.join(known)}"
            )
    return config


def _mapping(name: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a mapping, found {type(value).__name__}")
    return dict(value)


def _is_true(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in ("1", "true", "yes", "on")
    return bool(value)


def check_endpoint(endpoint: object, where: str) -> None:
    """Refuse what obstore would stumble over."""
    if endpoint is None or endpoint == "":
        return
    text = str(endpoint)
    try:
        parts = urlsplit(text)
        sound = parts.scheme.lower() in ("http", "https") and bool(parts.hostname)
        sound = sound and not re.search(r"[\s<>\"{}|\\^`]", text) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise StoreError(
            f"the endpoint {where} is no URL: expected the form http://host:port or https://host,"
            " with the scheme"
        )


def shown(recipe: Recipe, prefix: str) -> str:
    """The URL of a place, without anything that is secret."""
    if recipe.kind not in _SHOWN:
        return masked_url(recipe.container)
    path = "/".join(part for part in (recipe.container, recipe.prefix, prefix) if part)
    return f"{_SHOWN[recipe.kind]}://{path}"


def host_of(endpoint: str) -> str:
    """Where an endpoint is, without a login."""
    parts = urlsplit(endpoint if "://" in endpoint else "https://" + endpoint)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname or ''}{port}{parts.path.rstrip('/')}"
