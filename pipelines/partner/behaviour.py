"""Count how the service behaves, beyond what its document shows: codes, headers, limits, waits, sizes, error bodies.

Keeps names and figures, never a value that somebody wrote: of a header its name, of an error's body its keys and types,
and of both only what looks like a name. Knows nothing of where the counts are kept.
"""

from __future__ import annotations

import bisect
import re
from datetime import datetime  # noqa: TC003 - msgspec reads the annotations
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

_BOUNDS = [n * 10**e for e in range(9) for n in (1, 1.5, 2, 3, 5, 7)]
_NAME = re.compile(r"[A-Za-z_][A-Za-z_-]{0,39}", re.ASCII)
_NUMBER = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)")
_MOST_NAMES = 500  # different things of one aspect: beyond, they are counted as one
_MOST_KEYS, _MOST_DEPTH = 12, 3
_REST = "…"


class Counted(msgspec.Struct):
    """How often something was met, between which figures, first and last when."""

    operation: str
    aspect: str
    name: str
    n: int
    least: float | None
    greatest: float | None
    first_at: datetime
    last_at: datetime


class Behaviour:
    """What was met so far; `take` gives it away and starts anew."""

    def __init__(self) -> None:
        self._counted: dict[tuple[str, str, str], Counted] = {}
        self._names: dict[str, int] = {}

    def met(self, at: datetime, operation: str, aspect: str, name: str, figure: float | None = None) -> None:
        """Count one more of a thing, with its figure if it has one."""
        key = (operation, aspect, name)
        found = self._counted.get(key)
        if found is None:
            if self._names.get(aspect, 0) >= _MOST_NAMES and name != _REST:
                self.met(at, operation, aspect, _REST, figure)
                return
            self._names[aspect] = self._names.get(aspect, 0) + 1
            self._counted[key] = Counted(operation, aspect, name, 1, figure, figure, at, at)
            return
        found.n += 1
        found.last_at = at
        if figure is not None:
            found.least = figure if found.least is None else min(found.least, figure)
            found.greatest = figure if found.greatest is None else max(found.greatest, figure)

    def answered(self, at: datetime, operation: str, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Count an answer's status and the names of its headers; of rate limits the numbers too."""
        self.met(at, operation, "status", str(status))
        for name, value in headers:
            known = name if _NAME.fullmatch(name) else _REST
            self.met(at, operation, "header", known)
            if "ratelimit" in name or "rate-limit" in name:
                number = _NUMBER.match(value)
                self.met(at, operation, "rate_limit", known, float(number[1]) if number else None)

    def took(self, at: datetime, operation: str, ms: float, size: int | None) -> None:
        """Count how long a try took, and how large its body was."""
        self.met(at, operation, "ms", _bucket(ms), ms)
        if size is not None:
            self.met(at, operation, "bytes", _bucket(size), size)

    def refused(self, at: datetime, operation: str, status: int, body: bytes) -> None:
        """Count the shape of an error's body: its keys and types."""
        self.met(at, operation, "error_body", f"{status} {shape(body)}", len(body))

    def take(self) -> list[Counted]:
        """Return what was counted, and begin anew."""
        counted, self._counted, self._names = list(self._counted.values()), {}, {}
        return counted


def shape(body: bytes) -> str:
    """Return a body's keys and types, as {"error":string}; what is no JSON is called so."""
    if not body:
        return "empty"
    try:
        return _shape(msgspec.json.decode(body), 0)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return "not JSON"


def _shape(value: Any, depth: int) -> str:
    if isinstance(value, dict):
        if depth >= _MOST_DEPTH:
            return "object"
        members = {key if _NAME.fullmatch(key) else _REST: _shape(each, depth + 1) for key, each in value.items()}
        shown = [f'"{key}":{members[key]}' for key in sorted(members)[:_MOST_KEYS]]
        return "{" + ",".join([*shown, *([_REST] if len(members) > _MOST_KEYS else [])]) + "}"
    if isinstance(value, list):
        return "[" + ("" if not value or depth >= _MOST_DEPTH else _shape(value[0], depth + 1)) + "]"
    if value is None:
        return "null"
    return {bool: "boolean", int: "integer", float: "number"}.get(type(value), "string")


def _bucket(figure: float) -> str:
    """Return the bound at or above a figure, of six in each power of ten."""
    at = bisect.bisect_left(_BOUNDS, figure)
    return f"{_BOUNDS[min(at, len(_BOUNDS) - 1)]:g}" if at else "1"
