"""Rows that somebody without the keys removed, moved or swapped are noticed; older vaults are bound and tallied."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.vault import Keys, Vault, VaultError
from pipelines.vault.bodies import CHECK, NONCE_BYTES, encrypt
from pipelines.vault.database import ROW, transaction
from tests.vault.test_rotation import _data
from tests.vault.test_vault import NOW

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ANN, BOB = "+49 170 4440001", "+49 170 4440002"


@pytest.fixture
def filled(vault: Vault) -> Vault:
    """Give a vault with two people; one corrected an order."""
    vault.encrypt("orders", "load-1", [_data(1, ANN, "ann"), _data(2, BOB, "bob"), _data(3, ANN, "ann")])
    vault.encrypt("orders", "load-2", [_data(1, ANN, "ann-new")])
    vault.tally_rows()
    assert vault.tally.broken() == []
    return vault


def _older(vault: Vault) -> None:
    """Make of a vault one that older code wrote."""
    for row in vault._db.execute(f"select {ROW} from personal_data").fetchall():
        content = vault.content_of(*row)
        key, cipher = vault._ciphers[row[3]]
        body = encrypt(cipher, content, f"{row[0]}/{row[1]}/{key}".encode())
        vault._db.execute("update personal_data set body = ? where id = ? and no = ?", (body, *row[1:3]))
    check = encrypt(vault._master, CHECK, CHECK)
    vault._db.execute("update meta set value = ? where name = 'master_check'", (check,))
    vault._db.execute("delete from meta where name in ('rows', 'key/rows')")


def _swap(sql: Callable[..., Any], *columns: str) -> None:
    """Swap values of the versions of order 1."""
    rows = sql(f"select no, {', '.join(columns)} from personal_data where id = 1 order by no")
    for (no, *_), (_, *values) in zip(rows, reversed(rows), strict=True):
        sets = ", ".join(f"{each} = ?" for each in columns)
        sql(f"update personal_data set {sets} where id = 1 and no = ?", *values, no)


@pytest.mark.parametrize("columns", [("body",), ("body", "digest"), ("load_id", "body"), ("load_id",), ("seq", "body")])
def test_swapped_versions_are_not_decrypted(filled: Vault, sql: Callable[..., Any], columns: tuple[str, ...]) -> None:
    """A version is bound to its number, load and place."""
    _swap(sql, *columns)
    with pytest.raises(VaultError, match="cannot be decrypted"):
        filled.decrypt("orders", 1)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("delete from personal_data where id = 1 and no = 2", "personal data: 3 rows instead of 4"),
        ("delete from personal_data where id = 2", "personal data: 3 rows instead of 4"),
        ("update personal_data set seq = 1 where id = 2", "personal data: other rows than were recorded"),
        ("update lookups set customer = 3 - customer", "lookups: other rows than were recorded"),
        ("insert into erased values ('orders', 2)", "erased: 1 rows instead of 0"),
        ("insert into shared select min(hash), 1 from lookups", "shared: 1 rows instead of 0"),
        ("delete from meta where name = 'rows'", "lookups: other rows than were recorded"),
        ("update meta set value = x'00' where name = 'key/rows'", "lookups: other rows than were recorded"),
    ],
)
def test_changes_without_the_keys_are_named(filled: Vault, sql: Callable[..., Any], change: str, named: str) -> None:
    """Also after whatever the vault itself writes next, until a person accepts the rows."""
    sql(change)
    assert named in filled.tally.broken()
    filled.encrypt("orders", "load-3", [_data(4, BOB, "bob")])
    assert filled.tally.broken()
    filled.accept_rows()
    assert filled.tally.broken() == []


def test_what_the_vault_changes_itself_is_tallied(filled: Vault, path: Path, keys: Keys) -> None:
    """Undone loads, erasures, orders filed again, a transaction that is rolled back, another connection's rows."""
    filled.undo("load-2")
    filled.filing.file_again()
    with suppress(KeyError), transaction(filled._db):
        filled._db.execute("delete from personal_data")
        raise KeyError
    with Vault(path, keys) as other:
        other.encrypt("orders", "load-3", [_data(5, "+49 170 4440005", "eve")])
        other.erasing.erase((), [3])
    filled.encrypt("orders", "load-4", [_data(6, BOB, "bob")])
    assert filled.tally.broken() == []


def test_swapped_lookups_show_the_right_person(filled: Vault, sql: Callable[..., Any]) -> None:
    """Orders are read where the hashes cannot be trusted."""
    sql("update lookups set customer = 3 - customer")
    assert filled.erasing.of_contact("phone", ANN).order_ids == [1, 3]
    assert filled.erasing.of_contact("phone", BOB).order_ids == [2]


def test_one_lookup_of_a_person_is_gone(filled: Vault, sql: Callable[..., Any]) -> None:
    """Nobody is told that nothing but the other's is held."""
    sql("delete from lookups where customer = 1")
    assert filled.erasing.of_contact("phone", ANN).order_ids == [1, 3]


def test_older_vault_is_read_bound_and_tallied(filled: Vault, path: Path, keys: Keys, sql: Callable[..., Any]) -> None:
    """Its versions are bound to their numbers once, and it is tallied from then on."""
    _older(filled)
    with Vault(path, keys) as old:
        assert old.decrypt("orders", 1)["/user_name"] == "ann-new"
        assert old.tally.broken() == []
        old.encrypt("orders", "load-3", [_data(3, ANN, "ann-later")])
        assert old.erasing.of_contact("phone", ANN).order_ids == [1, 3]
        old.tally_rows()
        assert old.tally.broken() == []
        assert old.decrypt("orders", 3)["/user_name"] == "ann-later"
        assert old.decrypt("orders", 1, at=("load-1", 0))["/user_name"] == "ann"
        filled.encrypt("orders", "load-4", [_data(8, BOB, "bob")])  # a connection from before
        assert old.tally.broken() == []
        _swap(sql, "body")
        with pytest.raises(VaultError, match="cannot be decrypted"):
            old.decrypt("orders", 1)


def test_a_tallied_vault_takes_no_body_of_an_older_one(filled: Vault, path: Path, keys: Keys) -> None:
    """One that somebody kept from before cannot be put in the place of another version."""
    body = None
    for row in filled._db.execute(f"select {ROW} from personal_data where id = 1 and no = 1").fetchall():
        key, cipher = filled._ciphers[row[3]]
        body = encrypt(cipher, filled.content_of(*row), f"orders/1/{key}".encode())
    filled._db.execute("update personal_data set body = ? where id = 1 and no = 2", (body,))
    with Vault(path, keys) as again, pytest.raises(VaultError, match="cannot be decrypted"):
        again.decrypt("orders", 1)


@pytest.mark.parametrize("change", ["asked = 8", "kind = 'menus'"])
def test_refused_body_is_bound_to_its_order(vault: Vault, sql: Callable[..., Any], change: str) -> None:
    """A body that was moved to another order's id is nobody's, and holds up no other's erasure; older ones open."""
    (ref,) = vault.refused.encrypt("orders", "load", [(7, b"a body")], NOW)
    sql(f"update refused set {change}")
    with pytest.raises(VaultError, match="cannot be decrypted"):
        vault.refused.open(ref)
    assert vault.erasing.of_order(8).refused == ()
    assert vault.erasing.erase((), [8]).unread == 1
    (wrapped,) = sql("select wrapped from refused")[0]
    key = AESGCM(vault._master.decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], f"refused/{ref}".encode()))
    sql("update refused set body = ?", encrypt(key, b"older", f"refused/{ref}".encode()))
    assert vault.refused.body(ref) == b"older"


def test_a_load_that_is_committed_meanwhile_is_no_change(filled: Vault, path: Path, keys: Keys) -> None:
    """The tally and the rows are of one moment, as a night may land orders while somebody looks."""
    landed: list[str] = []

    def land(statement: str) -> None:
        if " from personal_data" in statement and not landed:
            landed.append(statement)
            other.encrypt("orders", "load-3", [_data(5, "+49 170 4440005", "eve")])

    with Vault(path, keys) as other:
        filled._db.set_trace_callback(land)
        assert filled.tally.broken() == []
        filled._db.set_trace_callback(None)
        assert landed
    assert filled.tally.broken() == []
