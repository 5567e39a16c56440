"""The ledger's head is signed after each entry and kept in three places: rewriting the chain is noticed."""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.backup.comparing import compare
from pipelines.inventory import (
    COPY,
    INVENTORY,
    Inventory,
    LedgerHead,
    changing,
    read_inventory,
    write_inventory,
    write_noted,
)
from pipelines.ledger import Ledger, LedgerError, User
from pipelines.ledger.signed_head import (
    WITNESSED,
    accept_head,
    check_heads,
    checked_heads,
    kept_heads,
    sign_missing_heads,
    signed,
    signing_ledger,
)
from pipelines.settings import load_settings
from pipelines.vault import VaultError, new_key_file, new_keys, open_vault, read_keys, rotate
from pipelines.vault.bodies import CHECK, encrypt

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return settings with a witness, keys, a vault, and a folder that has its formats."""
    new_key_file(tmp_path / "keys.json")
    file = tmp_path / "ordermart.toml"
    file.write_text('[ledger]\nwitness = "witness"\n[vault]\nkey_file = "keys.json"\n', encoding="utf-8")
    settings = load_settings(file, environ={})
    write_noted(settings.data_dir, settings.data_dir / "format.json", b'{"inventory":1}')
    with open_vault(settings):
        pass
    return settings


def without_keys(settings: Settings) -> Settings:
    """Return the same settings for somebody who has no keys."""
    settings.file.write_text('[ledger]\nwitness = "witness"\n', encoding="utf-8")
    return load_settings(settings.file, environ={})


def written(settings: Settings, count: int = 3) -> Ledger:
    """Return a ledger of so many entries."""
    for n in range(count):
        signing_ledger(settings).append("closed", {"order": n, "amount": "10.00"})
    return Ledger(settings.data_dir / "ledger")


def _canonical(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def forge(ledger: Ledger, no: int = 1) -> None:
    """Change an amount of an entry, and compute every hash of the chain again."""
    lines, previous = [], "0" * 64
    for line in ledger.lines():
        fields: dict[str, Any] = json.loads(line)
        del fields["sha256"]
        fields |= {"previous": previous}
        if fields["no"] == no:
            fields["body"]["amount"] = "1010.00"
        previous = fields["sha256"] = hashlib.sha256(_canonical(fields)).hexdigest()
        lines.append(_canonical(fields) + b"\n")
    (ledger.folder / "ledger.jsonl").write_bytes(b"".join(lines))


def in_vault(settings: Settings, statement: str) -> list[Any]:
    """Run a statement on the vault's file."""
    with closing(sqlite3.connect(settings.data_dir / "vault" / "vault.sqlite")) as db, db:
        return db.execute(statement).fetchall()


def test_head_is_signed_in_three_places(settings: Settings) -> None:
    """Inventory, vault and witness have the count and the last hash, and a signature that the public key verifies."""
    ledger = written(settings)
    head = read_inventory(settings.data_dir).ledger
    assert head is not None
    assert (head.entries, head.sha256) == (3, ledger.head())
    ((kept,),) = in_vault(settings, "select value from meta where name = 'ledger/head'")
    assert kept == (settings.file.parent / "witness" / WITNESSED).read_bytes().strip() == msgspec.json.encode(head)
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(head.key))
    key.verify(base64.b64decode(head.signature), f"ordermart/ledger\n3\n{head.sha256}\n".encode())
    sentences = checked_heads(settings, ledger)
    assert [each.partition(":")[0] for each in sentences[:2]] == ["Head in the inventory", "Head in the vault"]
    assert sentences[-1] == f"Key (keep a copy elsewhere): {head.key}"


def test_ledger_that_is_gone_is_noticed_at_no_entries(settings: Settings) -> None:
    """Deleted as a whole, or its last entries: the kept heads are of more."""
    ledger = written(settings)
    lines = ledger.folder / "ledger.jsonl"
    whole = lines.read_bytes()
    for left in (0, 1, 2):
        lines.write_bytes(b"".join(whole.splitlines(keepends=True)[:left]))
        with pytest.raises(LedgerError, match=f"has {left} entries, its head in the inventory is of 3"):
            checked_heads(settings, ledger)
    lines.unlink()
    with pytest.raises(LedgerError, match=r"has 0 entries.*restore the data folder from a backup"):
        sign_missing_heads(settings)


@pytest.mark.parametrize("gone", ["nothing", "inventory", "vault's head", "both", "both, and what knows of them"])
def test_rewritten_chain_is_never_signed(settings: Settings, gone: str) -> None:
    """A closed order changed, all hashes computed again, and what would tell removed: no place takes the forgery."""
    settings.file.write_text('[vault]\nkey_file = "keys.json"\n', encoding="utf-8")
    alone = load_settings(settings.file, environ={})
    ledger = written(alone)
    forge(ledger)
    if gone in {"inventory", "both"}:
        for name in (INVENTORY, COPY):
            (alone.data_dir / name).unlink()
    if gone.startswith("both, "):
        write_inventory(alone.data_dir, Inventory())
        (alone.data_dir / "format.json").unlink()
    if gone == "vault's head" or gone.startswith("both"):
        in_vault(alone, "delete from meta where name = 'ledger/head'")
    for look in (lambda: checked_heads(alone, ledger), lambda: sign_missing_heads(alone)):
        with pytest.raises(Exception, match=r"rewritten|which it had|missing or damaged"):
            look()
    before = in_vault(alone, "select value from meta where name = 'ledger/head'")
    with pytest.raises(Exception, match=r"rewritten|which it had|missing or damaged"):
        signing_ledger(alone).append("a", {"n": 1})
    assert in_vault(alone, "select value from meta where name = 'ledger/head'") == before


def test_head_of_another_key_is_refused(settings: Settings) -> None:
    """A signer with another key, in any of the places, is noticed."""
    ledger = written(settings)
    other = signed(b"1" * 32, 3, ledger.head())
    (settings.file.parent / "witness" / WITNESSED).write_bytes(msgspec.json.encode(other))
    for those in (settings, without_keys(settings)):
        with pytest.raises(LedgerError, match="not signed by this ledger's key"):
            check_heads(those, ledger)


def test_entries_without_keys_are_ahead_and_signed_later(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    """An entry is written all the same, and a line says so; signed heads stay, and the next run with keys signs it."""
    ledger = written(settings)
    stranger = without_keys(settings)
    signing_ledger(stranger).append("a", {"n": 3})
    assert "Entry 4 of the ledger is written; its head was not signed: " in caplog.text
    assert all("entry 3, signed" in line and "1 later" in line for line in checked_heads(stranger, ledger)[:3])
    settings.file.write_text('[ledger]\nwitness = "witness"\n[vault]\nkey_file = "keys.json"\n', encoding="utf-8")
    sign_missing_heads(settings)
    assert {head.entries for head in kept_heads(settings).values()} == {4}


def test_ledger_that_never_was_signed_is_signed_later(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    """The first entries may be older than the vault's keys."""
    file = settings.file.read_text(encoding="utf-8")
    signing_ledger(without_keys(settings)).append("a", {"n": 0})
    assert "Entry 1 of the ledger is written; its head was not signed: " in caplog.text
    settings.file.write_text(file, encoding="utf-8")
    sign_missing_heads(settings)
    assert {(head.entries, bool(head.signature)) for head in kept_heads(settings).values()} == {(1, True)}


def test_folder_of_an_older_version_is_signed_to_its_end(settings: Settings) -> None:
    """There the head could be behind, and unsigned in the inventory; from then on it cannot."""
    ledger = written(settings)
    with closing(sqlite3.connect(settings.data_dir / "vault" / "vault.sqlite")) as db, db:
        check = encrypt(AESGCM(read_keys(settings).master), CHECK, CHECK)
        db.execute("update meta set value = ? where name = 'master_check'", (check,))
    Ledger(ledger.folder).append("a", {"n": 3})
    with changing(settings.data_dir) as inventory:
        inventory.ledger = LedgerHead(4, ledger.head())
    sign_missing_heads(settings)
    assert {(head.entries, bool(head.signature)) for head in kept_heads(settings).values()} == {(4, True)}
    with changing(settings.data_dir) as inventory:
        inventory.ledger = LedgerHead(4, ledger.head())
    with pytest.raises(LedgerError, match="head in the inventory was not signed"):
        sign_missing_heads(settings)


def _blank(settings: Settings, *, inventory: bool, vault: bool, head: LedgerHead | None = None) -> None:
    """Put an unsigned head of the chain as it is, or another, in these places."""
    chain = Ledger(settings.data_dir / "ledger")
    head = head or LedgerHead(sum(1 for _ in chain.lines()), json.loads(list(chain.lines())[-1])["sha256"])
    if inventory:
        with changing(settings.data_dir) as found:
            found.ledger = head
    if vault:
        with closing(sqlite3.connect(settings.data_dir / "vault" / "vault.sqlite")) as db, db:
            db.execute("update meta set value = ? where name = 'ledger/head'", (msgspec.json.encode(head),))


ATTACKS = [
    "blank in both",
    "blank in the vault",
    "blank in the inventory",
    "blank, entries untouched",
    "truncated",
    "vault's rows of the ledger gone",
    "another key",
    "signature of another head",
    "last entry changed",
    "another number of entries",
]


def _attacked(alone: Settings, attack: str) -> Ledger:
    """Return the ledger of four entries after an attack."""
    ledger = written(alone, 4)
    last = read_inventory(alone.data_dir).ledger
    assert last
    if attack == "truncated":
        lines = ledger.folder / "ledger.jsonl"
        lines.write_bytes(b"".join(lines.read_bytes().splitlines(keepends=True)[:2]))
    elif attack not in {"blank, entries untouched", "another number of entries"}:
        forge(ledger, 4 if attack == "last entry changed" else 1)
    given = None
    if attack == "another key":
        given = signed(b"1" * 32, 4, ledger.head())
    if attack == "signature of another head":
        given = msgspec.structs.replace(last, sha256=ledger.head())
    if attack == "another number of entries":
        given = msgspec.structs.replace(last, entries=3)
    _blank(alone, inventory=attack != "blank in the vault", vault=attack != "blank in the inventory", head=given)
    if attack.startswith("vault's rows"):
        in_vault(alone, "delete from meta where name in ('ledger/head', 'ledger/next', 'key/ledger')")
    return ledger


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("has_keys", [True, False])
def test_forged_chain_is_an_error_everywhere_and_never_signed(settings: Settings, attack: str, has_keys: bool) -> None:
    """A person who writes files without keys and without a witness: nothing opens the ledger, no key signs it."""
    settings.file.write_text('[vault]\nkey_file = "keys.json"\n', encoding="utf-8")
    alone = load_settings(settings.file, environ={})
    ledger = _attacked(alone, attack)
    if not has_keys and attack in {"vault's rows of the ledger gone", "another key"}:
        return  # only the keys tell; nothing is signed without them
    those = alone
    if not has_keys:
        settings.file.write_text("", encoding="utf-8")
        those = load_settings(settings.file, environ={})
    before = read_inventory(alone.data_dir).ledger, in_vault(alone, "select * from meta where name like 'ledger/%'")
    lines_before = list(ledger.lines())
    for look in (
        lambda: checked_heads(those, ledger),
        lambda: sign_missing_heads(those),
        lambda: signing_ledger(those).append("a", {"n": 1}),
    ):
        with pytest.raises(LedgerError, match=r"accept-head"):
            look()
    assert [damage.path for damage in compare(those).damages if damage.stops] == ["ledger/ledger.jsonl"]
    after = read_inventory(alone.data_dir).ledger, in_vault(alone, "select * from meta where name like 'ledger/%'")
    assert (before, lines_before) == (after, list(ledger.lines()))


def test_missing_vault_is_an_error(settings: Settings) -> None:
    """Without the vault its head cannot be compared: that is not intact."""
    from pipelines.inventory import record_stores  # noqa: PLC0415

    ledger = written(settings)
    record_stores(settings.data_dir)
    (settings.data_dir / "vault" / "vault.sqlite").unlink()
    with pytest.raises(LedgerError, match=r"vault\.sqlite is missing, which keeps the ledger's head"):
        checked_heads(settings, ledger)


@pytest.mark.parametrize("made", ["", "create table customers (n integer primary key)"])
def test_vault_whose_first_run_was_killed_is_begun_again(settings: Settings, made: str) -> None:
    """Its file was there, and its tables were not: nothing was ever signed, and the next run goes on."""
    (settings.data_dir / "vault" / "vault.sqlite").unlink()
    in_vault(settings, made)
    checked_heads(settings, Ledger(settings.data_dir / "ledger"))
    written(settings)
    assert kept_heads(settings)


def test_rotated_vault_signs_with_the_same_key(settings: Settings) -> None:
    """The key is wrapped again, so the witness goes on."""
    written(settings, 1)
    before = (settings.file.parent / "witness" / WITNESSED).read_bytes()
    new = settings.file.parent / "new.json"
    assert rotate(settings.data_dir / "vault" / "vault.sqlite", read_keys(settings), new_keys(new)).is_new
    rotated = load_settings(settings.file, environ={"ORDERMART_VAULT__KEY_FILE": str(new)})
    signing_ledger(rotated).append("a", {"n": 2})
    after = (settings.file.parent / "witness" / WITNESSED).read_bytes()
    assert json.loads(after)["key"] == json.loads(before)["key"]
    assert json.loads(after)["entries"] == 2


def test_witness_that_cannot_be_written_is_said(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    """No reason to lose an entry."""
    (settings.file.parent / "witness").write_text("a file", encoding="utf-8")
    signing_ledger(settings).append("a", {"n": 1})
    assert "cannot be written to" in caplog.text


@pytest.mark.parametrize("lost", ["the head in the vault", "the key's head, and the inventory's", "a rewritten chain"])
def test_person_who_confirms_the_last_hash_has_it_signed_again(settings: Settings, lost: str) -> None:
    """No command works until then; afterwards each does, each place has the new head, and an entry tells."""
    ledger = written(settings)
    if lost == "a rewritten chain":
        forge(ledger)
    else:
        in_vault(settings, "delete from meta where name = 'ledger/head'")
    if "inventory" in lost:
        with changing(settings.data_dir) as inventory:
            inventory.ledger = None
    with pytest.raises(LedgerError, match="ordermart ledger accept-head"):
        sign_missing_heads(settings)
    for wrong in ("", "0" * 64, "a" * 64):
        with pytest.raises(LedgerError, match="the chain's last hash is"):
            accept_head(settings, wrong, "moved", User(7))
    with pytest.raises(VaultError):
        accept_head(without_keys(settings), ledger.head(), "moved", User(7))
    settings.file.write_text('[ledger]\nwitness = "witness"\n[vault]\nkey_file = "keys.json"\n', encoding="utf-8")
    confirmed = ledger.head()
    entry = accept_head(settings, confirmed, "moved", User(7, "Anne"))
    assert entry.body == {"entries": 3, "sha256": confirmed, "reason": "moved", "uid": 7, "as": "Anne"}
    sign_missing_heads(settings)
    assert {(head.entries, head.sha256) for head in kept_heads(settings).values()} == {(4, ledger.head())}
    assert signing_ledger(settings).append("a", {"n": 1}).no == 5
