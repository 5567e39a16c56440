"""Take hold of the connection that a request came by: what ASGI has no word for.

The server's sockets are this process's own, so the one with the client's address can be found.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_NO_LINGER = struct.pack("ii", 1, 0)


def reset(client: tuple[str, int]) -> None:
    """End the connection with this client by a TCP reset."""

    def end(connection: socket.socket) -> None:
        # The server sees the end of its input, and closes; without lingering that is a reset.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        connection.shutdown(socket.SHUT_RD)

    _find(client, end)


def hang_up(client: tuple[str, int]) -> None:
    """End the connection with this client, whatever was still to be said."""
    _find(client, lambda connection: connection.shutdown(socket.SHUT_RDWR))


def _find(client: tuple[str, int], end: Callable[[socket.socket], None]) -> None:
    """Call `end` with our side of the connection with this client; do nothing when it is gone."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - numbers, not paths
        with contextlib.suppress(OSError):  # gone meanwhile, or without a peer
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as connection:
                    if connection.getpeername()[:2] == client:
                        end(connection)
                        return
