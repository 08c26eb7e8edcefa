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
from omnizarr.stores.options import is_true, mapping_of, refuse_unknown
from omnizarr.stores.secrets import masked_url

DEADLINE = 60.0
_OWN = ("deadline", "conditional", "client_options", "retry_config", "credential_provider")
_IGNORED = (
    "asynchronous", "default_block_size", "default_cache_type", "default_fill_cache", "loop",
    "project", "skip_instance_cache", "use_listings_cache",
)  # fmt: skip
"""Options that only tune fsspec."""


@dataclass(frozen=True)
class Service:
    kind: str
    """The name of obstore's class."""
    scheme: str
    """What a shown URL begins with."""
    container: str
    """What obstore calls the bucket."""
    marks: tuple[str, ...]
    """Prefixes that a name may have."""
    names: tuple[str, ...]
    """obstore's names."""
    aliases: Mapping[str, str]
    """Other spellings of them."""
    structured: tuple[str, ...]
    """Options whose value decides what they mean."""

    def canonical(self, name: str) -> str | None:
        """obstore's name of an option; None if it is not known."""
        name = name.lower()
        for mark in ("", *self.marks):
            bare = name.removeprefix(mark)
            bare = self.aliases.get(bare, bare)
            if name.startswith(mark) and bare in self.names:
                return bare
        return None


_ANONYMOUS = dict.fromkeys(("anon", "anonymous"), "skip_signature")
S3 = Service(
    kind="S3Store",
    scheme="s3",
    container="bucket",
    marks=("aws_",),
    names=(
        "access_key_id", "secret_access_key", "session_token", "endpoint", "region",
        "default_region", "skip_signature", "virtual_hosted_style_request", "checksum_algorithm",
        "conditional_put", "copy_if_not_exists", "disable_tagging", "disable_bulk_delete",
        "imdsv1_fallback", "metadata_endpoint", "request_payer", "role_arn", "role_session_name",
        "s3_express", "server_side_encryption", "sse_bucket_key_enabled",
        "sse_customer_key_base64", "sse_kms_key_id", "sts_endpoint", "unsigned_payload",
        "web_identity_token_file", "container_credentials_relative_uri",
        "container_credentials_full_uri", "container_authorization_token_file",
    ),
    aliases={
        "key": "access_key_id",
        "username": "access_key_id",
        "secret": "secret_access_key",
        "password": "secret_access_key",
        "token": "session_token",
        "no_sign_request": "skip_signature",
        "endpoint_url": "endpoint",
        "endpoint_url_s3": "endpoint",
        "region_name": "region",
        "requester_pays": "request_payer",
        **_ANONYMOUS,
    },
    structured=("client_kwargs", "config_kwargs", "use_ssl"),
)  # fmt: skip
GCS = Service(
    kind="GCSStore",
    scheme="gs",
    container="bucket",
    marks=("google_", "gcs_"),
    names=(
        "service_account", "service_account_key", "base_url", "bearer_token",
        "application_credentials", "skip_signature",
    ),
    aliases={
        "service_account_path": "service_account",
        "endpoint": "base_url",
        "endpoint_url": "base_url",
        **_ANONYMOUS,
    },
    structured=("token",),
)  # fmt: skip
AZURE = Service(
    kind="AzureStore",
    scheme="az",
    container="container_name",
    marks=("azure_storage_", "azure_"),
    names=(
        "account_name", "account_key", "client_id", "client_secret", "credential_type",
        "tenant_id", "authority_host", "sas_key", "token", "use_emulator", "use_fabric_endpoint",
        "encryption_key", "endpoint", "msi_endpoint", "object_id", "msi_resource_id",
        "federated_token_file", "use_azure_cli", "skip_signature", "disable_tagging",
        "fabric_token_service_url", "fabric_workload_host", "fabric_session_token",
        "fabric_cluster_identifier",
    ),
    aliases={
        "access_key": "account_key",
        "master_key": "account_key",
        "sas_token": "sas_key",
        "account_host": "endpoint",
        "endpoint_url": "endpoint",
        "bearer_token": "token",
        **_ANONYMOUS,
    },
    structured=("connection_string",),
)  # fmt: skip
SERVICES = {service.kind: service for service in (S3, GCS, AZURE)}
SCHEMES: dict[str, Service] = {
    **dict.fromkeys(("s3", "s3a"), S3),
    **dict.fromkeys(("gs", "gcs"), GCS),
    **dict.fromkeys(("az", "azure", "abfs", "abfss", "adl"), AZURE),
}


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
    client_options = mapping_of("client_options", own.get("client_options"))
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
    """Container and path; login and account of the URL go into `config`."""
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
            f"{host!r} is not a host of Azure, such as ACCOUNT.blob.{AZURE_CLOUDS[0]}; for another"
            " service give its address as 'endpoint' in storage_options"
        )
    if dot and cloud != AZURE_CLOUDS[0]:
        config["endpoint"] = f"https://{name}.blob.{cloud}"
    return config


def translated(
    service: Service, options: Mapping[str, Any], client_options: dict[str, Any]
) -> dict[str, Any]:
    """Options with obstore's names; those of the connection go into `client_options`."""
    config: dict[str, Any] = {}
    unknown: list[str] = []
    for name, value in options.items():
        canonical = service.canonical(name)
        if value is None or name in _IGNORED:
            continue
        if name in service.structured:
            _structured(service, name, value, config, client_options)
        elif canonical is None:
            unknown.append(name)
        elif canonical != "skip_signature" or is_true(value):
            config[canonical] = value if isinstance(value, bool | str) else str(value)
    known = sorted({*service.names, *service.aliases, *_OWN, *service.structured})
    refuse_unknown("storage_options", unknown, known)
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
        if not is_true(value):
            client_options["allow_http"] = True
    elif name == "client_kwargs":
        inner = mapping_of(name, value)
        if "verify" in inner and inner.pop("verify") is False:
            client_options["allow_invalid_certificates"] = True
        config.update(translated(service, inner, client_options))
    else:  # config_kwargs
        inner = mapping_of(name, value)
        style = mapping_of("config_kwargs['s3']", inner.pop("s3", None)).get("addressing_style")
        if style in ("virtual", "path"):
            config["virtual_hosted_style_request"] = style == "virtual"
        if inner.pop("signature_version", None) == "unsigned":
            config["skip_signature"] = True
        refuse_unknown("config_kwargs", inner, ("s3", "signature_version"))


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


def _retry_config(value: object) -> dict[str, Any]:
    """obstore ignores unknown names without a word."""
    config = mapping_of("retry_config", value)
    refuse_unknown("retry_config", config, ("backoff", "max_retries", "retry_timeout"))
    backoff = mapping_of("retry_config['backoff']", config.get("backoff"))
    refuse_unknown("retry_config['backoff']", backoff, ("base", "init_backoff", "max_backoff"))
    return config


def check_endpoint(endpoint: object, where: str) -> None:
    """Raise a StoreError unless an endpoint is a URL that obstore can use."""
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
    """The URL of a bucket and path, without secrets."""
    service = SERVICES.get(recipe.kind)
    if service is None:
        return masked_url(recipe.container)
    path = "/".join(part for part in (recipe.container, recipe.prefix, prefix) if part)
    return f"{service.scheme}://{path}"


def host_of(endpoint: str) -> str:
    """Where an endpoint is, without a login."""
    parts = urlsplit(endpoint if "://" in endpoint else "https://" + endpoint)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname or ''}{port}{parts.path.rstrip('/')}"
