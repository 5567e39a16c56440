"""A partner's host may change: the data follow it only to an address that has the documents that are held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipelines.ledger import ledger_of
from pipelines.warehouse.building.build import build
from tests.rewriting import rewriting

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Place


@pytest.mark.slow
def test_a_service_that_moved_is_followed_and_another_one_is_not(serve: Callable[..., Place]) -> None:
    """The same world at another address is accepted and recorded; another world is refused, and nothing is changed."""
    place, other = serve(orders=12, stores=2, days=2), serve("other", orders=12, stores=2, days=2, seed=77)
    old = place.sandbox.base_url
    place.ask(place.ids)
    for kind in ("stores", "menus", "orders"):
        place.pull(kind)
    build(place.settings())
    with rewriting(old, lambda _path, status, body: (status, body)) as new:
        place.environ["ORDERMART_PARTNER__BASE_URL"] = other.sandbox.base_url
        code, said = place.command("source", "move", old, other.sandbox.base_url)
        assert (code, "it is not the same service" in said) == (1, True), said
        place.environ["ORDERMART_PARTNER__BASE_URL"] = new
        code, said = place.command("run", "--due")
        assert code == 2
        assert f"`ordermart source move {old} {new}`" in said
        assert place.command("source", "move", other.sandbox.base_url, new)[0] == 2
        code, said = place.command("source", "move", old, new)
        assert code == 0, said
        assert said.startswith(f"Moved: {new} has ")
        (entry,) = ledger_of(place.data).entries("source_moved")
        assert (entry.body["old"], entry.body["new"]) == (old, new)
        assert place.command("run", "--due")[0] == 0
