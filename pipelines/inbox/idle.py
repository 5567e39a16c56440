"""Close the connections of a sender that opens many and says nothing: the longest idle of an address first.

The server accepts no more than it has room for, so silent connections would make deliveries wait. The kernel tells who
is connected and for how long nothing came; where it does not, which is anywhere but on Linux, nothing is closed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import sys
import threading
from collections import Counter, defaultdict
from pathlib import Path

MOST_OF_AN_ADDRESS = 128
FEWEST_OF_AN_ADDRESS = 16  # a proxy has all deliveries come from its own
_IDLE_MS = 100  # since the last byte came, if everything was answered
_UNANSWERED_MS = 1_000  # if not: half a request, or a delivery that is being committed
_LOOK_SECONDS = 0.05
_LAST_SENT, _LAST_RECEIVED = 44, 52  # bytes before tcpi_last_data_sent and _recv in struct tcp_info of linux/tcp.h


class IdleConnections:
    """A thread that closes idle connections beyond `most` of an address; `port` is the one that is served."""

    def __init__(self, port: int, most: int = MOST_OF_AN_ADDRESS) -> None:
        self._port, self._most = port, most
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="idle connections", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        if sys.platform == "linux":
            self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            descriptors = [int(each.name) for each in Path("/proc/self/fd").iterdir()]
            if len(descriptors) > self._most:
                self._close(descriptors)

    def _close(self, descriptors: list[int]) -> None:
        idle: defaultdict[str, list[tuple[int, socket.socket]]] = defaultdict(list)
        open_of: Counter[str] = Counter()
        with contextlib.ExitStack() as copies:
            for each in descriptors:
                with contextlib.suppress(OSError):
                    if not stat.S_ISSOCK(os.fstat(each).st_mode):
                        continue
                    copy = copies.enter_context(socket.socket(fileno=os.dup(each)))
                    if copy.family != socket.AF_UNIX and copy.getsockname()[1] == self._port:
                        open_of[copy.getpeername()[0]] += 1
                        if ms := _idle_ms(copy):
                            idle[copy.getpeername()[0]].append((ms, copy))
            for address, connections in idle.items():
                connections.sort(key=lambda each: each[0], reverse=True)
                for _, copy in connections[: max(0, open_of[address] - self._most)]:
                    with contextlib.suppress(OSError):
                        copy.shutdown(socket.SHUT_RDWR)


def _idle_ms(connection: socket.socket) -> int:
    """Return for how many milliseconds nothing came; 0 if something may still be answered."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_RECEIVED + 4)
    sent, received = (int(struct.unpack_from("I", info, at)[0]) for at in (_LAST_SENT, _LAST_RECEIVED))
    return received if received >= (_IDLE_MS if sent <= received else _UNANSWERED_MS) else 0
