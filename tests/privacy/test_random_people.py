"""Random people order, correct, repeat and break their orders in any spelling: one is erased, the others are whole."""

from __future__ import annotations

import base64
import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pipelines.landing.customers import filing_rule, settle_customers
from pipelines.privacy import PersonRequest, PrivacyError, erase, export
from pipelines.vault import open_vault
from tests.privacy.conftest import World
from tests.privacy.test_people import broken, left, of

if TYPE_CHECKING:
    from collections.abc import Callable

PEOPLE = 5
_TOGETHER = 5  # in one load
PLACEHOLDER = "orders@shop.example"
NATIONAL = "0170 55500{n:02d}"
SPELLED = [
    "+49 170 55500{n:02d}",
    NATIONAL,
    "0049 170 55500{n:02d}",
    "+49 (0)170 55500{n:02d}",
    "tel:+49-170-55500{n:02d};ext=5",
    "\u202a+49\u00a0170\u201355500{n:02d}\u202c",
    "\uff0b\uff14\uff19 170 55500{n:02d}",
    "+49.170.55500{n:02d}",
    "(0)170\u201155500{n:02d}",
    "0170\u00ad55500{n:02d} (mobil)",
    "%2B49170 55500{n:02d}",
]
WRITTEN = [
    "p{n}@x.example",
    " P{n}@X.Example",
    "mailto:p{n}@x.example",
    "p\u200b{n}@x.example",
    "P {n} <p{n}@x.example>",
    "e-mail: p{n}@x.example;",
    "p{n}&#64;x.example",
]
PACKED: list[Callable[[str], str]] = [
    str,
    lambda text: json.dumps(json.dumps(text)),
    lambda text: quote(quote(text)),
    lambda text: "".join(f"&#x{ord(sign):x};" for sign in text),
    lambda text: base64.b64encode(text.encode()).decode(),
]
PERSON = st.integers(10, 9 + PEOPLE)
EVENT = st.tuples(
    PERSON,
    st.integers(1, 4),  # which of their orders
    st.sampled_from(SPELLED),
    st.sampled_from([*WRITTEN, PLACEHOLDER, None]),
    st.sampled_from(["order", "order", "broken", "packed", "no phone"]),
    st.sampled_from(PACKED),
)


def _land(world: World, events: list[tuple[int, int, str, str | None, str, Callable[[str], str]]]) -> None:
    for at in range(0, len(events), _TOGETHER):
        world.land("orders", [_document(*each) for each in events[at : at + _TOGETHER]])


def _has_phone(email: str | None, what: str) -> bool:
    return what != "no phone" or email not in WRITTEN


def _document(
    n: int, no: int, phone: str, email: str | None, what: str, packed: Callable[[str], str]
) -> dict[str, Any]:
    contact = {"email": email and email.format(n=n), "phone": phone.format(n=n)}
    if not _has_phone(email, what):
        contact["phone"] = "***"
    stated = dict.fromkeys(contact) if what == "packed" else contact
    document = (broken if what in {"broken", "packed"} else of)(n * 10 + no, **stated)
    return document | {
        "created_at": "2026-10-02T10:00:00Z",
        "user_name": f"Name{n}",
        "dispatch_note": packed(f"{contact['phone']} {contact['email']} {what}"),
    }


@pytest.mark.slow
@settings(
    max_examples=5, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(events=st.lists(EVENT, min_size=3, max_size=14), victim=PERSON, asked=st.sampled_from(SPELLED))
def test_erasure_takes_one_person_and_no_other(events: list[Any], victim: int, asked: str) -> None:
    """Nothing that the keys decrypt names her; of each other person every version and body is there; so of exports."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "place")
        world.configure(f'erasure_log = "{folder}/erasures.jsonl"\n')
        world.land("stores", [{"id": 1, "name": "Store 1", "timezone": "Europe/Berlin", "currency": "EUR"}])
        _land(world, events)
        settle_customers(world.settings)
        before = left(world).splitlines()
        stated = {
            n * 10 + no
            for n, no, _, email, what, _ in events
            if n == victim and what not in {"broken", "packed"} and _has_phone(email, what)
        }
        request = PersonRequest("phone", asked.format(n=victim))
        try:
            found = export(world.settings, request)
        except PrivacyError:
            assert not stated
            found = {"order_ids": []}
        else:
            erase(world.settings, request)
        assert stated <= set(found["order_ids"]) <= {victim * 10 + no for no in range(1, 5)}
        with suppress(PrivacyError):  # orders by e-mail alone are another customer's: asked for by that
            erase(world.settings, PersonRequest("email", f"p{victim}@x.example"))
        after = left(world).splitlines()
        assert not [line for line in after if f"Name{victim}" in line]
        assert sorted(line for line in before if f"Name{victim}" not in line) == sorted(filter(None, after))
        with open_vault(world.settings, filing_rule(world.settings)) as vault:
            for n in {each[0] for each in events} - {victim}:
                theirs = vault.erasing.of_contact("phone", SPELLED[0].format(n=n)).order_ids
                assert set(theirs) >= {m * 10 + no for m, no, *_, what, _ in events if m == n and what == "order"}
                assert {each // 10 for each in theirs} <= {n}
