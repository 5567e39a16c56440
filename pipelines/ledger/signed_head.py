"""Sign the ledger's head after each entry, and compare it with the head that a second folder has witnessed.

The head is a signed note in the form of a C2SP tlog-checkpoint: origin, number of entries, root of the Merkle tree over
the lines of the ledger in base64, and an Ed25519 signature. Heads that were signed earlier have the hash of their last
entry instead of the root, and hold as well. The key is in the vault, so one who changes the ledger without the vault's
keys cannot sign another head.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import logging
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pipelines.durable import make_folder, write_whole
from pipelines.ledger.chain import Ledger, LedgerError
from pipelines.ledger.merkle import root_of
from pipelines.vault import VaultError
from pipelines.vault.keyring import ledger_seed

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings

log = logging.getLogger(__name__)
ORIGIN = "ordermart/ledger"
NOTE, KEY = "checkpoint", "checkpoint.vkey"
_ED25519 = b"\x01"
_ID_BYTES = 4


class Head(NamedTuple):
    """A signed head: the number of entries, and the root of the tree over their lines, as hexadecimal digits."""

    size: int
    root: str


def signing_ledger(settings: Settings) -> Ledger:
    """Return the ledger of a data folder, which signs its head after each entry if the vault's keys are set."""
    return Ledger(settings.data_dir / "ledger", after=partial(_sign, settings))


def sign_missing_heads(settings: Settings) -> None:
    """Sign the head where a kill, or missing keys, left it unsigned; if it cannot be, the next entry says so."""
    ledger = Ledger(settings.data_dir / "ledger")
    with contextlib.suppress(VaultError, OSError):
        count = sum(1 for _ in ledger.entries())
        if count:
            key = Ed25519PrivateKey.from_private_bytes(ledger_seed(settings)).public_key()
            with ledger.locked():
                if any(_is_behind(folder / NOTE, key, count) for folder in _folders(settings, ledger)):
                    _sign(settings, ledger, count)


def checked_heads(settings: Settings, ledger: Ledger) -> list[str]:
    """Compare the signed and the witnessed head with the chain, and return a sentence for each.

    Raise LedgerError if a head is signed by another key, or if the chain lacks or has changed the entry it is of.
    """
    count = sum(1 for _ in ledger.entries())
    witness = _witness(settings)
    key = _known_key(settings, [*([witness] if witness else []), ledger.folder])
    lines = []
    for name, folder in (("Signed", ledger.folder), *([("Witnessed", witness)] if witness else [])):
        path = folder / NOTE
        if not path.exists():
            lines.append(f"{name} head: none in {folder} yet.")
            continue
        if key is None:
            raise LedgerError(f"{path} cannot be verified: {KEY} is missing, and the vault's keys are not set")
        head = _opened(path, key)
        if head.size > count:
            raise LedgerError(f"{path} is of {head.size} entries, the ledger has {count}: entries were removed")
        if not _is_of(ledger, head):
            raise LedgerError(f"{path}: the entries up to {head.size} are not those signed: the ledger was rewritten")
        later = f"; {count - head.size} later entries are not in it" if head.size < count else ""
        lines.append(f"{name} head: entry {head.size} of {folder}, consistent with the ledger{later}.")
    if key is not None:
        lines.append(f"Key (keep a copy elsewhere): {vkey(key)}")
    return lines


def vkey(key: Ed25519PublicKey) -> str:
    """Return a public key as C2SP signed-note writes it: name, key id, and base64 of type and key."""
    typed = _ED25519 + key.public_bytes_raw()
    return f"{ORIGIN}+{_id(typed).hex()}+{base64.b64encode(typed).decode()}"


def key_of(text: str) -> Ed25519PublicKey:
    """Return the public key that `vkey` wrote; raise ValueError if it is not one."""
    typed = base64.b64decode("+".join(text.strip().split("+")[2:]), validate=True)  # base64 may have a + of its own
    return Ed25519PublicKey.from_public_bytes(typed[len(_ED25519) :])


def note(key: Ed25519PrivateKey, head: Head) -> str:
    """Return the signed note of a head."""
    root = base64.b64encode(bytes.fromhex(head.root)).decode()
    text = f"{ORIGIN}\n{head.size}\n{root}\n"
    identity = _id(_ED25519 + key.public_key().public_bytes_raw())
    signature = base64.b64encode(identity + key.sign(text.encode())).decode()
    return f"{text}\n\N{EM DASH} {ORIGIN} {signature}\n"


def opened(content: str, key: Ed25519PublicKey) -> Head | None:
    """Return the head of a signed note; None if this key did not sign it."""
    text, _, signatures = content.partition("\n\n")
    try:
        origin, size, root = text.split("\n")
        (line,) = [each for each in signatures.splitlines() if each.startswith(f"\N{EM DASH} {ORIGIN} ")]
        signed = base64.b64decode(line.rpartition(" ")[2], validate=True)
        if origin != ORIGIN or signed[:_ID_BYTES] != _id(_ED25519 + key.public_bytes_raw()):
            return None
        key.verify(signed[_ID_BYTES:], f"{text}\n".encode())
        return Head(int(size), base64.b64decode(root, validate=True).hex())
    except (ValueError, binascii.Error, InvalidSignature):
        return None


def _sign(settings: Settings, ledger: Ledger, size: int) -> None:
    """Write the signed head beside the ledger and to the witness; say so if it cannot be: the next entry's covers this.

    A head that the chain does not go on from stays, so that verifying the ledger names it.
    """
    try:
        key = Ed25519PrivateKey.from_private_bytes(ledger_seed(settings))
    except VaultError as error:
        log.warning("Entry %d of the ledger is written; its head was not signed: %s", size, error)
        return
    content = note(key, Head(size, root_of(islice(ledger.lines(), size)).hex())).encode()
    public = vkey(key.public_key()).encode() + b"\n"
    for folder in _folders(settings, ledger):
        try:
            if _is_continued(ledger, folder, key.public_key()):
                make_folder(folder)
                _write(folder, content, public)
            else:
                log.warning("The signed head in %s is of another chain or key and stays; see ledger verify", folder)
        except OSError as error:
            log.warning("The ledger's signed head cannot be written to %s: %s", folder, error.strerror)


def _folders(settings: Settings, ledger: Ledger) -> list[Path]:
    """Return where heads are kept: beside the ledger, and with the witness if there is one."""
    witness = _witness(settings)
    return [ledger.folder, *([witness] if witness else [])]


def _is_behind(path: Path, key: Ed25519PublicKey, count: int) -> bool:
    """Tell whether a head is missing, or is of fewer entries; one of another key is not, and stays."""
    if not path.exists():
        return True
    head = opened(path.read_text(encoding="utf-8", errors="replace"), key)
    return head is not None and head.size < count


def _is_continued(ledger: Ledger, folder: Path, key: Ed25519PublicKey) -> bool:
    """Tell whether the chain goes on from the head that a folder has; also if it has none."""
    path = folder / NOTE
    if not path.exists():
        return True
    head = opened(path.read_text(encoding="utf-8", errors="replace"), key)
    return head is not None and _is_of(ledger, head)


def _is_of(ledger: Ledger, head: Head) -> bool:
    """Tell whether the ledger begins with the entries of a head."""
    lines = list(islice(ledger.lines(), head.size))
    if len(lines) != head.size:
        return False
    last = next((entry.sha256 for entry in islice(ledger.entries(), head.size - 1, head.size)), "") if lines else ""
    return head.root in {root_of(lines).hex(), last}


def _write(folder: Path, content: bytes, public: bytes) -> None:
    write_whole(folder / KEY, public)
    write_whole(folder / NOTE, content)


def _opened(path: Path, key: Ed25519PublicKey) -> Head:
    head = opened(path.read_text(encoding="utf-8", errors="replace"), key)
    if head is None:
        raise LedgerError(f"{path} was not signed by this ledger's key, or was changed")
    return head


def _known_key(settings: Settings, folders: list[Path]) -> Ed25519PublicKey | None:
    """Return the key: of the vault if it can be opened, else the one that a folder has."""
    with contextlib.suppress(VaultError):
        return Ed25519PrivateKey.from_private_bytes(ledger_seed(settings)).public_key()
    for folder in folders:
        with contextlib.suppress(OSError, ValueError):
            return key_of((folder / KEY).read_text(encoding="ascii"))
    return None


def _witness(settings: Settings) -> Path | None:
    return (settings.file.parent / settings.ledger.witness).resolve() if settings.ledger.witness else None


def _id(typed: bytes) -> bytes:
    return hashlib.sha256(ORIGIN.encode() + b"\n" + typed).digest()[:_ID_BYTES]
