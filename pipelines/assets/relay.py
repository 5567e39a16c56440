"""Pass on what child processes write, line by line, to this process's own output, which replaces control characters.

Dagster logs whatever an exception holds, and colours it; a child that wrote to the terminal itself would pass a filter
by.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading

_LONGEST = 1 << 16  # bytes of a line that are waited for
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PATIENCE_SECONDS = 2.0  # for a line that is still in a pipe once all processes have ended


class Relay:
    """Two pipes for children, `out` and `err`, and a thread each that empties them."""

    def __init__(self) -> None:
        (read_out, self.out), (read_err, self.err) = os.pipe(), os.pipe()
        self._threads = [
            threading.Thread(target=_pass_on, args=each, daemon=True)
            for each in ((read_out, "stdout"), (read_err, "stderr"))
        ]

    def start(self) -> None:
        """Begin, once all children were started: no thread may be there when they are forked."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Write the remaining output of children that have ended."""
        os.close(self.out)
        os.close(self.err)
        for thread in self._threads:
            thread.join(_PATIENCE_SECONDS)


def _pass_on(descriptor: int, name: str) -> None:
    with os.fdopen(descriptor, "rb") as pipe:
        while line := pipe.readline(_LONGEST):
            stream = getattr(sys, name)
            # go on without a reader: a full pipe would stop the children
            with contextlib.suppress(OSError, ValueError):
                stream.write(_COLOUR.sub("", line.decode("utf-8", "replace")))
                stream.flush()
