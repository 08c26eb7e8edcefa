"""A read-only web server for any store and any format (`pip install 'omnizarr[serve]'`).

    app          an ASGI application, to be mounted in another one or run by any ASGI server
    serve        serve a store until Ctrl-C
    background   serve a store in a thread, as long as a block takes

Modules: `running` starts and ends servers, `protocol` watches clients, `application` mounts,
`endpoint` answers, `requests`, `ranges` and `answers` know HTTP, `values` opens what is sent.
"""

from __future__ import annotations

from omnizarr.server.application import app, background, serve

__all__ = ["app", "background", "serve"]
