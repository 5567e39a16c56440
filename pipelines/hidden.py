"""Hide installed libraries that others import on sight, and that hardly a command needs.

What needs one of them after all calls `show` before it imports it.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# DuckDB and PyArrow import pandas to ask whether a value is one of its own, which takes a sixth of a second; httpx
# imports what its own command prints with.
OF_VALUES = ("pandas", "httpx._main")
# Libraries below Dagster color texts with these, which nobody sees in a run; typer needs rich for its completions.
OF_COLORS = ("rich", "mako.ext.pygmentplugin")


class _Finder:
    """What import asks first where a module is."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Raise as if a hidden library were not installed; leave others to whoever finds them."""
        if name in self._names:
            raise ModuleNotFoundError(f"{name!r} is hidden", name=name)


@contextmanager
def hidden(names: tuple[str, ...]) -> Iterator[None]:
    """Hide modules meanwhile, from whatever has not imported them yet."""
    finder = _Finder(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)


def show() -> None:
    """Let everything be imported."""
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, _Finder)]
