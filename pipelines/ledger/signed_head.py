"""Sign the ledger's head after each entry, and compare the chain with every head that is kept.

The head is the number of entries and the last hash, signed by a key in the vault. The inventory, the vault and the
witness keep it. One who rewrites the ledger without the vault's keys cannot sign another head: once one was signed, a
head that is gone, unsigned or signed by another key is an error, and is signed again only if a person accepts the chain
as it is, by its last hash.
"""

import base64
import contextlib
import logging
import sqlite3
from functools import partial
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pipelines.durable import make_folder, write_whole
from pipelines.inventory import LedgerHead, changing, is_expected, read_inventory
from pipelines.ledger.chain import Ledger, LedgerEntry, LedgerError, verify
from pipelines.ledger.entries import HEAD_ACCEPTED, User
from pipelines.record import Verdict
from pipelines.settings import Settings
from pipelines.vault import VaultError
from pipelines.vault.bodies import keep_ledger_head, kept_ledger_head, ledger_key

log = logging.getLogger(__name__)
WITNESSED = "ledger-head.json"
VAULT = "vault/vault.sqlite"
_ACCEPT = "compare the chain's last hash with one that you kept elsewhere, and see `ordermart ledger accept-head`"
_RESTORE = f"restore the data folder from a backup; or {_ACCEPT}"


def signing_ledger(settings: Settings, *, is_restored: bool = False) -> Ledger:
    """Return the ledger of a data folder, which keeps its head after each entry, signed if the keys are set.

    It takes no entry where the chain does not go on from every kept head, but for one that was just restored: the
    witness may know later entries than the backup has. What is before these heads is not read again.
    """
    before = None if is_restored else partial(check_heads, settings, is_whole=False)
    return Ledger(settings.data_dir / "ledger", after=partial(_keep, settings), before=before)


def sign_missing_heads(settings: Settings) -> None:
    """Keep the head where a kill, or missing keys, left it behind; raise LedgerError if the chain is another."""
    ledger = Ledger(settings.data_dir / "ledger")
    check_heads(settings, ledger)
    known, entries = kept_heads(settings), list(ledger.entries())
    is_behind = any(head.entries < len(entries) or not head.signature for head in known.values())
    with contextlib.suppress(VaultError):
        is_behind = is_behind or not ledger_key(settings)[1]
    if (entries or (settings.data_dir / VAULT).exists()) and (is_behind or len(known) < len(_places(settings))):
        _keep(settings, ledger, len(entries))


def check_heads(settings: Settings, ledger: Ledger, *, is_whole: bool = True) -> Verdict:
    """Raise LedgerError unless the chain, all of it if `is_whole`, is intact and goes on from each kept head."""
    known = kept_heads(settings)
    first = 1 if is_whole else max(1, min((head.entries for head in known.values()), default=1))
    count = sum(1 for _ in ledger.lines())
    hashes = {entry.no: entry.sha256 for entry in ledger.entries(first=first)}
    keys = {head.key for head in known.values() if head.signature}
    is_all_signed = _has_key(settings)
    was_signed = bool(keys) or is_all_signed
    with contextlib.suppress(VaultError):
        key, is_all_signed = ledger_key(settings)
        was_signed = was_signed or is_all_signed
        if key:
            keys.add(_text(Ed25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw()))
        elif was_signed:
            raise LedgerError(f"the vault lacks the key that signed the ledger's head: {_RESTORE}")
    if was_signed and "the vault" not in known:
        raise LedgerError(f"{settings.data_dir / VAULT} lacks the ledger's head, which was signed: {_RESTORE}")
    for place, head in known.items():
        # older versions left the inventory's head unsigned without the vault's keys
        is_open = (place == "the inventory" and not is_all_signed) or not was_signed
        if len(keys) > 1 or not (_is_signed(head) if head.signature else is_open):
            raise LedgerError(f"the ledger's head in {place} was not signed by this ledger's key: {_RESTORE}")
        if head.entries > count:
            why = f"the ledger has {count} entries, its head in {place} is of {head.entries}"
            raise LedgerError(f"{why}: entries were removed; {_RESTORE}")
        if head.entries and hashes[head.entries] != head.sha256:
            why = f"the entries up to {head.entries} are not those of the head in {place}"
            raise LedgerError(f"{why}: the ledger was rewritten; {_RESTORE}")
    return Verdict({"entries": count, "heads": len(known)})


def checked_heads(settings: Settings, ledger: Ledger) -> list[str]:
    """Return a sentence for each head that is kept, and the public key; raise LedgerError as `check_heads`."""
    count, known = check_heads(settings, ledger).checked["entries"], kept_heads(settings)
    lines = []
    for place in _places(settings):
        if head := known.get(place):
            later = f"; {count - head.entries} later entries are not in it" if head.entries < count else ""
            signed = "signed" if head.signature else "not signed"
            lines.append(f"Head in {place}: entry {head.entries}, {signed}, consistent with the ledger{later}.")
        else:
            lines.append(f"Head in {place}: none yet.")
    keys = {head.key for head in known.values() if head.key}
    return [*lines, *(f"Key (keep a copy elsewhere): {key}" for key in keys)]


def signed(seed: bytes, entries: int, sha256: str) -> LedgerHead:
    """Return a head with its signature."""
    key = Ed25519PrivateKey.from_private_bytes(seed)
    signature = key.sign(_content(entries, sha256))
    return LedgerHead(entries, sha256, _text(signature), _text(key.public_key().public_bytes_raw()))


def _keep(settings: Settings, ledger: Ledger, count: int) -> None:
    """Sign the head, unless the chain does not go on from one that is kept."""
    try:
        check_heads(settings, ledger, is_whole=False)
    except LedgerError as error:
        log.warning("Entry %d of the ledger is written; its head was not signed: %s", count, error)
        return
    _sign(settings, ledger, count)


def accept_head(settings: Settings, sha256: str, reason: str, user: User) -> LedgerEntry:
    """Sign the head of a chain that a person confirmed by its last hash, whatever was kept; return the entry of that.

    Raise LedgerError if the chain is broken or has another last hash, VaultError without the vault and its keys.
    """
    ledger = Ledger(settings.data_dir / "ledger")
    found = verify(ledger)
    if not found.entries or found.head != sha256:
        raise LedgerError(f"the chain's last hash is {found.head}, of entry {found.entries}, and no other: {_ACCEPT}")
    keep_ledger_head(settings, lambda seed: signed(seed, found.entries, sha256))  # or raise
    _sign(settings, ledger, found.entries, is_whole=True)
    body = {"entries": found.entries, "sha256": sha256, "reason": reason, **user.body}
    return signing_ledger(settings).append(HEAD_ACCEPTED, body)


def _sign(settings: Settings, ledger: Ledger, count: int, *, is_whole: bool = False) -> None:
    """Write the head to every place, signed, and note row files, of the whole ledger or of what the inventory lacks."""
    head = LedgerHead(count, ledger.head())
    try:
        head = keep_ledger_head(settings, lambda seed: signed(seed, head.entries, head.sha256))
    except VaultError as error:
        log.warning("Entry %d of the ledger is written; its head was not signed: %s", count, error)
        if (kept := read_inventory(settings.data_dir).ledger) and kept.signature:
            return
    with changing(settings.data_dir) as inventory:
        first = inventory.ledger.entries + 1 if inventory.ledger and not is_whole else 1
        inventory.ledger = head
        for entry in ledger.entries(first=first):
            path = ledger.folder / (entry.file or "")
            if entry.file and entry.file_sha256 and path.exists():
                inventory.files.setdefault(f"ledger/{entry.file}", (path.stat().st_size, entry.file_sha256))
    if (witness := _witness(settings)) and head.signature:
        try:
            make_folder(witness)
            write_whole(witness / WITNESSED, msgspec.json.encode(head) + b"\n")
        except OSError as error:
            log.warning("The ledger's signed head cannot be written to %s: %s", witness, error.strerror)


def kept_heads(settings: Settings) -> dict[str, LedgerHead]:
    """Return the heads that are kept, by place; raise LedgerError where one is gone or cannot be read."""
    inventory = read_inventory(settings.data_dir)
    found = {"the inventory": inventory.ledger} if inventory.ledger else {}
    if head := _vault_head(settings.data_dir / VAULT):
        found["the vault"] = head
    elif VAULT in inventory.stores and not (settings.data_dir / VAULT).exists():
        raise LedgerError(f"{settings.data_dir / VAULT} is missing, which keeps the ledger's head: {_RESTORE}")
    if (witness := _witness(settings)) and (witness / WITNESSED).exists():
        try:
            found[str(witness)] = _decoded((witness / WITNESSED).read_bytes(), witness / WITNESSED)
        except OSError as error:
            raise LedgerError(f"{witness / WITNESSED} cannot be read: {error.strerror}") from None
    if "the vault" in found and not inventory.ledger and is_expected(settings.data_dir):
        raise LedgerError(f"the inventory lacks the ledger's head, which it had: {_RESTORE}")
    return found


def _vault_head(path: Path) -> LedgerHead | None:
    if not path.exists():
        return None
    try:
        has_key, kept = kept_ledger_head(path)
    except sqlite3.Error as error:
        raise LedgerError(f"{path} cannot be read ({error}), which keeps the ledger's head: {_RESTORE}") from None
    if not kept and has_key:  # they are made together
        raise LedgerError(f"{path} lacks the ledger's head, which it had, or is of an older version: {_ACCEPT}")
    return _decoded(kept, path) if kept else None


def _has_key(settings: Settings) -> bool:
    """Tell whether the ledger was ever signed, as far as the vault says without its keys."""
    path = settings.data_dir / VAULT
    return path.exists() and kept_ledger_head(path)[0]


def _decoded(content: bytes, path: Path) -> LedgerHead:
    try:
        return msgspec.json.decode(content, type=LedgerHead)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise LedgerError(f"{path} has a head of the ledger that cannot be read: {_RESTORE}") from None


def _is_signed(head: LedgerHead) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(head.key, validate=True))
        key.verify(base64.b64decode(head.signature, validate=True), _content(head.entries, head.sha256))
    except (ValueError, InvalidSignature):
        return False
    return True


def _content(entries: int, sha256: str) -> bytes:
    return f"ordermart/ledger\n{entries}\n{sha256}\n".encode()


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _places(settings: Settings) -> list[str]:
    witness = _witness(settings)
    return ["the inventory", "the vault", *([str(witness)] if witness else [])]


def _witness(settings: Settings) -> Path | None:
    return (settings.file.parent / settings.ledger.witness).resolve() if settings.ledger.witness else None
