"""The page in a notebook: a server in a thread of this process, and a frame that shows it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import omnizarr
from omnizarr.server.browse.app import application
from omnizarr.server.running import running


class Browser:
    """A page that runs beside a notebook: `omnizarr.server.browse.show` gives it.

    Parameters
    ----------
    url
        Where the page is.
    stop
        Stops the server.
    height
        Height of the frame, in pixels.
    """

    def __init__(self, url: str, stop: Callable[[], None], height: int = 600) -> None:
        self.url = url
        self.stop = stop
        self.height = height

    def _repr_html_(self) -> str:
        from html import escape

        return (
            f'<iframe src="{escape(self.url)}" title="omnizarr" width="100%"'
            f' height="{int(self.height)}" style="border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<omnizarr page at {self.url}>"


def show(node: omnizarr.Array | omnizarr.Group, *, height: int = 600) -> Browser:
    """Show an array or a group in a notebook.

    Parameters
    ----------
    node
        What is shown, with all that is below it.
    height
        Height of the frame, in pixels.

    Returns
    -------
    Browser
        What the notebook displays; its `stop()` ends the server.

    Examples
    --------
    >>> from omnizarr.server.browse import show
    >>> page = show(omnizarr.zeros((4, 6)))
    >>> page
    <omnizarr page at http://127.0.0.1:...>
    >>> page.stop()
    """
    stack = ExitStack()
    url = stack.enter_context(running(application(node, framed=True)))
    return Browser(url, stack.close, height)
