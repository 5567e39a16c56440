"""A person is asked for by a contact: exactly their orders and bodies are shown and erased, everybody else is whole."""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

import pytest

from pipelines.backup import accept_losses, compare
from pipelines.clock import utc_now
from pipelines.inbox.store import serialized
from pipelines.inventory import record_stores
from pipelines.landing.customers import settle_customers
from pipelines.landing.data_folder import erasures_state
from pipelines.landing.load import Load
from pipelines.landing.raw_folder import read_rows
from pipelines.ledger import current_user
from pipelines.privacy import Facts, PersonRequest, PrivacyError, erase, export, reveal
from pipelines.vault import VaultError, open_vault
from pipelines.vault.database import ROW
from tests.backup.conftest import order
from tests.privacy.conftest import World

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = "+49 170 2220005", "+49 170 2220006"


@pytest.fixture
def empty(tmp_path: Path) -> World:
    """Give a folder with a store in Germany."""
    world = World(tmp_path / "place")
    world.configure(f'erasure_log = "{tmp_path / "elsewhere" / "erasures.jsonl"}"\n')
    world.land("stores", [{"id": 1, "name": "Store 1", "timezone": "Europe/Berlin", "currency": "EUR"}])
    return world


def of(order_id: int, phone: str | None, email: str | None = None, name: str = "Dora", **fields: Any) -> dict[str, Any]:
    """Return an order of a person."""
    return order(order_id, user_phone=phone, user_email=email, user_name=name, **fields)


def broken(order_id: int, phone: str | None, email: str | None = None) -> dict[str, Any]:
    """Return a document that no shape accepts, which is quarantined."""
    return of(order_id, phone, email) | {"tip": "x"}


def left(world: World) -> str:
    """Return everything that the keys decrypt."""
    with open_vault(world.settings) as vault:
        rows = vault._db.execute(f"select {ROW} from personal_data").fetchall()
        texts = [vault.content_of(*row).decode() for row in rows]
        refs = [ref for (ref,) in vault._db.execute("select ref from refused")]
        return "\n".join([*texts, *((vault.refused.body(ref) or b"").decode() for ref in refs)])


def asked(world: World, found_by: Any, value: str) -> list[tuple[int, int]]:
    """Return the orders and versions that an export shows."""
    found = export(world.settings, PersonRequest(found_by, value))
    return [(each["id"], each["version"]) for each in found["personal_data"]]


@pytest.mark.parametrize("number", [OLD, NEW, "0170/2220005", "tel:+49-170-2220006"])
def test_all_versions_of_an_order_are_erased_whoever_they_were_filed_under(empty: World, number: str) -> None:
    """An order whose number was corrected is gone by either number, in any spelling; the keys find nothing of it."""
    empty.land("orders", [of(5, OLD), of(9, "+49 170 1", name="Carl")])
    empty.land("orders", [of(5, NEW)])
    assert asked(empty, "phone", number) == [(5, 1 if "5" in number[-2:] else 2)]
    erase(empty.settings, PersonRequest("phone", number))
    assert "Dora" not in left(empty)
    assert "Carl" in left(empty)
    for each in (OLD, NEW):
        with pytest.raises(PrivacyError, match="holds no personal data"):
            asked(empty, "phone", each)
    with open_vault(empty.settings) as vault, pytest.raises(VaultError, match="erased"):
        vault.decrypt("orders", 5)


def test_an_order_corrected_to_another_person_leaves_that_persons_orders(empty: World) -> None:
    """By --order-id that order goes, in all versions, and nothing else of either person."""
    ann, bert = "+49 170 2220001", "+49 170 2220002"
    empty.land("orders", [of(1, ann, name="Ann"), of(2, ann, name="Ann"), of(3, ann, name="Ann")])
    empty.land("orders", [of(3, bert, name="Bert"), of(4, bert, name="Bert")])
    assert asked(empty, "phone", ann) == [(1, 1), (2, 1), (3, 1)]  # not Bert's version
    erase(empty.settings, PersonRequest("order_id", "3"))
    assert asked(empty, "phone", ann) == [(1, 1), (2, 1)]
    assert asked(empty, "phone", bert) == [(4, 1)]


def test_an_id_that_comes_back_without_a_contact_is_another_persons(empty: World) -> None:
    """Another name without a contact is nobody's who was known, also filed again; no name is the same one's."""
    empty.land("orders", [of(4, OLD, name="Ann"), of(5, NEW, name="Cleo")])
    empty.land("orders", [of(4, None, name="Somebody Else"), of(5, None, name="")])
    empty.land("orders", [of(4, "+49 170 2220009", name="Third")])
    for _ in range(2):
        assert (asked(empty, "phone", OLD), asked(empty, "phone", NEW)) == ([(4, 1)], [(5, 1), (5, 2)])
        with open_vault(empty.settings) as vault:
            customers = vault._db.execute(
                "select id, count(distinct customer) from personal_data group by 1"
            ).fetchall()
            assert customers == [(4, 3), (5, 1)]
            vault.accept_rows()
        settle_customers(empty.settings)
    erase(empty.settings, PersonRequest("phone", OLD))
    assert "Somebody" not in left(empty)


def test_an_older_vault_says_of_nobody_that_there_is_no_such_person(empty: World) -> None:
    """A vault.sqlite from before an order that was landed: it is an older version, and shows nothing."""
    empty.land("orders", [of(4, OLD, name="Ann")])
    vault = empty.data / "vault" / "vault.sqlite"
    with closing(sqlite3.connect(vault)) as db:
        db.execute("pragma wal_checkpoint(truncate)")
    older = vault.read_bytes()
    empty.land("orders", [of(6, NEW, name="Eve")])
    record_stores(empty.data)
    for file in vault.parent.glob("vault.sqlite*"):
        file.unlink()
    vault.write_bytes(older)
    for show in (
        lambda: reveal(empty.settings, 6, "a test"),
        lambda: export(empty.settings, PersonRequest("phone", NEW)),
        lambda: export(empty.settings, PersonRequest("phone", OLD)),
    ):
        with pytest.raises(PrivacyError, match=r"an older version.*`ordermart inventory` says what to do"):
            show()


def test_several_people_are_confirmed(empty: World) -> None:
    """What was found is counted before anything is shown; two names or numbers need the number of orders."""
    seen: list[Facts] = []
    empty.land("orders", [of(1, "+49 151 7000001", "a@x.example"), of(2, "+49 151 7000002", "a@x.example", "Mallory")])
    export(empty.settings, PersonRequest("email", "a@x.example"), confirm=seen.append)
    facts = seen[0]
    assert (facts.order_ids, facts.stores, facts.phones, facts.emails, facts.names) == ([1, 2], 1, 2, 1, 2)
    assert facts.first_day <= facts.last_day != ""
    with pytest.raises(PrivacyError, match="--orders 2"):
        facts.confirm(None)
    with pytest.raises(PrivacyError, match="the number of orders is 2"):
        facts.confirm(1)
    facts.confirm(2)
    assert asked(empty, "phone", "+49 151 7000002") == [(2, 1)]


def test_contact_of_many_people_finds_nobody(empty: World) -> None:
    """It says so, and what to ask by; each of them is found by their own contact alone."""
    empty.land("orders", [of(n, f"+49 151 700000{n}", "orders@shop.example", f"P{n}") for n in range(1, 7)])
    for contact in ("orders@shop.example", "noreply@shop.example"):
        with pytest.raises(PrivacyError, match="identifies nobody"):
            erase(empty.settings, PersonRequest("email", contact))
    erase(empty.settings, PersonRequest("phone", "+49 151 7000003"))
    assert [f"P{n}" in left(empty) for n in range(1, 7)] == [True, True, False, True, True, True]


def test_a_person_who_is_only_in_quarantine_is_found_shown_and_erased(empty: World) -> None:
    """By a contact in any spelling, or by the order; another's body stays."""
    for each in (broken(30, "0170 5550030", "onlyq@x.example"), broken(31, "0170 5550031")):
        empty.land("orders", [each])
    found = export(empty.settings, PersonRequest("email", "OnlyQ@x.example"))
    assert [json.loads(each["body"])["id"] for each in found["quarantined_bodies"]] == [30]
    done = erase(empty.settings, PersonRequest("phone", "+49 170 5550030"))
    assert (done.destroyed.quarantined, done.entry and done.entry.body["order_ids"]) == (1, [])
    assert "onlyq" not in left(empty)
    assert "5550031" in left(empty)
    assert erase(empty.settings, PersonRequest("order_id", "31")).destroyed.quarantined == 1
    assert "5550031" not in left(empty)


def test_broken_copy_of_an_erased_order_is_emptied_on_arrival(empty: World) -> None:
    """From a file, where nobody asked for it, as much as fetched; so is a whole one's personal data."""
    empty.land("orders", [of(7, OLD, "dora@x.example")])
    erase(empty.settings, PersonRequest("phone", OLD))
    with open_vault(empty.settings) as vault, Load(empty.settings, vault, "orders", "archive") as load:
        bad = json.dumps(broken(7, OLD)).encode()
        wrapped = json.dumps({"data": [broken(7, OLD)]}).encode()
        for body in (
            bad,
            b"\xff" + bad,
            bad[:-4],
            json.dumps(bad.decode()).encode(),
            wrapped,
            json.dumps(of(7, OLD)).encode(),
        ):
            load.validate(body)
        assert load.commit().counts["quarantined"] == 5
    assert "Dora" not in left(empty)


def deliveries(order_id: int) -> dict[str, bytes]:
    """Return the bodies of webhooks of which no setting tells the id, each with the whole order of Dora in it."""
    whole = of(order_id, OLD, "dora@x.example")
    text = json.dumps(whole)
    packed = base64.b64encode(gzip.compress(text.encode())).decode()
    events = {
        "an envelope": {"id": 555, "type": "orders.paid", "data": {"object": whole}},
        "other words": {"id": 556, "notification": {"payload": [whole]}},
        "text in text": {"id": 557, "Records": [{"Sns": {"Message": json.dumps({"order": whole})}}]},
        "packed": {"message": {"data": packed}},
    }
    form = "&".join(f"{name}={quote_plus(str(whole[name]))}" for name in ("id", "user_name", "user_phone"))
    bodies = {
        "the order": text.encode(),
        "cut": text[:-7].encode(),
        "in an array": f"[{text}]".encode(),
        "gzip": gzip.compress(text.encode()),
        "gzip, cut": gzip.compress(text.encode())[:-9],
        "UTF-16": text.encode("utf-16"),
        "a form of JSON": b"payload=" + quote_plus(text).encode(),
        "a form": form.encode(),
        "Python": repr(whole).encode(),
        "XML": f"<order><id>{order_id}</id><user_name>Dora</user_name></order>".encode(),
        "base 32": base64.b32encode(text.encode()),
        "base 85": base64.b85encode(text.encode()),
        "UTF-7": text.encode("utf-7"),
        "octal": "".join(f"\\{byte:03o}" for byte in text.encode()).encode(),
        **{name: json.dumps(event).encode() for name, event in events.items()},
        "a broken envelope": json.dumps(events["other words"]).encode()[:-4],
    }
    headers = {b"content-type": b"application/json", b"content-encoding": b"gzip", b"x-signature": b"abc"}
    return {name: serialized(headers, body) for name, body in bodies.items()}


def test_deliveries_of_an_erased_order_are_emptied_on_arrival(empty: World) -> None:
    """Bodies of webhooks, broken, packed, in envelopes; those of another order are kept, and found until it goes."""
    empty.land("orders", [of(7, OLD, "dora@x.example"), of(8, NEW)])
    erase(empty.settings, PersonRequest("phone", OLD))
    for order_id in (7, 8):
        sent = deliveries(order_id)
        with open_vault(empty.settings) as vault:
            refs = vault.refused.encrypt("webhooks", "webhooks", ((None, body) for body in sent.values()), utc_now())
            kept = {name for name, ref in zip(sent, refs, strict=True) if vault.refused.body(ref)}
        assert kept == (set() if order_id == 7 else sent.keys())
    assert erase(empty.settings, PersonRequest("order_id", "8")).destroyed.quarantined == len(sent)
    assert "Dora" not in left(empty)


def test_body_that_cannot_be_read_is_counted(empty: World) -> None:
    """The receipt says how many are left of which nobody knows whose they are."""
    empty.land("orders", [of(7, OLD)])
    with open_vault(empty.settings) as vault, Load(empty.settings, vault, "orders", "archive") as load:
        load.validate(bytes(range(256)))
        load.commit()
    assert erase(empty.settings, PersonRequest("phone", OLD)).destroyed.unread == 1


def test_raw_files_follow_customers_that_come_apart(empty: World) -> None:
    """People of one support line were one customer until there were too many; then each order has its own key."""
    for n in range(1, 6):
        empty.land("orders", [of(n, "+18005550199", f"p{n}@x.example", f"P{n}")])
    assert len(set(_raw_keys(empty))) < 5
    settle_customers(empty.settings)
    keys = _raw_keys(empty)
    assert (len(keys), len(set(keys))) == (5, 5)
    assert erasures_state(empty.data).startswith("customers ")  # the tables are made again
    settle_customers(empty.settings)
    assert _raw_keys(empty) == keys
    empty.land("orders", [of(n, "+18005550199", f"p{n}@x.example", f"P{n}") for n in range(1, 6)])
    assert sorted(_raw_keys(empty)) == sorted([*keys, *keys])


def test_export_files_orders_of_an_older_version_first(empty: World) -> None:
    """A placeholder that an older version did not know as one shows nobody; everybody is found by their number."""
    empty.land("orders", [of(n, f"+49 151 700000{n}", "orders@shop.example", f"P{n}") for n in range(1, 6)])
    with open_vault(empty.settings) as vault:
        for table in ("shared", "pairs", "lookups", "meta where name = 'rule'"):
            vault._db.execute(f"delete from {table}")
    with pytest.raises(PrivacyError, match="identifies nobody"):
        export(empty.settings, PersonRequest("email", "orders@shop.example"))
    assert asked(empty, "phone", "0049 151 7000003") == [(3, 1)]


def test_person_is_found_without_lookup_hashes(empty: World) -> None:
    """Nobody is told that nothing is held of them because a vault lost hashes."""
    empty.land("orders", [of(1, OLD), of(2, NEW)])
    with open_vault(empty.settings) as vault:
        vault._db.execute("delete from lookups")
    assert asked(empty, "phone", NEW) == [(2, 1)]
    erase(empty.settings, PersonRequest("phone", NEW))
    assert OLD in left(empty)
    assert NEW not in left(empty)


def _raw_keys(world: World) -> list[str]:
    return [key for (key,) in read_rows(world.data, "orders", "observations", ("customer_key",))]


def test_swapped_and_deleted_rows_show_nobody_else(empty: World) -> None:
    """Lookup hashes swapped: the right person is found. A version deleted: nothing is shown or destroyed, and named."""
    empty.land("orders", [of(1, OLD), of(2, NEW)])
    empty.land("orders", [of(1, OLD, name="Later")])
    settle_customers(empty.settings)
    record_stores(empty.data)
    vault = empty.data / "vault" / "vault.sqlite"
    _outside(vault, "update lookups set customer = 3 - customer")
    assert asked(empty, "phone", NEW) == [(2, 1)]
    named = compare(empty.settings).assess().against
    assert any("rows were changed without its keys: lookups" in each for each in named)
    _outside(vault, "update lookups set customer = 3 - customer")
    assert compare(empty.settings).assess().against == []
    _outside(vault, "delete from personal_data where no = 2")
    for act in (export, erase):
        with pytest.raises(PrivacyError, match="personal data: 2 rows instead of 3"):
            act(empty.settings, PersonRequest("phone", OLD))
    with pytest.raises(PrivacyError, match="changed without its keys"):
        reveal(empty.settings, 1, "a test")
    assert any("personal data: 2 rows instead of 3" in each for each in compare(empty.settings).assess().against)
    accept_losses(empty.settings, "a test", current_user())
    assert compare(empty.settings).assess().against == []
    assert asked(empty, "phone", OLD) == [(1, 1)]


def _outside(vault: Path, statement: str) -> None:
    with closing(sqlite3.connect(vault)) as db, db:
        db.execute(statement)
