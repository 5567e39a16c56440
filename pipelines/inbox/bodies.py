"""Keep bodies that nobody could verify or read, encrypted, up to a limit: the oldest make room for new ones."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from pipelines.clock import utc_now
from pipelines.vault.refused import ROW_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.vault import Vault

_KIND = "webhooks"
_SOME = 10  # at least so many percent are freed at once, so that not every delivery frees a little


class Kept(NamedTuple):
    """References to the bodies that were kept, and to older ones that had to make room for them."""

    refs: Sequence[str]
    removed: Sequence[str]


class Bodies:
    """The bodies of undecodable deliveries in a vault, at most `most` bytes of them."""

    def __init__(self, vault: Vault, most: int) -> None:
        self._vault, self._most = vault, most
        self._bytes = vault.refused.stored_bytes(_KIND)
        self._uncounted = 0

    def keep(self, bodies: Sequence[bytes]) -> Kept:
        """Encrypt bodies, durably; together they are not more than the limit."""
        size = sum(len(body) + ROW_BYTES for body in bodies)
        removed = self._make_room(size)
        refs = self._vault.refused.encrypt(_KIND, _KIND, ((None, body) for body in bodies), utc_now())
        self._vault.sync()
        self._bytes += size
        self._uncounted += size
        return Kept(refs, removed)

    def _make_room(self, size: int) -> list[str]:
        if self._uncounted > self._most // _SOME:  # another receiver stores here, and maintenance removes
            self._bytes, self._uncounted = self._vault.refused.stored_bytes(_KIND), 0
        if self._bytes + size <= self._most:
            return []
        wanted = min(self._most, size + self._most // _SOME)
        removed = self._vault.refused.forget_oldest(_KIND, leave=self._most - wanted)
        self._bytes, self._uncounted = self._vault.refused.stored_bytes(_KIND), 0
        sys.stderr.write(
            f"{len(removed):,} bodies of undecodable deliveries, the oldest, were removed from the vault: "
            "[webhooks] max_stored_bytes; the deliveries stay listed\n"
        )
        sys.stderr.flush()
        return removed
