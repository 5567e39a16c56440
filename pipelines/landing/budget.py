"""How much work one document may cause: over the limit it is refused alone, before a build is slow for all.

Few bytes make a row: an order of 5 MiB may have a million lines, each of which is joined to every price of its product.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.modifier_paths import too_many_paths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.settings.tables import Landing

REASON = "too_many_parts"
_PRICES_OF_A_PRODUCT = 1_000  # in one menu: each line of that product is compared with all of them


class Budget:
    """The limits for documents of one kind."""

    def __init__(self, limits: Landing, kind: str) -> None:
        most = {"orders": limits.max_order_parts, "stores": limits.max_store_menus}
        self._most = most.get(kind, limits.max_menu_parts)

    def check(self, counts: Iterable[int]) -> None:
        """Raise InvalidDocumentError for a document whose parts, such as lines and modifiers, are too many."""
        if sum(counts) > self._most:
            raise InvalidDocumentError(REASON, "")


def check_menu(menu: dict[str, Any]) -> None:
    """Raise InvalidDocumentError for a canonical menu with too many prices or modifier paths of one product."""
    prices = Counter(
        price["product_id"]
        for group in menu["menu"].get("price_groups") or ()
        for price in (group or {}).get("prices") or ()
        if price is not None
    )
    if prices and max(prices.values()) > _PRICES_OF_A_PRODUCT:
        raise InvalidDocumentError(REASON, "/menu/price_groups")
    if (pointer := too_many_paths(menu)) is not None:
        raise InvalidDocumentError(REASON, pointer)
