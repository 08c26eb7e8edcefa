"""`ABSStore`: a container of Azure Blob Storage with the arguments of zarr-python 2.

This module knows names of arguments. `stores.cloud.store` does the work.
"""

from __future__ import annotations

from typing import Literal

from omnizarr.errors import UnsupportedError
from omnizarr.keywords import suggests
from omnizarr.stores.cloud.store import open_url
from omnizarr.stores.wrappers.base import WrapperStore


class ABSStore(WrapperStore):
    """An `ObjectStore` on Azure, with the name and arguments of zarr-python 2.

    Parameters
    ----------
    container
        Name of the container.
    prefix
        Prefix of all keys.
    account_name, account_key
        The account; without a key the environment gives the credentials.
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.
    client
        Not supported: a client of the Azure SDK. Give the account instead.

    Examples
    --------
    >>> omnizarr.stores.ABSStore("container", prefix="data.zarr", account_name="account")
    ABSStore(ObjectStore('az://container/data.zarr', account='account'))
    """

    @suggests
    def __init__(
        self,
        container: str | None = None,
        prefix: str = "",
        account_name: str | None = None,
        account_key: str | None = None,
        *,
        dimension_separator: Literal[".", "/"] | None = None,
        client: object = None,
    ) -> None:
        if client is not None or container is None:
            raise UnsupportedError(
                "ABSStore takes container, account_name and account_key here, and no client of the"
                " Azure SDK; a client of obstore is opened with omnizarr.stores.ObjectStore"
            )
        given = {"account_name": account_name, "account_key": account_key}
        options = {name: value for name, value in given.items() if value is not None}
        url = "/".join(filter(None, [f"az://{container}", prefix.strip("/")]))
        super().__init__(open_url(url, mode="a", read_only=False, options=options))
        if dimension_separator is not None:
            self.dimension_separator = dimension_separator
