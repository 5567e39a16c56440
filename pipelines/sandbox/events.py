"""The events of a world between two moments: the four topics of interface section 6, in order of time.

Which change emits which topic is not shown: here a creation emits orders.create, and every later visible change an
update.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipelines.sandbox.world import World


class Event(NamedTuple):
    """Something that a webhook reports; `moment` is in seconds of the world's time."""

    moment: int
    topic: str
    id: int


def events(world: World, since: int, until: int, order_ids: Iterable[int]) -> list[Event]:
    """Return the events after `since`, up to `until`; of orders only the given ones."""
    every = [*_stores(world), *_menus(world), *_orders(world, order_ids)]
    return sorted({event for event in every if since < event.moment <= until})


def _stores(world: World) -> Iterator[Event]:
    for store in world.stores:
        yield from (Event(moment, "stores.update", store.store_id) for moment, _ in store.names[1:])


def _menus(world: World) -> Iterator[Event]:
    for menu in world.menus.values():
        yield from (Event(moment, "menus.update", menu.menu_id) for moment in menu.changes)


def _orders(world: World, order_ids: Iterable[int]) -> Iterator[Event]:
    for order_id in order_ids:
        order = world.plan(order_id)
        created = order.placed.created
        yield Event(created, "orders.create", order_id)
        moments = {moment for moment, _ in order.course.steps}
        moments |= {moment for delivery in order.course.deliveries for moment, _ in delivery.steps}
        moments |= {amendment.moment for amendment in order.amendments}
        moments |= {order.placed.corrected or created}
        yield from (Event(moment, "orders.update", order_id) for moment in moments if moment > created)
