"""Personal data are decrypted with the keys, in their own place only, until the customer's key is deleted."""

from __future__ import annotations

import datetime as dt
import json
import os
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.vault import Keys, PersonalData, Vault, VaultError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW = dt.datetime(2026, 10, 1, tzinfo=dt.UTC)


def _data(number: int, phone: str | None = None, email: str | None = None, seq: int = 0, **more: Any) -> PersonalData:
    content = {"/user_phone": phone, "/user_email": email, **{f"/{k}": v for k, v in more.items()}}
    held = {pointer: value for pointer, value in content.items() if value is not None}
    return PersonalData(number, seq, phone, email, json.dumps(held).encode())


@pytest.mark.slow
@given(
    values=st.dictionaries(st.text(max_size=5).map("/{}".format), st.one_of(st.text(), st.integers(), st.booleans()))
)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_encrypted_data_are_decrypted(vault: Vault, values: dict[str, Any]) -> None:
    """Every text, number and name of a pointer comes back as it was."""
    vault.encrypt("orders", "load", [PersonalData(1, 0, None, None, json.dumps({"/a": 1} | values).encode())])
    assert vault.decrypt("orders", 1) == {"/a": 1} | values


def test_numbers_keep_every_digit(vault: Vault) -> None:
    """A fraction comes back as a Decimal, and as text where not even that holds it."""
    vault.encrypt(
        "orders", "load", [PersonalData(1, 0, None, None, b'{"/a":40.802554599183225,"/b":1e99999999999999999999}')]
    )
    assert vault.decrypt("orders", 1) == {"/a": Decimal("40.802554599183225"), "/b": "1e99999999999999999999"}


def test_empty_personal_data_leave_no_row(vault: Vault) -> None:
    """A document without personal content leaves no row and has no customer."""
    (encrypted,) = vault.encrypt("orders", "load", [PersonalData(1, 0, None, None, b"{}")])
    assert (encrypted.customer_key, encrypted.changed) == (None, [])
    assert vault.decrypt("orders", 1) == {}


PEOPLE = [
    ("+1 (212) 555-0100", None, "+12125550100", None, True),
    ("212 555 0100", None, "2125550100", None, True),
    ("+12125550100", None, "12125550100", None, False),
    (None, " Ann@Example.COM ", None, "ann@example.com", True),
    ("1", "ann@example.com", "2", "ann@example.com", False),
    ("*", "ann@example.com", None, "ann@example.com", True),
    ("1", "ann@example.com", "1", "bob@example.com", True),
    ("n/a", None, "n/a", None, False),
    ("", " ", "", " ", False),
]


@pytest.mark.parametrize(("phone", "email", "other_phone", "other_email", "is_same"), PEOPLE)
def test_a_customer_is_found_by_phone_or_email(
    vault: Vault, phone: str | None, email: str | None, other_phone: str | None, other_email: str | None, is_same: bool
) -> None:
    """Normalised phones and e-mails lead to the same customer, within a batch and from one batch to the next."""
    batch = [_data(1, phone, email, name="a"), _data(2, other_phone, other_email, name="a")]
    together = vault.encrypt("orders", "load", batch)
    (later,) = vault.encrypt("orders", "load", [_data(3, other_phone, other_email, name="a")])
    assert (together[0].customer_key == together[1].customer_key) is is_same
    assert (later.customer_key == together[1].customer_key) is (
        is_same or bool(other_phone and other_phone[-1:].isdigit())
    )


def test_the_phone_decides_where_phone_and_email_disagree(vault: Vault) -> None:
    """An order is filed under its phone's customer, and is found by its e-mail as well from then on."""
    first, second = vault.encrypt("orders", "load", [_data(1, "1"), _data(2, None, "ann@example.com")])
    (both,) = vault.encrypt("orders", "load", [_data(3, "1", "ann@example.com")])
    assert first.customer_key != second.customer_key
    assert both.customer_key == first.customer_key


@pytest.mark.parametrize("is_one_batch", [True, False])
def test_changed_phone_is_another_customer(vault: Vault, *, is_one_batch: bool) -> None:
    """An order whose phone changed is its new owner's; one that lost its phone and e-mail stays its last owner's."""
    versions = [
        _data(1, "1", name="a"),
        _data(1, "2", name="a", seq=1),
        _data(1, name="b", seq=2),
        _data(2, "1", name="a", seq=3),
    ]
    batches = [versions] if is_one_batch else [[each] for each in versions]
    keys = [each.customer_key for batch in batches for each in vault.encrypt("orders", "load", batch)]
    assert keys[0] != keys[1]
    assert (keys[2], keys[3]) == (keys[1], keys[0])


def test_a_row_is_added_only_when_the_content_changed(vault: Vault, sql: Callable[..., list[Any]]) -> None:
    """The same content again adds nothing; other content adds a row and names the differences."""
    encrypt = vault.encrypt
    encrypt("orders", "load-1", [_data(1, "1", name="a", note="x")])
    encrypt("orders", "load-2", [_data(1, "1", name="a", note="x")])
    (changed,) = encrypt("orders", "load-3", [_data(1, "1", name="b")])
    twice = encrypt("orders", "load-4", [_data(1, "1", name="c"), _data(1, "1", name="c", seq=1)])
    assert changed.changed == ["name", "note"]
    assert [each.changed for each in twice] == [["name"], []]
    assert sql("select no, load_id from personal_data order by no") == [(1, "load-1"), (2, "load-3"), (3, "load-4")]
    assert vault.decrypt("orders", 1, at=("load-2", 0))["/name"] == "a"


def test_deleting_the_wrapped_key_erases_a_customer(
    vault: Vault, path: Path, keys: Keys, sql: Callable[..., list[Any]]
) -> None:
    """Without the wrapped key nothing of that customer opens, others do, and the customer gets a new key."""
    ann, _ = vault.encrypt("orders", "load", [_data(1, "1", name="a"), _data(2, "2", name="b")])
    sql("update customers set wrapped = null where customer_key = ?", ann.customer_key)
    with Vault(path, keys) as again:
        with pytest.raises(VaultError, match="erased"):
            again.decrypt("orders", 1)
        assert again.decrypt("orders", 2)["/name"] == "b"
        (again_known,) = again.encrypt("orders", "load-2", [_data(1, "1", name="c")])
        assert again_known.customer_key not in {None, ann.customer_key}
        assert again.decrypt("orders", 1)["/name"] == "c"


@pytest.mark.parametrize("change", ["id = 3", "kind = 'menus'", "customer = 2"])
def test_moved_row_is_not_decrypted(vault: Vault, sql: Callable[..., list[Any]], change: str) -> None:
    """A row that was moved to another document or customer cannot be decrypted."""
    vault.encrypt("orders", "load", [_data(1, "1", name="a"), _data(2, "2", name="b")])
    sql(f"update personal_data set {change} where id = 1")
    kind, number = ("menus" if "menus" in change else "orders"), (3 if "id = 3" in change else 1)
    with pytest.raises(VaultError, match="cannot be decrypted"):
        vault.decrypt(kind, number)


def test_refused_bodies_come_back_until_purged(vault: Vault, sql: Callable[..., list[Any]]) -> None:
    """A refused body opens by its reference, is forgotten on request and after its days, and leaves no row."""
    old, new = (
        vault.refused.encrypt("orders", "load", [(7, b"\xff body")], NOW + dt.timedelta(days))[0] for days in (0, 20)
    )
    refused = vault.refused.open(old)
    assert refused is not None
    assert (refused.kind, refused.asked, refused.body) == ("orders", 7, b"\xff body")
    assert vault.refused.refs("orders") == [old, new]
    assert vault.refused.purge(NOW + dt.timedelta(31)) == 1
    assert vault.refused.open(old) is None
    vault.refused.forget([new])
    assert sql("select count(*) from refused") == [(0,)]


def test_a_load_that_was_not_finished_is_undone(vault: Vault) -> None:
    """What an unfinished load encrypted is removed, and the previous version is current again."""
    vault.encrypt("orders", "load-1", [_data(1, "1", name="a")])
    vault.begin("load-2", "orders")
    vault.encrypt("orders", "load-2", [_data(1, "1", name="b")])
    (ref,) = vault.refused.encrypt("orders", "load-2", [(None, b"x")], NOW)
    assert vault.open_loads("orders") == ["load-2"]
    vault.undo("load-2")
    assert vault.decrypt("orders", 1)["/name"] == "a"
    assert vault.refused.open(ref) is None
    assert vault.open_loads("orders") == []
    (encrypted,) = vault.encrypt("orders", "load-3", [_data(1, "1", name="b")])
    assert encrypted.changed == ["name"]


def test_what_is_deleted_is_overwritten(vault: Vault, path: Path) -> None:
    """After a customer's key and a body were deleted and the vault closed, their bytes are in none of its files."""
    (ref,) = vault.refused.encrypt("orders", "load", [(None, b"x" * 3000)], NOW)
    (body,) = vault._db.execute("select body from refused").fetchone()
    vault.refused.forget([ref])
    vault.close()
    assert body[100:200] not in b"".join(each.read_bytes() for each in path.parent.iterdir())


def test_only_its_owner_can_read_the_vault(vault: Vault, path: Path) -> None:
    """The file is of mode 600 in a folder of mode 700."""
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_other_keys_are_refused_at_once(vault: Vault, path: Path, keys: Keys) -> None:
    """A vault opened with another master key or lookup secret names the setting that is wrong."""
    vault.encrypt("orders", "load", [_data(1, "1")])
    with pytest.raises(VaultError, match=r"\[vault\] master_key"):
        Vault(path, Keys(os.urandom(32), keys.lookup))
    with pytest.raises(VaultError, match=r"\[vault\] lookup_secret"):
        Vault(path, Keys(keys.master, os.urandom(32)))
    assert "Keys(…)" in repr(keys)


def test_an_erasure_leaves_no_lookup_hash_body_or_spool(
    vault: Vault, path: Path, sql: Callable[..., list[Any]]
) -> None:
    """Of the customer; a quarantined body that was requested as their order goes though it holds no contact data."""
    vault.encrypt("orders", "load", [_data(1, "+49 301 111111", "ann@x.example"), _data(2, "+49 302 222222")])
    own, other = vault.refused.encrypt("orders", "load", [(1, b"no contact"), (2, b"of another")], NOW)
    (path.parent / "spool-orders").write_bytes(b"answers of a killed run")
    others = {each for (each,) in sql("select hash from lookups where customer = 2")}
    done = vault.erasing.erase([], vault.erasing.of_order(1).order_ids)
    assert (done.customers, done.versions, done.quarantined) == (1, 1, 1)
    assert {each for (each,) in sql("select hash from lookups")} == others
    assert vault.refused.open(own) is None
    assert vault.refused.open(other) is not None
    assert not (path.parent / "spool-orders").exists()
    vault.erasing.erase([], [2])
    assert vault.refused.open(other) is None, "an order without a customer, too"
