"""Count the service's behaviour: statuses, headers, durations, sizes and shapes of error bodies, without any value.

A name of an error body's key may be a person's, so only names that many different requests share are shown.
"""

import bisect
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Self

import msgspec

_BOUNDS = [n * 10**e for e in range(9) for n in (1, 1.5, 2, 3, 5, 7)]
_NAME = re.compile(r"[A-Za-z_][A-Za-z_-]{0,39}", re.ASCII)
_NUMBER = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)")
_MOST_NAMES = 500  # per aspect; further names are counted as one
_MOST_KEYS, _MOST_DEPTH = 12, 3
_MOST_BYTES = 65_536  # of an error body whose keys are read
_REST = "…"


ERROR_BODY = "error_body"
SHOWN_FROM = 20  # different requests in whose answers a name is, so that it is no person's
_KEY = re.compile(r'"([^"]*)":')
_COMMON = frozenset("error errors message code status title type detail".split())


class Counted(msgspec.Struct):
    """How often a name occurred, its smallest and largest figure, first and last time."""

    operation: str
    aspect: str
    name: str
    n: int
    least: float | None
    greatest: float | None
    first_at: datetime
    last_at: datetime
    askers: list[int] = []  # of up to so many different requests as show the names in a name

    def meet(self, asked: Iterable[int]) -> None:
        """Note requests that it was the answer to."""
        self.askers = sorted({*self.askers, *asked})[:SHOWN_FROM]

    def add(self, other: Self) -> None:
        """Add the counts of the same name at other times."""
        self.n += other.n
        if other.askers:
            self.meet(other.askers)
        if other.least is not None and other.greatest is not None:
            self.least = other.least if self.least is None else min(self.least, other.least)
            self.greatest = other.greatest if self.greatest is None else max(self.greatest, other.greatest)
        self.first_at, self.last_at = min(self.first_at, other.first_at), max(self.last_at, other.last_at)


def added_up(counted: Iterable[Counted]) -> list[Counted]:
    """Return one count for each name of an aspect of an operation, in their order; the given ones may be changed."""
    found: dict[tuple[str, str, str], Counted] = {}
    for each in counted:
        first = found.setdefault((each.operation, each.aspect, each.name), each)
        if first is not each:
            first.add(each)
    return [found[key] for key in sorted(found)]


class Behaviour:
    """The counts since the last `take`."""

    def __init__(self) -> None:
        self._counted: dict[tuple[str, str, str], Counted] = {}
        self._names: dict[str, int] = {}

    def record(
        self, at: datetime, operation: str, aspect: str, name: str, figure: float | None = None, asked: str = ""
    ) -> None:
        """Count one occurrence of a name, with its figure if it has one, as an answer to what was `asked`."""
        key = (operation, aspect, name)
        if (found := self._counted.get(key)) is None:
            if self._names.get(aspect, 0) >= _MOST_NAMES and name != _REST:
                self.record(at, operation, aspect, _REST, figure)
                return
            found = Counted(operation, aspect, name, 0, figure, figure, at, at)
            self._names[aspect] = self._names.get(aspect, 0) + 1
            self._counted[key] = found
        found.n += 1
        if asked:
            found.meet([zlib.crc32(asked.encode())])
        found.last_at = at
        if figure is not None:
            found.least = figure if found.least is None else min(found.least, figure)
            found.greatest = figure if found.greatest is None else max(found.greatest, figure)

    def record_response(self, at: datetime, operation: str, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Count a response's status and the names of its headers; of rate limits also the numbers."""
        self.record(at, operation, "status", str(status))
        for name, value in headers:
            known = name if _NAME.fullmatch(name) else _REST
            self.record(at, operation, "header", known)
            if "ratelimit" in name or "rate-limit" in name:
                number = _NUMBER.match(value)
                self.record(at, operation, "rate_limit", known, float(number[1]) if number else None)

    def record_cost(self, at: datetime, operation: str, ms: float, size: int | None) -> None:
        """Count the duration of an attempt and the size of its body."""
        self.record(at, operation, "duration_ms", _bucket(ms), ms)
        if size is not None:
            self.record(at, operation, "response_bytes", _bucket(size), size)

    def take(self) -> list[Counted]:
        """Return the counts and reset them."""
        counted, self._counted, self._names = list(self._counted.values()), {}, {}
        return counted


def shape(body: bytes) -> str:
    """Return the keys and types of a body, as {"error":string}, or "not JSON"; of a body above 64 KiB only that."""
    if not body:
        return "empty"
    if len(body) > _MOST_BYTES:
        return "above 64 KiB"
    try:
        return _shape(msgspec.json.decode(body), 0)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return "not JSON"


def _shape(value: Any, depth: int) -> str:
    if isinstance(value, dict):
        if depth >= _MOST_DEPTH:
            return "object"
        members = {key if _NAME.fullmatch(key) else _REST: _shape(member, depth + 1) for key, member in value.items()}
        shown = [f'"{key}":{members[key]}' for key in sorted(members)[:_MOST_KEYS]]
        return "{" + ",".join([*shown, *([_REST] if len(members) > _MOST_KEYS else [])]) + "}"
    if isinstance(value, list):
        return "[" + ("" if not value or depth >= _MOST_DEPTH else _shape(value[0], depth + 1)) + "]"
    if value is None:
        return "null"
    return {bool: "boolean", int: "integer", float: "number"}.get(type(value), "string")


def with_shown_keys(counted: Iterable[Counted], known_fields: Iterable[str]) -> list[Counted]:
    """Return counts with keys of error bodies as "?" that may be a person's name.

    Shown is one of a few common words, one that ends a known field, and one in answers to 20 different requests.
    """
    found = list(counted)
    askers: defaultdict[str, set[int]] = defaultdict(set)
    for each in found:
        for key in _KEY.findall(each.name) if each.aspect == ERROR_BODY else ():
            askers[key].update(each.askers)
    shown = _COMMON | {path.rpartition("/")[2] for path in known_fields}
    shown |= {key for key, asked in askers.items() if len(asked) >= SHOWN_FROM}
    return [
        msgspec.structs.replace(each, name=_KEY.sub(lambda key: key[0] if key[1] in shown else '"?":', each.name))
        if each.aspect == ERROR_BODY
        else each
        for each in found
    ]


def _bucket(figure: float) -> str:
    """Return the bucket of a figure: its upper bound, of six per power of ten."""
    at = bisect.bisect_left(_BOUNDS, figure)
    return f"{_BOUNDS[min(at, len(_BOUNDS) - 1)]:g}" if at else "1"
