"""What happens in a world between two moments: the four topics of interface section 6, in the order of time.

Which change emits which topic is not shown: here a creation emits orders.create, every later change that a reader can
see emits an update. Knows nothing of how it is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipelines.sandbox.world import World


class Happening(NamedTuple):
    """Something that a webhook tells of; `moment` is in seconds of the world's time."""

    moment: int
    topic: str
    id: int


def happenings(world: World, since: int, until: int, order_ids: Iterable[int]) -> list[Happening]:
    """Return what happens after `since`, up to `until`; of orders only to those that are named."""
    every = [*_stores(world), *_menus(world), *_orders(world, order_ids)]
    return sorted({happening for happening in every if since < happening.moment <= until})


def _stores(world: World) -> Iterator[Happening]:
    for store in world.stores:
        yield from (Happening(moment, "stores.update", store.store_id) for moment, _ in store.names[1:])


def _menus(world: World) -> Iterator[Happening]:
    for menu in world.menus.values():
        yield from (Happening(moment, "menus.update", menu.menu_id) for moment in menu.changes)


def _orders(world: World, order_ids: Iterable[int]) -> Iterator[Happening]:
    for order_id in order_ids:
        order = world.plan(order_id)
        created = order.placed.created
        yield Happening(created, "orders.create", order_id)
        moments = {moment for moment, _ in order.course.steps}
        moments |= {moment for delivery in order.course.deliveries for moment, _ in delivery.steps}
        moments |= {amendment.moment for amendment in order.amendments}
        yield from (Happening(moment, "orders.update", order_id) for moment in moments if moment > created)
