"""How much work one document may cause: over the limit it is refused alone, before a build is slow for all.

Few bytes make a row: an order of 5 MiB may have a million lines, each of which is joined to every price of its product,
and thirty shared levels of modifiers are 2 ** 31 paths in a few kilobytes. So counts of paths are added up from the
leaves, each reference once; only what has a cycle below it is walked, and no further than the limits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from pipelines.landing.exact import InvalidDocumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pipelines.settings.tables import Landing


PATHS_OF_A_PRODUCT, PATHS_OF_A_MENU, DEPTH = 10_000, 500_000, 32


class _Below(NamedTuple):
    """How many paths go on from a modifier, and how many modifiers the longest has."""

    paths: int
    depth: int


_LEAF = _Below(0, 0)
_References = dict[int, list[int | None]]  # of a product or a modifier; None for a null in place of a reference


def too_many_paths(menu: dict[str, Any]) -> str | None:
    """Return the pointer of a part with too many or too long paths, in a canonical menu; None if nothing has."""
    total = 0
    for product, paths in paths_of_products(menu):
        if paths is None:
            return f"/products/{product}"
        total += paths
        if total > PATHS_OF_A_MENU:
            return "/products"
    return None


def paths_of_products(menu: dict[str, Any]) -> Iterator[tuple[int, int | None]]:
    """Yield each product and how many paths it has; None if there are too many, or one is too long."""
    children = _references(menu.get("modifiers"), "children")
    settled = _settled(children)
    for product, references in _references(menu.get("products"), "modifiers").items():
        yield product, _paths(references, children, settled)


def _references(of: Mapping[str, dict[str, Any] | None] | None, member: str) -> _References:
    return {
        int(key): [each and each["modifier_id"] for each in (value or {}).get(member) or ()]
        for key, value in (of or {}).items()
    }


def _settled(children: _References) -> dict[int, _Below]:
    """Return the paths below each modifier that has no cycle below it."""
    parents: defaultdict[int | None, list[int]] = defaultdict(list)
    open_references = {}
    for modifier, references in children.items():
        inner = [each for each in references if each in children]
        open_references[modifier] = len(inner)
        for each in inner:
            parents[each].append(modifier)
    found: dict[int, _Below] = {}
    ready = [modifier for modifier, count in open_references.items() if not count]
    while ready:
        modifier = ready.pop()
        below = [found.get(each, _LEAF) if each is not None else _LEAF for each in children[modifier]]
        paths = sum(1 + each.paths for each in below)
        found[modifier] = _Below(min(paths, PATHS_OF_A_MENU), max((1 + each.depth for each in below), default=0))
        for parent in parents[modifier]:
            open_references[parent] -= 1
            if not open_references[parent]:
                ready.append(parent)
    return found


def _paths(references: Sequence[int | None], children: _References, settled: Mapping[int, _Below]) -> int | None:
    """Return how many paths a product has; None if there are too many, or one is too long.

    A path ends at a modifier that is in it already.
    """
    paths = 0
    waiting: list[tuple[int | None, tuple[int, ...]]] = [(each, ()) for each in references]
    while waiting:
        modifier, above = waiting.pop()
        paths += 1
        depth = len(above) + 1
        if modifier is not None and modifier in children and modifier not in above:
            if (known := settled.get(modifier)) is not None:
                paths += known.paths
                depth += known.depth
            elif len(children[modifier]) <= PATHS_OF_A_PRODUCT:
                waiting.extend((each, (*above, modifier)) for each in children[modifier])
            else:
                return None
        if depth > DEPTH or paths + len(waiting) > PATHS_OF_A_PRODUCT:
            return None
    return paths


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
