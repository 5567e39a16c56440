"""A rotated vault opens with the new keys alone, holds the same, and finds the same customers; a kill loses nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.vault import Keys, PersonalData, Vault, VaultError, new_keys, rotate
from pipelines.vault import bodies as rotating
from tests.vault.test_vault import NOW

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NEW = Keys(os.urandom(32), os.urandom(32))
MANY = 1_205  # more than are rekeyed at once
PEOPLE = 1_100  # as many customers, some of whom have a later order alone


def _data(id_: int, phone: str, name: str) -> PersonalData:
    content = f'{{"/user_phone":"{phone}","/user_email":"{name}@x.example","/user_name":"{name}"}}'
    return PersonalData(id_, 0, phone, f"{name}@x.example", content.encode())


@pytest.fixture
def filled(path: Path, keys: Keys) -> list[str | None]:
    """Fill a vault: orders of many customers, one with two versions, a quarantined body; return customers' keys."""
    with Vault(path, keys) as vault:
        batch = [_data(n, f"+49{n % PEOPLE:06d}", f"n{n % PEOPLE}") for n in range(1, MANY)]
        found = vault.encrypt("orders", "load-1", batch)
        vault.encrypt("orders", "load-2", [_data(1, "+49000001", "other")])
        vault.encrypt("stores", "load-3", [PersonalData(1, 0, None, None, b'{"/owner":"x"}')])
        vault.refused.encrypt("orders", "load-1", [(7, b"a body")], NOW)
        return [each.customer_key for each in found]


def test_rotated_vault_holds_the_same(
    path: Path, keys: Keys, filled: list[str | None], sql: Callable[..., Any]
) -> None:
    """Contents, customers, quarantine and "unchanged" are as before, under the new keys only; no old hash is left."""
    before = {each for (each,) in sql("select hash from lookups")}
    (path.parent / "spool-orders").write_bytes(b"x")
    done = rotate(path, keys, NEW)
    assert (done.customers, done.versions, done.is_new) == (PEOPLE + 1, MANY + 1, True)
    assert not before & {each for (each,) in sql("select hash from lookups")}
    assert not (path.parent / "spool-orders").exists()
    with pytest.raises(VaultError, match=r"master_key is not the key .* rotated at"):
        Vault(path, keys)
    with Vault(path, NEW) as vault:
        assert not vault.filing.file_again()  # nobody's orders move
        assert len(before) == len(sql("select hash from lookups"))
        assert vault.decrypt("orders", 5)["/user_name"] == "n5"
        assert vault.decrypt("orders", 1)["/user_name"] == "other"
        assert vault.decrypt("orders", 1, at=("load-1", 0))["/user_name"] == "n1"
        assert vault.decrypt("stores", 1) == {"/owner": "x"}
        assert vault.refused.body(vault.refused.refs("orders")[0]) == b"a body"
        given = [_data(n, f"+49{n % PEOPLE:06d}", f"n{n % PEOPLE}") for n in range(2, MANY)]
        again = vault.encrypt("orders", "load-4", given)
        assert [each.customer_key for each in again] == filled[1:]
        assert sql("select count(*) from personal_data where load_id = 'load-4'") == [(0,)]  # digests are right, too


def test_rotating_again_changes_nothing(path: Path, keys: Keys, filled: list[str | None]) -> None:
    """The second time says when it was done, from the old keys' settings as from the new ones'."""
    assert filled
    first = rotate(path, keys, NEW)
    for given in (keys, NEW):
        again = rotate(path, given, NEW)
        assert (again.is_new, again.at) == (False, first.at)
    with pytest.raises(VaultError, match="neither"):
        rotate(path, keys, Keys(os.urandom(32), os.urandom(32)))


@pytest.mark.parametrize("point", ["decrypt", "encrypt"])
def test_killed_rotation_leaves_the_old_keys(
    path: Path, keys: Keys, filled: list[str | None], point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed among the rows, the vault is as it was; run again, it is rotated."""
    calls = 0

    def die(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 600:
            raise KeyboardInterrupt
        return real(*arguments)

    real = getattr(rotating, point)
    with monkeypatch.context() as patch:
        patch.setattr(rotating, point, die)
        with pytest.raises(KeyboardInterrupt):
            rotate(path, keys, NEW)
    with Vault(path, keys) as vault:
        assert vault.decrypt("orders", MANY - 1)["/user_name"] == f"n{(MANY - 1) % PEOPLE}"
        (same,) = vault.encrypt("orders", "load-9", [_data(MANY, "+49000003", "n3")])
        assert same.customer_key == filled[2]
    assert rotate(path, keys, NEW).is_new


def test_open_vault_writes_nothing_once_others_rotated_the_keys(path: Path, keys: Keys) -> None:
    """A receiver that read the old keys cannot encrypt with them any more: it says what to do."""
    with Vault(path, keys) as vault:
        vault.encrypt("orders", "load-1", [_data(1, "1", "a")])
        rotate(path, keys, NEW)
        with pytest.raises(VaultError, match="rotated meanwhile"):
            vault.refused.encrypt("webhooks", "webhooks", [(None, b"x")], NOW)
        with pytest.raises(VaultError, match="rotated meanwhile"):
            vault.encrypt("orders", "load-2", [_data(2, "2", "b")])


def test_new_key_file_is_made_once(tmp_path: Path) -> None:
    """A file that is there is read, so that a killed rotation goes on with the same keys."""
    file = tmp_path / "new.json"
    assert new_keys(file) == new_keys(file)
    assert file.stat().st_mode & 0o077 == 0
