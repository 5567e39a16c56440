"""Plan and plant faults in documents, and say where: the truth that a pipeline's findings are held against.

A document has one fault or none.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.sandbox.faults_of_menus import MENU_PLANTERS
from pipelines.sandbox.faults_of_orders import ORDER_PLANTERS
from pipelines.sandbox.rng import Rng

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.sandbox.planting import Spoil

ORDER_FAULTS = tuple(ORDER_PLANTERS)
MENU_FAULTS = tuple(MENU_PLANTERS)
_PLANTERS = {"orders": ORDER_PLANTERS, "menus": MENU_PLANTERS}


@dataclass(frozen=True, slots=True)
class Fault:
    """A planted fault: kind and id of the document, the fault's kind, and the JSON pointer of its place."""

    kind: str
    id: int
    fault: str
    pointer: str


def plan_faults(seed: int, kind: str, ids: Sequence[int], share: float, faults: Sequence[str]) -> dict[int, str]:
    """Return which of the documents get which fault: this share of them, but one at least unless it is 0.

    The kinds of faults take turns, so that each one is there as soon as there are as many faults as kinds.
    Raise ValueError for a share outside 0 to 1 or an unknown fault.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"the share of faults in {kind} is a number from 0 to 1")
    known = ORDER_FAULTS + MENU_FAULTS
    for fault in faults:
        if fault not in known:
            raise ValueError(f"no such fault: {fault}; there are {', '.join(dict.fromkeys(known))}")
    mine = [fault for fault in _PLANTERS[kind] if not faults or fault in faults]
    if not share or not ids or not mine:
        return {}
    rng = Rng(seed, "faults", kind)
    count = max(1, int(share * len(ids) + 0.5))
    turns = itertools.cycle(rng.shuffled(mine))
    return dict(zip(rng.shuffled(ids)[:count], turns, strict=False))


def plant(seed: int, kind: str, document_id: int, fault: str, document: dict[str, Any]) -> tuple[Fault, Spoil]:
    """Change the document, and return its fault and the change still due to its bytes.

    The same fault comes to the same place whenever the document is shown.
    """
    pointer, spoil = _PLANTERS[kind][fault](Rng(seed, "fault", kind, document_id), document)
    return Fault(kind, document_id, fault, pointer), spoil
