"""The ledger's head is signed after each entry, and a second folder remembers it: rewriting the chain is noticed."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pipelines.ledger import Ledger, LedgerError
from pipelines.ledger.merkle import root_of
from pipelines.ledger.signed_head import KEY, NOTE, Head, checked_heads, key_of, note, opened, signing_ledger, vkey
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault
from pipelines.vault.keyring import ledger_seed
from pipelines.vault.keys import new_keys, read_keys
from pipelines.vault.rotation import rotate

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings


def sha256(content: bytes) -> bytes:
    """Return the SHA-256."""
    return hashlib.sha256(content).digest()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return settings with a witness, keys, and a vault."""
    new_key_file(tmp_path / "keys.json")
    file = tmp_path / "ordermart.toml"
    file.write_text('[ledger]\nwitness = "witness"\n[vault]\nkey_file = "keys.json"\n', encoding="utf-8")
    settings = load_settings(file, environ={})
    with open_vault(settings):
        pass
    return settings


def without_keys(settings: Settings) -> Settings:
    """Return the same settings for somebody who has no keys."""
    settings.file.write_text('[ledger]\nwitness = "witness"\n', encoding="utf-8")
    return load_settings(settings.file, environ={})


def test_head_is_a_signed_note(settings: Settings) -> None:
    """Three lines, a blank one, and a signature that the published key verifies, byte by byte as C2SP writes it."""
    for n in range(3):
        signing_ledger(settings).append("a", {"n": n})
    folder = settings.data_dir / "ledger"
    text, _, signature = (folder / NOTE).read_text("utf-8").partition("\n\n")
    a, b, c = (sha256(b"\0" + line) for line in (folder / "ledger.jsonl").read_bytes().splitlines())
    root = sha256(b"\1" + sha256(b"\1" + a + b) + c)
    assert text.split("\n") == ["ordermart/ledger", "3", base64.b64encode(root).decode()]
    name, identity, typed = (folder / KEY).read_text("utf-8").strip().split("+", 2)
    dash, signer, encoded = signature.strip().split(" ")
    signed = base64.b64decode(encoded)
    assert (dash, signer, signed[:4].hex()) == ("—", name, identity)
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(typed)[1:])
    public.verify(signed[4:], f"{text}\n".encode())
    assert (settings.file.parent / "witness" / NOTE).read_bytes() == (folder / NOTE).read_bytes()


@pytest.mark.parametrize(
    ("count", "root"),
    [
        (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
        (2, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
        (3, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
        (5, "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"),
        (6, "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"),
        (7, "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"),
        (8, "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
    ],
)
def test_root_is_that_of_certificate_transparency(count: int, root: str) -> None:
    """The roots of the trees over the test data of Certificate Transparency's reference implementation."""
    lines = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    assert root_of(bytes.fromhex(line) for line in lines[:count]).hex() == root


def test_head_that_was_signed_before_there_was_a_tree_holds(settings: Settings) -> None:
    """It has the hash of its last entry for a root: a later entry replaces it, a rewritten ledger is noticed."""
    entries = [signing_ledger(settings).append("a", {"n": n}) for n in range(3)]
    folder, witness = settings.data_dir / "ledger", settings.file.parent / "witness"
    key = Ed25519PrivateKey.from_private_bytes(ledger_seed(settings))
    (witness / NOTE).write_text(note(key, Head(2, entries[1].sha256)), encoding="utf-8")
    assert "Witnessed head: entry 2" in checked_heads(settings, Ledger(folder))[1]
    signing_ledger(settings).append("a", {"n": 3})
    assert "Witnessed head: entry 4" in checked_heads(settings, Ledger(folder))[1]
    for wrong in (Head(2, entries[2].sha256), Head(0, entries[0].sha256)):
        (witness / NOTE).write_text(note(key, wrong), encoding="utf-8")
        with pytest.raises(LedgerError, match="rewritten"):
            checked_heads(settings, Ledger(folder))


def test_every_public_key_is_read_as_it_was_written() -> None:
    """Also those whose base64 has the character that separates the parts; what is not a key is refused."""
    keys = [Ed25519PrivateKey.from_private_bytes(n.to_bytes(32, "big")).public_key() for n in range(100)]
    texts = [vkey(key) for key in keys]
    assert any(text.count("+") > 2 for text in texts)
    assert [key_of(f"{text}\n").public_bytes_raw() for text in texts] == [key.public_bytes_raw() for key in keys]
    for wrong in ("", "a+b", "a+b+c", "ordermart/ledger+00000000+AQ=="):
        with pytest.raises(ValueError, match=r"."):
            key_of(wrong)


def test_intact_ledger_is_consistent_with_both_heads(settings: Settings) -> None:
    """With the keys and without them; entries that somebody without keys wrote are counted."""
    for n in range(3):
        signing_ledger(settings).append("a", {"n": n})
    ledger = Ledger(settings.data_dir / "ledger")
    signed, witnessed, key = checked_heads(settings, ledger)
    assert (signed[:20], witnessed[:23]) == ("Signed head: entry 3", "Witnessed head: entry 3")
    stranger = without_keys(settings)
    signing_ledger(stranger).append("a", {"n": 3})
    assert "1 later entries are not in it" in checked_heads(stranger, ledger)[0]
    assert checked_heads(stranger, ledger)[2] == key


@pytest.mark.parametrize("fault", ["removed", "rewritten", "forged", "changed"])
def test_chain_that_was_rewritten_is_noticed(settings: Settings, fault: str) -> None:
    """Entries removed, or all written again by somebody without the keys, or a head signed by another key."""
    for n in range(3):
        signing_ledger(settings).append("a", {"n": n})
    folder, witness = settings.data_dir / "ledger", settings.file.parent / "witness"
    lines = (folder / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    stranger = without_keys(settings)
    if fault == "changed":
        (witness / NOTE).write_text((witness / NOTE).read_text("utf-8").replace("\n3\n", "\n2\n"), encoding="utf-8")
    else:
        for path in folder.iterdir():
            path.unlink()
        (folder / "ledger.jsonl").write_bytes(b"".join(lines[:2]) if fault == "removed" else b"")
    if fault in {"rewritten", "forged"}:
        for n in range(4):
            signing_ledger(stranger).append("a", {"n": -n})
        if fault == "forged":
            key = Ed25519PrivateKey.generate()
            (folder / KEY).write_text(vkey(key.public_key()), encoding="ascii")
            (folder / NOTE).write_text(note(key, Head(4, root_of(Ledger(folder).lines()).hex())), encoding="utf-8")
    with pytest.raises(LedgerError, match=r"removed|rewritten|not signed by this ledger's key"):
        checked_heads(stranger, Ledger(folder))


def test_witness_keeps_its_head_if_the_chain_does_not_go_on_from_it(settings: Settings) -> None:
    """A ledger that began again does not replace what the witness knows."""
    signing_ledger(settings).append("a", {"n": 1})
    before = (settings.file.parent / "witness" / NOTE).read_bytes()
    for path in (settings.data_dir / "ledger").iterdir():
        path.unlink()
    signing_ledger(settings).append("a", {"n": 2})
    assert (settings.file.parent / "witness" / NOTE).read_bytes() == before
    with pytest.raises(LedgerError, match="rewritten"):
        checked_heads(settings, Ledger(settings.data_dir / "ledger"))


def test_rotated_vault_signs_with_the_same_key(settings: Settings) -> None:
    """The key is wrapped again, so the witness goes on."""
    signing_ledger(settings).append("a", {"n": 1})
    before = (settings.data_dir / "ledger" / KEY).read_bytes()
    new = settings.file.parent / "new.json"
    assert rotate(settings.data_dir / "vault" / "vault.sqlite", read_keys(settings), new_keys(new)).is_new
    rotated = load_settings(settings.file, environ={"ORDERMART_VAULT__KEY_FILE": str(new)})
    signing_ledger(rotated).append("a", {"n": 2})
    assert (settings.data_dir / "ledger" / KEY).read_bytes() == before
    assert "entry 2" in checked_heads(rotated, Ledger(settings.data_dir / "ledger"))[1]


def test_entry_is_written_without_keys_or_witness(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be signed is no reason to lose an entry, and a line says so."""
    (settings.file.parent / "witness").write_text("a file", encoding="utf-8")
    entry = signing_ledger(settings).append("a", {"n": 1})
    assert "cannot be written to" in caplog.text
    stranger = without_keys(settings)
    assert signing_ledger(stranger).append("a", {"n": 2}).previous == entry.sha256
    assert "Entry 2 of the ledger is written; its head was not signed: " in caplog.text
    lines = (settings.data_dir / "ledger" / "ledger.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["no"] for line in lines] == [1, 2]
    assert opened("", Ed25519PrivateKey.generate().public_key()) is None


def test_head_of_a_rewritten_ledger_is_not_replaced(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    """Without a witness as well: an entry that was removed is still noticed after the next one was written."""
    settings.file.write_text('[vault]\nkey_file = "keys.json"\n', encoding="utf-8")
    alone = load_settings(settings.file, environ={})
    for n in range(3):
        signing_ledger(alone).append("a", {"n": n})
    lines = alone.data_dir / "ledger" / "ledger.jsonl"
    lines.write_bytes(b"".join(lines.read_bytes().splitlines(keepends=True)[:2]))
    for n in range(2):
        signing_ledger(alone).append("a", {"n": -n})
    assert "is of another chain or key and stays" in caplog.text
    with pytest.raises(LedgerError, match="rewritten"):
        checked_heads(alone, Ledger(alone.data_dir / "ledger"))
