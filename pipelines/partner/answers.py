"""What comes back from asking: Fetched or Failed for an id, and the two ends of one try.

Knows nothing of how it was asked. A repr shows figures, never a body.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import builtins
    from collections.abc import Mapping
    from datetime import datetime

Kind = Literal["stores", "menus", "orders"]


class Try(NamedTuple):
    """One request that was followed by another for the same id: its status, None where none came, and a short code."""

    http_status: int | None
    reason: str
    ms: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The service's answer for one id: status 200 with a body, or 404 without one.

    `ms` is the time of the last try, `bytes` the size of the body as read, `tries` counts
    every request sent for the id, and `earlier` has all of them but the last.
    With `oversize` the body is cut just above the limit. `headers` has what is safe to keep:
    content-type, etag, last-modified, date.
    """

    kind: Kind
    id: int
    status: int
    body: bytes = field(repr=False)
    fetched_at: datetime
    ms: float
    bytes: int
    tries: int
    earlier: tuple[Try, ...] = ()
    oversize: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """No answer for one id: a short code, and one sentence without anything of a body.

    `status` is the last HTTP status, None when none came.
    """

    kind: Kind
    id: int
    code: str
    reason: str
    status: int | None
    fetched_at: datetime
    ms: float
    bytes: int
    tries: int
    earlier: tuple[Try, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One try that got through: a status that means something, and its body."""

    status: int
    body: bytes = field(repr=False)
    ms: float
    oversize: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    links: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One try that did not.

    `transient`: trying again may help. `service`: the service is at fault as a whole (it is
    slow, overloaded or gone), so that pace and breaker should know. `overload`: it says so.
    `body`: of an answer that is whole and not JSON.
    """

    code: str
    reason: str
    status: int | None
    ms: float
    bytes: int = 0
    transient: bool = True
    service: bool = True
    overload: bool = False
    retry_after: float | None = None
    body: builtins.bytes | None = field(default=None, repr=False)

    @property
    def is_service_fault(self) -> bool:
        """Whether the service as a whole may be at fault."""
        return self.service or self.overload or self.body is not None
