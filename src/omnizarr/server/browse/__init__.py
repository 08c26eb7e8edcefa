"""`omnizarr browse`: a page that shows any store of any format (`omnizarr[serve]`)."""

from __future__ import annotations

from omnizarr.runtime.optional_packages import package

package("starlette", "serve", "the page")
package("uvicorn", "serve", "the page")

from omnizarr.server.browse.app import application  # noqa: E402 - after the two were looked for
from omnizarr.server.browse.notebooks import Browser, show  # noqa: E402

__all__ = ["Browser", "application", "show"]
