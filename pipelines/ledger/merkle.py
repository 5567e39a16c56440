"""The root of a Merkle tree over the lines of a log (RFC 6962, section 2.1), as a C2SP tlog-checkpoint has it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LEAF, _NODE = b"\0", b"\1"


def root_of(lines: Iterable[bytes]) -> bytes:
    """Return the hash of the tree: whole trees of halving sizes from the left, joined from the right."""
    trees: list[tuple[int, bytes]] = []  # size and root of each
    for line in lines:
        size, root = 1, hashlib.sha256(_LEAF + line).digest()
        while trees and trees[-1][0] == size:
            root = _joined(trees.pop()[1], root)
            size *= 2
        trees.append((size, root))
    if not trees:
        return hashlib.sha256(b"").digest()
    root = trees.pop()[1]
    while trees:
        root = _joined(trees.pop()[1], root)
    return root


def _joined(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE + left + right).digest()
