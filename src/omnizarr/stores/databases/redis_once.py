"""Commands that go out once, whatever a client does with others.

A client repeats a command whose answer was lost. A write on condition then meets its own result,
and success looks like a conflict. So such a command is sent over a connection of the client's pool
by hand, and a lost answer is an error.

Whoever finds what it sent in the store cannot take it for its own: two who append at once send the
same bytes.

This module knows clients and connections. It must not know what commands mean.
"""

from __future__ import annotations

import inspect
from typing import Any

from omnizarr.errors import UncertainWriteError


class Once:
    """Sends a command once.

    errors: the client library's module of exceptions.
    """

    def __init__(self, client: Any, errors: Any) -> None:
        self._client = client
        self._pool = getattr(client, "connection_pool", None)
        self._unanswered = (errors.ConnectionError, errors.TimeoutError, OSError)
        self._answers = (errors.AuthenticationError, errors.BusyLoadingError)
        """Answers that the library counts among failures of a connection."""
        self._named = False
        if self._pool is not None:  # older libraries want the command's name, newer ones refuse it
            named = inspect.signature(self._pool.get_connection).parameters.get("command_name")
            self._named = named is not None and named.default is inspect.Parameter.empty

    def __call__(self, doubt: str, *command: Any) -> Any:
        """The answer. Whatever is raised means that nothing was done, but `UncertainWriteError`
        with the text `doubt`."""
        if self._pool is None:  # one that speaks to many servers
            try:
                return self._client.execute_command(*command)
            except self._answers:
                raise
            except self._unanswered as error:
                raise UncertainWriteError(doubt) from error
        name = command[0]
        pool = self._pool
        connection = pool.get_connection(name) if self._named else pool.get_connection()
        try:
            connection.send_command(*command)  # if it fails, no server has all of the command
            try:
                return self._client.parse_response(connection, name)
            except self._answers:
                raise
            except self._unanswered as error:
                connection.disconnect()
                raise UncertainWriteError(doubt) from error
        finally:
            pool.release(connection)
