"""Orders are filed under the customer that the rule gives them, also those that another rule filed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.vault import Keys, Rule, Vault
from pipelines.vault.database import ROW
from tests.vault.test_vault import _data

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PLACEHOLDER = "orders@shop.example"


def _keys(vault: Vault, ids: range) -> list[str]:
    query = "select customer_key from personal_data join customers on n = customer where id = ? order by no desc"
    return [vault._db.execute(query, (each,)).fetchone()[0] for each in ids]


def test_email_of_somebody_else_joins_nobody(vault: Vault) -> None:
    """A person who orders with their own number and another's address is themselves, and finds their order alone."""
    own, other = vault.encrypt(
        "orders", "load", [_data(1, "+49 151 7000001", "a@x.example"), _data(2, "+49 151 7000002", "a@x.example")]
    )
    assert own.customer_key != other.customer_key
    assert vault.erasing.of_contact("phone", "+49 151 7000002").order_ids == [2]
    assert vault.erasing.of_contact("email", "a@x.example").order_ids == [1, 2]


def test_placeholders_join_nobody_also_backwards(vault: Vault) -> None:
    """One number or address of many people identifies nobody: what it joined before that was known comes apart."""
    by_phone = [_data(n, "+18005550199", f"p{n}@x.example") for n in range(1, 41)]
    by_email = [_data(n, None if n == 50 else f"+49 151 70000{n}", PLACEHOLDER) for n in range(50, 90)]
    for each in (*by_phone, *by_email):  # a batch each: the first are joined
        vault.encrypt("orders", "load", [each])
    assert len(set(_keys(vault, range(1, 4)))) == 1
    assert vault.filing.file_again()
    assert len(set(_keys(vault, range(1, 41)))) == 40
    assert len(set(_keys(vault, range(50, 90)))) == 40
    assert {1, 2, 3} >= vault.filing.moved().keys() != set()
    vault.filing.settle()
    assert not vault.filing.file_again()
    assert vault.erasing.is_shared("phone", "+1 800 555 0199")
    assert vault.erasing.of_contact("email", "p7@x.example").order_ids == [7]
    vault.erasing.erase([], [7])
    assert not any(vault.erasing.of_contact("email", "p7@x.example"))
    assert all(vault.decrypt("orders", n)["/user_email"] for n in range(1, 41) if n != 7)


def test_customers_that_an_older_version_joined_come_apart(
    vault: Vault, path: Path, keys: Keys, sql: Callable[..., Any]
) -> None:
    """A vault in which everybody was filed under the first customer is filed by today's rule."""
    people = [_data(n, f"+49 151 70000{n % 12 + 10}", PLACEHOLDER, name=str(n)) for n in range(1, 25)]
    vault.encrypt("orders", "load", people)
    for (n,) in sql("select n from customers where n > 1 order by n"):
        for row in sql(f"select {ROW} from personal_data where customer = ?", n):
            again = vault._again(*row[:3], 1, *row[4:6], vault.content_of(*row))
            sql("update personal_data set customer = 1, body = ? where id = ?", again, row[1])
    for each in (
        "delete from lookups where customer > 1",
        "update lookups set owns = 0 where hash in (select min(hash) from lookups)",
        "delete from pairs",
        "delete from shared",
        "delete from meta where name = 'rule'",
        "delete from customers where n > 1",
    ):
        sql(each)
    with Vault(path, keys) as old:
        assert len(set(_keys(old, range(1, 25)))) == 1
        assert old.filing.file_again()
        found = _keys(old, range(1, 25))
        assert len(set(found)) == 12
        assert found[:12] == found[12:]
        assert old.decrypt("orders", 17)["/name"] == "17"
        assert old.erasing.of_contact("phone", "+49 151 7000011").order_ids == [1, 13]
        assert old.filing.moved()[2] == [(("load", 0), found[1])]


def test_country_of_stores_joins_spellings(vault: Vault, path: Path, keys: Keys) -> None:
    """A national number is one with the international one once the store's country is known."""
    vault.encrypt("orders", "load", [_data(1, "0170 1234567"), _data(2, "+49 170 1234567")])
    assert vault.filing.file_again() is False
    with Vault(path, keys, rule=Rule(countries={1: "DE"})) as known:
        assert known.filing.file_again()
        assert len(set(_keys(known, range(1, 3)))) == 1
    with Vault(path, keys, rule=Rule(countries={1: "DE", 2: "FR"}, store_of={1: 2, 2: 1}.get)) as several:
        several.filing.file_again()
        assert len(set(_keys(several, range(1, 3)))) == 2
        assert several.erasing.of_contact("phone", "+33 170 1234567").order_ids == [1]


def test_order_that_lands_again_before_it_is_filed_again_has_one_customer(vault: Vault) -> None:
    """Raw files get the customer of the load; the row follows, or the raw file does."""
    for n in range(1, 5):
        vault.encrypt("orders", "load", [_data(n, "+18005550199", f"p{n}@x.example")])
    vault.encrypt("orders", "load-2", [_data(1, "+18005550199", "p1@x.example")])
    vault.filing.file_again()
    assert vault.filing.moved()[1] == [(("load", 0), _keys(vault, range(1, 2))[0])]
