"""Plant faults in documents, and say where: the truth that a pipeline's findings are held against.

Knows the interface's shapes; knows nothing of how a pipeline judges them, nor of faults of the connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

from pipelines.sandbox.chance import Chance

ORDER_FAULTS: tuple[str, ...] = ()
MENU_FAULTS: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """A planted fault: the kind of document, its id, the kind of fault, and the JSON pointer of the place."""

    document: str
    id: int
    fault: str
    pointer: str


def plan_faults(seed: int, what: str, ids: Sequence[int], share: float, kinds: Sequence[str]) -> dict[int, str]:
    return {}


def plant_in_order(chance: Chance, fault: str, document: dict[str, Any]) -> tuple[str, Callable[[bytes], bytes]]:
    raise NotImplementedError


plant_in_menu = plant_in_order
