"""Reading deliveries: the shapes that services send, and bytes that no service should."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.inbox.store import Decoder, Notification
from pipelines.settings import load_settings

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT = Decoder(load_settings(environ={}).webhooks)


def decode(document: Any, headers: dict[bytes, bytes] | None = None, decoder: Decoder = DEFAULT) -> Notification:
    """Read a document as a body."""
    return decoder.decode(headers or {}, msgspec.json.encode(document))


@pytest.mark.parametrize(
    ("document", "headers"),
    [
        ({"topic": "orders.update", "data": {"id": 5}}, {}),
        ({"event": "orders.update", "data": {"order_id": "5", "store_id": 7}}, {}),
        ({"type": "orders.update", "id": "evt_9", "data": {"object": {"id": 5, "store": {"id": 7}}}}, {}),
        ({"event_type": "orders.update", "order": {"id": 5}, "id": 99}, {}),
        ({"event": {"type": "orders.update"}, "order_id": 5, "store_id": 7}, {}),
        ({"resource_id": 5, "topic": "orders.update"}, {}),
        ({"id": 5, "store_id": 7}, {b"x-webhook-topic": b"orders.update"}),
        (None, {b"x-topic": b"orders.update", b"x-resource-id": b"5"}),
    ],
)
def test_common_shapes(document: Any, headers: dict[bytes, bytes]) -> None:
    """The defaults find topic and id in the shapes that services commonly send."""
    named = decode(document, headers)
    assert (named.topic, named.kind, named.id, named.undecodable) == ("orders.update", "orders", 5, None)


def test_headers_suffice() -> None:
    """A body that is not JSON does not matter when the headers say all."""
    named = DEFAULT.decode({b"x-topic": b"menus.update", b"x-resource-id": b"5"}, b"menu=5")
    assert (named.kind, named.id, named.undecodable) == ("menus", 5, None)


def test_settings_decide_where(tmp_path: Path) -> None:
    """Other places are a matter of settings, the first that holds something usable wins."""
    file = tmp_path / "ordermart.toml"
    file.write_text(
        '[webhooks]\ntopic_locations = ["/meta/what"]\nid_locations = ["/a~1b/0", "/{kind}Id"]\n'
        'delivery_id_locations = ["header:X-Try"]'
    )
    decoder = Decoder(load_settings(file, {}).webhooks)
    assert decode({"meta": {"what": "stores.update"}, "a/b": [8]}, decoder=decoder).id == 8
    named = decode({"meta": {"what": "stores.update"}, "a/b": [], "storeId": 9}, {b"x-try": b"t-1"}, decoder)
    assert (named.kind, named.id, named.delivery_id) == ("stores", 9, "t-1")


@pytest.mark.parametrize("id_", [True, 1.0, 5.5, None, "05", "+5", " 5", "5.0", "٥", 2**63, str(2**63), [], {}, "-0"])
def test_what_is_no_id(id_: Any) -> None:
    """Only a 64-bit integer or its canonical text is an id."""
    assert decode({"topic": "orders.update", "data": {"id": id_}}).undecodable == "no id found"


@pytest.mark.parametrize("id_", [-1, -5, -(2**63)])
def test_negative_ids_are_refused_at_the_door(id_: int) -> None:
    """No document has such an id: the delivery is kept, and names none."""
    for sent in (id_, str(id_)):
        named = decode({"topic": "orders.update", "data": {"id": sent}})
        assert (named.kind, named.id, named.undecodable) == ("orders", None, "id_out_of_range")


@pytest.mark.parametrize("id_", [0, 2**63 - 1])
def test_extreme_ids(id_: int) -> None:
    """An id up to 64 bits is one, as a number and as text."""
    assert decode({"topic": "orders.update", "data": {"id": id_}}).id == id_
    assert decode({"topic": "orders.update", "data": {"id": str(id_)}}).id == id_


def test_topics_are_named_exactly() -> None:
    """Another spelling is another topic: shown, not guessed at."""
    named = decode({"topic": "Orders.Update", "data": {"id": 5}})
    assert (named.topic, named.kind, named.undecodable) == (None, None, "no topic found")
    named = decode({"topic": "order.updated", "data": {"id": 5}})
    assert (named.topic, named.kind, named.undecodable) == ("order.updated", None, "unknown topic")


@pytest.mark.parametrize("word", ["maria@example.test", "+55 11 98888-7777", "11988887777", "Maria", "x" * 200 + ".y"])
def test_words_that_could_be_anything_are_not_kept(word: str) -> None:
    """An unknown topic is kept only when it looks like one."""
    assert decode({"topic": word, "data": {"id": 5}}).topic is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("orders.update"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["topic", "type", "event", "data", "object", "id", "order", "order_id"]), inner
        )
    ),
    max_leaves=15,
)


@settings(deadline=None)
@given(body=st.binary(max_size=300) | JSON.map(msgspec.json.encode))
def test_any_bytes_are_read_or_said_to_be_unreadable(body: bytes) -> None:
    """No bytes raise; each delivery either names kind and id or says why not."""
    named = DEFAULT.decode({}, body)
    assert (named.undecodable is None) == (named.kind is not None and named.id is not None)
