"""Hold a lock file while a load or a merge of one kind is under way."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING, Self

from pipelines.durable import make_folder

if TYPE_CHECKING:
    from pathlib import Path


class LandingError(Exception):
    """Nothing could be landed; the message says why and what to do, never a payload's value."""


class Lock:
    """Hold a lock file while a load or a merge of one kind is under way; the kernel frees it when a process dies."""

    def __init__(self, path: Path, what: str) -> None:
        make_folder(path.parent)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise LandingError(f"another load of {what} is under way: wait for it to end") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Let others go on; releasing twice does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
