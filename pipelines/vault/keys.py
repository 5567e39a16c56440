"""Read, check and generate the two secrets of the vault, and encrypt bytes with a key.

The master key wraps every data key; the lookup secret makes keyed hashes, so neither is useful alone.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from cryptography.exceptions import InvalidTag

from pipelines.durable import make_folder, sync, unfinished
from pipelines.settings import DEFAULT_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from pipelines.settings import Settings

KEY_BYTES = 32
NONCE_BYTES = 12
_NAMES = ("master_key", "lookup_secret")


class VaultError(Exception):
    """The vault cannot be opened or read; the message names the setting or file, never a value."""


class Keys(NamedTuple):
    """The two secrets, 32 bytes each."""

    master: bytes
    lookup: bytes

    def __repr__(self) -> str:
        return "Keys(…)"


def read_keys(settings: Settings) -> Keys:
    """Return both secrets from the settings or from the key file they name.

    Raise VaultError naming the setting when one is missing, malformed or readable by others.
    """
    given = {name: getattr(settings.vault, name).reveal() for name in _NAMES}
    is_untouched = settings.file == DEFAULT_FILE or not settings.file.exists()
    if is_untouched and not any((*given.values(), settings.vault.key_file, settings.partner.client_id)):
        raise VaultError(
            "no service is configured ([vault] master_key is missing): "
            "try `ordermart demo`, or `ordermart init shop.toml`"
        )
    origin = dict.fromkeys(_NAMES, "the environment")
    if settings.vault.key_file:
        path = settings.file.parent / settings.vault.key_file
        allowed = settings.security.allow_readable_secrets
        for name, text in _read_key_file(path, may_be_readable=allowed).items():
            if not given[name]:
                given[name], origin[name] = text, path.name
    return Keys(*(_decoded(name, given[name], origin[name]) for name in _NAMES))


def new_keys(path: Path) -> Keys:
    """Return the secrets of a key file, which is created if it does not exist; raise VaultError if it is unusable."""
    if not path.exists():
        new_key_file(path)
    unfinished(path).unlink(missing_ok=True)  # of a kill: another name of the same file
    held = _read_key_file(path, may_be_readable=False)
    return Keys(*(_decoded(name, held.get(name, ""), path.name) for name in _NAMES))


def new_key_file(path: Path) -> None:
    """Generate both secrets in a new file that only its owner can read (mode 600).

    Raise FileExistsError rather than overwrite keys: without them a vault is lost.
    """
    make_folder(path.parent)
    fresh = {name: base64.b64encode(os.urandom(KEY_BYTES)).decode() for name in _NAMES}
    descriptor = os.open(unfinished(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        json.dump(fresh, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(unfinished(path), path)  # unlike a rename, never in the place of another file
    finally:
        unfinished(path).unlink()
    sync(path.parent)


def encrypt(cipher: AESGCM, nonce: bytes, plain: bytes, bound_to: bytes) -> bytes:
    """Encrypt, with the nonce in front; decryption needs the same `bound_to`."""
    return nonce + cipher.encrypt(nonce, plain, bound_to)


def decrypt(cipher: AESGCM, encrypted: bytes, bound_to: bytes) -> bytes:
    """Decrypt the output of `encrypt`; raise VaultError if key, `bound_to` or bytes differ."""
    try:
        return cipher.decrypt(encrypted[:NONCE_BYTES], encrypted[NONCE_BYTES:], bound_to)
    except InvalidTag:
        raise VaultError(
            "encrypted bytes cannot be decrypted: they were changed or moved, or belong to another key"
        ) from None


def _read_key_file(path: Path, *, may_be_readable: bool) -> dict[str, str]:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise VaultError(f"[vault] key_file: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise VaultError(f"[vault] key_file: {path} is not a key file") from None
    if mode & 0o077 and not may_be_readable:
        raise VaultError(
            f"[vault] key_file: others can read {path}: chmod 600 it, then run `ordermart vault rotate --new-key-file "
            "FILE`; or set [security] allow_readable_secrets = true"
        )
    try:
        held = json.loads(text)
    except ValueError:
        raise VaultError(f"[vault] key_file: {path} is not a key file") from None
    if not isinstance(held, dict) or not all(isinstance(held.get(n, ""), str) for n in _NAMES):
        raise VaultError(f"[vault] key_file: {path} must be an object with {' and '.join(_NAMES)}")
    return {name: held[name] for name in _NAMES if name in held}


def _decoded(name: str, text: str, origin: str) -> bytes:
    variable = f"ORDERMART_VAULT__{name.upper()}"
    if not text:
        raise VaultError(f"[vault] {name} is missing: set {variable} or {variable}_FILE, or name a [vault] key_file")
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise VaultError(f"[vault] {name} from {origin} must be {KEY_BYTES} bytes in base64")
    return key
