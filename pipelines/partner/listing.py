"""List the stores, page by page, and never stop early in silence.

Knows nothing of what a store record means: it hands on each record's own JSON text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipelines.partner.answers import Answer, Trouble
from pipelines.partner.errors import ListingBroken
from pipelines.partner.pointer import parse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from pipelines.settings import Partner

_OK = 200


async def pages(partner: Partner, ask: Callable[[str], Awaitable[Answer | Trouble]]) -> AsyncIterator[list[bytes]]:
    """Yield each page's records, as they stand in the answer."""
    how = partner.list_stores
    answer = await ask(partner.base_url.rstrip("/") + how.path)
    if isinstance(answer, Trouble):
        raise ListingBroken(f"{how.path}: {answer.reason} ({answer.code})")
    if answer.status != _OK:
        raise ListingBroken(f"{how.path} answers {answer.status}: is its path right?")
    yield records(answer.body, how.items_pointer)


def records(body: bytes, pointer: str) -> list[bytes]:
    """Return the elements of the array at `pointer`, each as its own text."""
    value = msgspec.Raw(body)
    for token in parse(pointer):
        try:
            value = msgspec.json.decode(value, type=dict[str, msgspec.Raw])[token]
        except (msgspec.MsgspecError, KeyError):
            raise ListingBroken(
                f"[partner.list_stores] items_pointer {pointer!r} leads to nothing at {token!r}"
            ) from None
    try:
        found = msgspec.json.decode(value, type=list[msgspec.Raw])
    except msgspec.MsgspecError:
        raise ListingBroken(f"[partner.list_stores] items_pointer {pointer!r} does not lead to an array") from None
    return [bytes(record) for record in found]
