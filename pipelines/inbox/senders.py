"""Limit how many deliveries each sender may make, signed or not: a bucket of tokens per address."""

from __future__ import annotations

import ipaddress
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BURST_SECONDS = 20  # a quiet sender may send so many seconds' worth at once
_MOST = 10_000  # senders remembered; those beyond share one bucket
_FORGET_SECONDS = 1.0
_OTHERS = "others"
_NETWORK_BITS = 64  # of IPv6: one sender usually has so many addresses


class Senders:
    """The buckets of all senders; `per_second` deliveries of each are allowed on average, 0 for any number."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._clock = per_second, clock
        self._most = max(1.0, per_second * _BURST_SECONDS)
        self._forgotten_at = -_FORGET_SECONDS
        self._buckets: dict[str, tuple[float, float]] = {}

    def allow(self, sender: str) -> bool:
        """Return whether a sender may deliver now, and count the delivery."""
        if not self._per_second:
            return True
        now = self._clock()
        if sender not in self._buckets and len(self._buckets) >= _MOST:
            self._forget_quiet_ones(now)
            if len(self._buckets) >= _MOST:
                sender = _OTHERS
        left, at = self._buckets.get(sender, (self._most, now))
        left = min(self._most, left + (now - at) * self._per_second)
        is_allowed = left >= 1
        self._buckets[sender] = (left - is_allowed, now)
        return is_allowed

    def _forget_quiet_ones(self, now: float) -> None:
        """Forget the senders whose buckets are full again, but not with every delivery."""
        if now - self._forgotten_at < _FORGET_SECONDS:
            return
        self._forgotten_at = now
        self._buckets = {
            sender: (left, at)
            for sender, (left, at) in self._buckets.items()
            if left + (now - at) * self._per_second < self._most
        }


def sender_of(client: tuple[str, int] | None, headers: Mapping[bytes, bytes]) -> str:
    """Return who sends: the address, or what a proxy on this machine says of it in X-Real-IP."""
    address = client[0] if client else ""
    try:
        peer = ipaddress.ip_address(address)
        if peer.is_loopback and (named := headers.get(b"x-real-ip", b"").strip()):
            peer = ipaddress.ip_address(named.decode("ascii"))
    except ValueError:
        return address
    if peer.version == 4:
        return str(peer)
    return str(ipaddress.ip_network((peer, _NETWORK_BITS), strict=False))
