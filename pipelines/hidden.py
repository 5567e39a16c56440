"""Hide installed libraries that others import on sight, and that hardly a command needs.

DuckDB and PyArrow import pandas to ask whether a value is one of its own, which takes a sixth of a second; httpx
imports what its own command prints with. What needs pandas after all calls `show` before it imports it.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HIDDEN = ("pandas", "httpx._main")


class _Finder:
    """What import asks first where a module is."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Raise as if a hidden library were not installed; leave others to whoever finds them."""
        if name in _HIDDEN:
            raise ModuleNotFoundError(f"{name!r} is hidden", name=name)


_FINDER = _Finder()


@contextmanager
def hidden() -> Iterator[None]:
    """Hide them meanwhile, from whatever has not imported them yet."""
    sys.meta_path.insert(0, _FINDER)
    try:
        yield
    finally:
        show()


def show() -> None:
    """Let them be imported."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
