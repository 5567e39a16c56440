"""A body → what is to be landed of it, or InvalidDocumentError: the gate's own judgement, one body at a time.

Knows nothing of files, of the index or of the vault.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.landing import leaves
from pipelines.landing.exact import InvalidDocumentError, plain, read
from pipelines.landing.fast_orders import DEPTH, FastOrders
from pipelines.landing.pattern import Trie, trie
from pipelines.landing.shape import COUNTS, MENU, ORDER, SUMS
from pipelines.landing.stores import store_document
from pipelines.landing.validated import EMPTY, Judged, digest
from pipelines.landing.walk import Walk

if TYPE_CHECKING:
    from pipelines.settings import Settings


class Gate:
    """The gate of one kind under given settings."""

    def __init__(self, settings: Settings, kind: str) -> None:
        self._settings = settings
        self._kind = kind
        self._keep: Trie = trie(settings.landing.allowed_pointers)
        self._rounds = settings.landing.excess_decimals == "round"
        self._fast: FastOrders | None = None
        if kind == "orders" and settings.landing.max_depth >= DEPTH:
            self._fast = FastOrders(settings.privacy.plaintext_fields, settings.landing.max_bytes)

    def judge(self, body: bytes, asked: int | None = None) -> Judged:
        """Return what is to be landed of `body`; raise InvalidDocumentError with reason and place."""
        quickly = self._fast.judge(body, asked) if self._fast is not None else None
        return quickly if quickly is not None else self.judge_exactly(body, asked)

    def judge_exactly(self, body: bytes, asked: int | None = None) -> Judged:
        """Judge by the walk that defines what is accepted."""
        limits = self._settings.landing
        tree = read(body, max_bytes=limits.max_bytes, max_depth=limits.max_depth)
        if not isinstance(tree, dict):
            raise InvalidDocumentError("wrong_type", "")
        try:
            return self._walked(tree, asked)
        except RecursionError:  # max_depth was set higher than we can follow
            raise InvalidDocumentError("too_deep", "") from None

    def _walked(self, tree: dict[str, Any], asked: int | None) -> Judged:
        walk = Walk(self._keep, self._settings.privacy.plaintext_fields, rounds=self._rounds)
        if self._kind == "stores":
            id_, canonical = store_document(tree, self._settings.partner.store, walk)
        else:
            canonical = walk.document(tree, ORDER if self._kind == "orders" else MENU)
            id_ = canonical["id"] if self._kind == "orders" else canonical["menu"]["id"]
        if asked is not None and id_ != asked:
            raise InvalidDocumentError("wrong_id", self.id_pointer)
        document = msgspec.json.encode(canonical)
        sealed = walk.sealed
        return Judged(
            id=id_,
            document=document,
            sha256=digest(document),
            content=msgspec.json.encode(plain(sealed)) if sealed else EMPTY,
            phone=sealed.get("/user_phone") if self._kind == "orders" else None,
            email=sealed.get("/user_email") if self._kind == "orders" else None,
            absences=sorted(walk.absences),
            rounded=walk.rounded,
            counts=tuple(walk.counts.get(name, 0) for name in COUNTS[self._kind]),
            sums=tuple(walk.sums.get(name, Decimal(0)) for name in SUMS[self._kind]),
        )

    @property
    def id_pointer(self) -> str:
        """Where a document of this kind has its own id."""
        if self._kind == "stores":
            return self._settings.partner.store.id_pointer
        return "/id" if self._kind == "orders" else "/menu/id"

    def own_id(self, body: bytes) -> int | None:
        """Return the id that a refused body claims, where it is readable and plainly one."""
        limits = self._settings.landing
        try:
            at: Any = read(body, max_bytes=limits.max_bytes, max_depth=limits.max_depth)
            for token in self.id_pointer.split("/")[1:]:
                at = at[token]
            return leaves.integer(at, "")
        except (InvalidDocumentError, KeyError, TypeError, IndexError):
            return None
