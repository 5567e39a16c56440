"""The ledger's head is signed after each entry, and a second folder remembers it: rewriting the chain is noticed."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pipelines.ledger import Ledger, LedgerError
from pipelines.ledger.signed_head import KEY, NOTE, Head, checked_heads, note, opened, signing_ledger, vkey
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault
from pipelines.vault.keys import new_keys, read_keys
from pipelines.vault.rotation import rotate

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings


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
    entry = signing_ledger(settings).append("a", {"n": 1})
    folder = settings.data_dir / "ledger"
    text, _, signature = (folder / NOTE).read_text("utf-8").partition("\n\n")
    assert text.split("\n") == ["ordermart/ledger", "1", base64.b64encode(bytes.fromhex(entry.sha256)).decode()]
    name, identity, typed = (folder / KEY).read_text("utf-8").strip().split("+", 2)
    dash, signer, encoded = signature.strip().split(" ")
    signed = base64.b64decode(encoded)
    assert (dash, signer, signed[:4].hex()) == ("—", name, identity)
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(typed)[1:])
    public.verify(signed[4:], f"{text}\n".encode())
    assert (settings.file.parent / "witness" / NOTE).read_bytes() == (folder / NOTE).read_bytes()


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
            entry = signing_ledger(stranger).append("a", {"n": -n})
        if fault == "forged":
            key = Ed25519PrivateKey.generate()
            (folder / KEY).write_text(vkey(key.public_key()), encoding="ascii")
            (folder / NOTE).write_text(note(key, Head(4, entry.sha256)), encoding="utf-8")
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


def test_entry_is_written_without_keys_or_witness(settings: Settings) -> None:
    """What cannot be signed is no reason to lose an entry."""
    (settings.file.parent / "witness").write_text("a file", encoding="utf-8")
    entry = signing_ledger(settings).append("a", {"n": 1})
    stranger = without_keys(settings)
    assert signing_ledger(stranger).append("a", {"n": 2}).previous == entry.sha256
    lines = (settings.data_dir / "ledger" / "ledger.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["no"] for line in lines] == [1, 2]
    assert opened("", Ed25519PrivateKey.generate().public_key()) is None
