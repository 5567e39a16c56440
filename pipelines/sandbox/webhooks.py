"""Tell a receiver what happens, as partner services do: signed, tried again, at times lost, twice, late or mixed up.

What becomes of each webhook is decided by seed. Which change emits which of the four topics of interface section 6 is
not shown: here a creation emits orders.create, and every later visible change an update.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import hmac
import ipaddress
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import msgspec
from standardwebhooks import Webhook

from pipelines.sandbox.fault_injection import Share, TroubleError, from_flags
from pipelines.sandbox.rng import Rng

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pipelines.sandbox.world import World

    Shape = Callable[[str, int, str, str], tuple[dict[str, str], bytes]]


class Event(NamedTuple):
    """Something that a webhook reports; `moment` is in seconds of the world's time."""

    moment: int
    topic: str
    id: int


def events(world: World, since: int, until: int, order_ids: Iterable[int]) -> list[Event]:
    """Return the events after `since`, up to `until`; of orders only the given ones."""
    every = [Event(moment, "stores.update", store.store_id) for store in world.stores for moment, _ in store.names[1:]]
    every += [Event(moment, "menus.update", menu.menu_id) for menu in world.menus.values() for moment in menu.changes]
    for order_id in order_ids:
        order = world.plan(order_id)
        created = order.placed.created
        moments = {moment for moment, _ in order.course.steps}
        moments |= {moment for delivery in order.course.deliveries for moment, _ in delivery.steps}
        moments |= {amendment.moment for amendment in order.amendments}
        moments |= {order.placed.corrected or created}
        every.append(Event(created, "orders.create", order_id))
        every += [Event(moment, "orders.update", order_id) for moment in moments if moment > created]
    return sorted({event for event in every if since < event.moment <= until})


_REORDERED_BY = 8  # places at most
_FATES = ("lost", "doubled", "delayed", "reordered")
Count = Annotated[int, msgspec.Meta(ge=1)]


class Webhooks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where webhooks go and what becomes of them; rates are shares of all that is to be told."""

    to: str = ""  # "": nobody is told
    lost: Share = 0.0
    doubled: Share = 0.0
    delayed: Share = 0.0
    reordered: Share = 0.0
    delay_seconds: float = 2.0
    signature: Literal["none", "standard_webhooks", "hmac_sha256"] = "none"
    secret: str = ""
    at_once: Count = 8
    tries: Count = 3  # of one that is not answered with 2xx
    timeout_seconds: float = 10.0


def webhooks(flags: dict[str, Any]) -> Webhooks:
    """Return the webhooks that flags by name make; TroubleError names what cannot hold."""
    made = from_flags(Webhooks, flags)
    if made.to and not _on_loopback(made.to):
        raise TroubleError("webhooks go to an http:// address on loopback and to no other")
    if made.signature != "none" and not made.secret:
        raise TroubleError(f"signature={made.signature} needs a secret")
    return made


class Sender:
    """Sends `webhooks`, which may be replaced, in the background, and remembers what became of them."""

    def __init__(self, seed: int, shape: Shape, on_sent: Callable[[Event], None]) -> None:
        self.webhooks = Webhooks()
        self._seed = seed
        self._shape = shape
        self._on_sent = on_sent
        self._tasks: set[asyncio.Task[None]] = set()
        self._pending = 0
        self.clear()

    def clear(self) -> None:
        """Forget what was told."""
        self._told: list[tuple[str, int]] = []
        self._fates: dict[str, list[tuple[str, int]]] = {fate: [] for fate in (*_FATES, "refused")}
        self._statuses: Counter[str] = Counter()

    def shown(self) -> dict[str, Any]:
        """Return what became of webhooks: (topic, id) of those acknowledged, and of each other fate; counts of answers.

        `pending` are those still to be sent; until it is 0 nothing is final.
        """
        return {
            "pending": self._pending,
            "acknowledged": self._told,
            "answers": dict(self._statuses),
            **self._fates,
        }

    def send(self, happened: Sequence[Event]) -> int:
        """Begin to tell of these; return how many webhooks that makes."""
        plan = list(self._plan(happened))
        self._pending += len(plan)
        task = asyncio.create_task(self._send(self.webhooks, plan))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return len(plan)

    def _plan(self, happened: Sequence[Event]) -> Iterator[tuple[Event, str, float]]:
        """Yield the webhooks in the order of sending: what happened, the event's id, and how late."""
        how = self.webhooks
        placed = []
        for place, each in enumerate(happened):
            rng = Rng(self._seed, "webhook", *each)
            fates = {fate for fate in _FATES if rng.often(getattr(how, fate))}
            event = f"evt_{each.topic.replace('.', '_')}_{each.id}_{each.moment}"
            told = (each.topic, each.id)
            if "lost" in fates:
                self._fates["lost"].append(told)
                continue
            for fate in sorted(fates):
                self._fates[fate].append(told)
            late = how.delay_seconds if "delayed" in fates else 0.0
            behind = rng.between(1, _REORDERED_BY) + 0.5 if "reordered" in fates else 0.0
            placed += [(place + behind, (each, event, late))] * (2 if "doubled" in fates else 1)
        placed.sort(key=lambda pair: pair[0])
        yield from (planned for _, planned in placed)

    async def _send(self, how: Webhooks, plan: list[tuple[Event, str, float]]) -> None:
        timeout = aiohttp.ClientTimeout(total=how.timeout_seconds)
        waiting = iter(plan)
        late: list[asyncio.Task[None]] = []

        async with aiohttp.ClientSession(timeout=timeout) as session:

            async def tell_on() -> None:
                for each, event, seconds in waiting:
                    if seconds:
                        late.append(asyncio.create_task(self._tell(session, how, each, event, seconds)))
                    else:
                        await self._tell(session, how, each, event, 0.0)

            await asyncio.gather(*(tell_on() for _ in range(how.at_once)))
            await asyncio.gather(*late)

    async def _tell(
        self, session: aiohttp.ClientSession, how: Webhooks, each: Event, event: str, seconds: float
    ) -> None:
        await asyncio.sleep(seconds)
        self._on_sent(each)
        sent = dt.datetime.fromtimestamp(each.moment, dt.UTC)
        headers, body = self._shape(each.topic, each.id, event, sent.isoformat().replace("+00:00", "Z"))
        status = "nothing"
        for no in range(how.tries):
            await asyncio.sleep(0.25 * no)
            try:
                signed = {**headers, **_signature(how, event, body), "Content-Type": "application/json"}
                async with session.post(how.to, data=body, headers=signed) as answer:
                    status = str(answer.status)
            except (aiohttp.ClientError, TimeoutError):
                status = "nothing"
            self._statuses[status] += 1
            if status.startswith("2"):
                break
        told = self._told if status.startswith("2") else self._fates["refused"]
        told.append((each.topic, each.id))
        self._pending -= 1


def _signature(how: Webhooks, event: str, body: bytes) -> dict[str, str]:
    if how.signature == "hmac_sha256":
        return {"X-Hub-Signature-256": "sha256=" + hmac.new(how.secret.encode(), body, hashlib.sha256).hexdigest()}
    if how.signature == "standard_webhooks":
        now = dt.datetime.now(dt.UTC)
        signature = Webhook(how.secret).sign(event, now, body.decode())
        return {
            "webhook-id": event,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": signature,
        }
    return {}


def _on_loopback(url: str) -> bool:
    parts = urlsplit(url)
    try:
        return parts.scheme == "http" and ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return parts.scheme == "http" and parts.hostname == "localhost"
