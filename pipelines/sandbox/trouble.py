"""Which service faults happen, and how often: decided by seed, per document and attempt.

`fault_injection` carries them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_type_hints

import msgspec

from pipelines.sandbox.rng import Rng

if TYPE_CHECKING:
    from collections.abc import Iterable

Mishap = Literal[
    "404", "429", "500", "503", "reset", "truncated", "content_type", "slow", "drip",
    "error", "same", "unreadable", "no_id", "empty", "401", "403",
]  # fmt: skip
Operation = Literal["authenticate", "store_list", "stores", "menus", "orders"]
MISHAPS: tuple[Mishap, ...] = get_args(Mishap)
T = TypeVar("T", bound=msgspec.Struct)


class TroubleError(ValueError):
    """A flag is invalid; the message names it."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rates are shares of requests, at most one fault per request. The default is a healthy service."""

    rate_404: float = 0.0
    rate_429: float = 0.0
    rate_500: float = 0.0
    rate_503: float = 0.0
    rate_reset: float = 0.0  # the connection is reset instead of an answer
    rate_truncated: float = 0.0  # half of Content-Length, then the end
    rate_content_type: float = 0.0  # text/html over the right body
    rate_slow: float = 0.0  # answered after slow_seconds
    rate_drip: float = 0.0  # a byte every drip_seconds
    rate_error: float = 0.0  # an error as JSON, with status 200; its text names the id
    rate_same: float = 0.0  # the right document of the first id that was requested so, for every id
    rate_unreadable: float = 0.0  # no JSON, with status 200 and the content type of JSON
    rate_no_id: float = 0.0  # the right document without its id
    rate_empty: float = 0.0  # an empty array
    rate_401: float = 0.0
    rate_403: float = 0.0
    slow_seconds: float = 1.0
    drip_seconds: float = 1.0
    retry_after: float | None = None  # seconds, sent with every 429 and 503
    retry_after_date: bool = False  # sent as a date
    latency_seconds: float = 0.0  # of every response
    capacity: tuple[
        int, ...
    ] = ()  # beyond so many concurrent requests: 429; each for capacity_seconds, the last for ever
    capacity_seconds: float = 30.0
    poison: tuple[int, ...] = ()  # ids that always fail
    poison_with: Mishap = "500"
    only: tuple[Operation, ...] = ()  # affected operations; empty: all
    token_life_seconds: int | None = None  # of tokens from now on
    revoke_at_in_flight: int = 0  # tokens are revoked, once, at so many concurrent requests
    unready_seconds: float = 0.0  # a new order answers 404 for so long after its webhook

    def rate(self, mishap: Mishap) -> float:
        """Return the rate of a fault."""
        share: float = getattr(self, f"rate_{mishap}")
        return share

    def mishap(self, seed: int, operation: str, asked: str, no: int) -> Mishap | None:
        """Return the fault of attempt `no` to request something: the same whenever it is requested."""
        if self.only and operation not in self.only:
            return None
        if operation not in {"authenticate", "store_list"} and asked.isdecimal() and int(asked) in self.poison:
            return self.poison_with
        if not any(map(self.rate, MISHAPS)):
            return None
        drawn = Rng(seed, "mishap", operation, asked, no).random()
        for mishap in MISHAPS:
            drawn -= self.rate(mishap)
            if drawn < 0:
                return mishap
        return None

    def limit(self, seconds: float) -> int | None:
        """Return the capacity this long after the faults began; None: unlimited."""
        if not self.capacity:
            return None
        return self.capacity[min(int(seconds / self.capacity_seconds), len(self.capacity) - 1)]


def trouble(flags: dict[str, Any]) -> Trouble:
    """Return the faults of flags by name; TroubleError names an invalid one."""
    made = from_flags(Trouble, flags)
    rates = [made.rate(mishap) for mishap in MISHAPS]
    if any(not 0 <= rate <= 1 for rate in rates) or sum(rates) > 1 + 1e-9:
        raise TroubleError("rates are shares from 0 to 1, and add up to 1 at most")
    if min(made.capacity, default=1) < 0 or made.capacity_seconds <= 0:
        raise TroubleError("capacity is a list of numbers of requests, capacity_seconds above zero")
    return made


def from_flags(kind: type[T], flags: dict[str, Any]) -> T:
    """Convert flags by name into a struct; values may be text, lists comma-separated."""
    known = get_type_hints(kind)
    given = {
        name: value.split(",") if isinstance(value, str) and "tuple" in str(known.get(name)) else value
        for name, value in flags.items()
    }
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise TroubleError(f"{error}") from None


def pairs(texts: Iterable[str]) -> dict[str, str]:
    """Read flags written name=value."""
    read = {}
    for text in texts:
        name, is_pair, value = text.partition("=")
        if not is_pair:
            raise TroubleError(f"{text!r} is not name=value")
        read[name] = value
    return read
