"""Keep the responses of an uncommitted load, encrypted, so that a killed run need not request them again.

One file per kind, written response by response and removed when the load ends. It survives the process, not the
machine: it is not synced, and what a power cut loses is requested again.
"""

from __future__ import annotations

import datetime as dt  # noqa: TC003 - msgspec reads the annotations
import os
from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.durable import make_folder
from pipelines.vault.keys import KEY_BYTES, NONCE_BYTES, VaultError, decrypt, encrypt, read_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipelines.settings import Settings

_LENGTH_BYTES = 4


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """The outcome of requesting an id: status and body, or an error code and reason; and its cost."""

    id: int
    fetched_at: dt.datetime
    status: int | None
    body: bytes = b""
    code: str = ""
    reason: str = ""
    ms: int = 0
    size: int = 0
    tries: int = 0  # 0: written before this was recorded
    earlier: tuple[tuple[int | None, str, int, int], ...] = ()  # attempts but the last: status, code, ms, bytes


class Left(NamedTuple):
    """What a killed process left: its load and the responses in order."""

    load_id: str
    answers: list[Answer]


class _Head(msgspec.Struct, frozen=True, array_like=True):
    load_id: str
    key: bytes  # wrapped by the master key


def open_spool(settings: Settings, kind: str) -> Spool:
    """Open the spool of a kind; raise VaultError for missing or wrong keys."""
    return Spool(settings.data_dir / "vault" / f"spool-{kind}", AESGCM(read_keys(settings).master))


class Spool:
    """The spool of one kind: `left` first, then `begin`, `add` …, `end` for each load."""

    def __init__(self, path: Path, master: AESGCM) -> None:
        self._path = path
        self._master = master
        self._descriptor = -1
        self._cipher = master
        self._no = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def left(self) -> Left | None:
        """Return what a killed process left, up to the last complete record; None if there is nothing."""
        try:
            written = self._path.read_bytes()
        except FileNotFoundError:
            return None
        records = _records(written)
        try:
            head = msgspec.msgpack.decode(next(records), type=_Head)
        except (StopIteration, msgspec.DecodeError):
            return None
        cipher = AESGCM(decrypt(self._master, head.key, f"spool/{head.load_id}".encode()))
        answers = []
        for no, record in enumerate(records):
            try:
                plain = decrypt(cipher, record, str(no).encode())
            except VaultError:
                break
            answers.append(msgspec.msgpack.decode(plain, type=Answer))
        return Left(head.load_id, answers)

    def begin(self, load_id: str, answers: Iterable[Answer] = ()) -> None:
        """Start a load's spool with these responses, replacing an earlier one."""
        self._close()
        make_folder(self._path.parent, 0o700)
        draft = self._path.with_name(self._path.name + ".tmp")
        self._descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        key = os.urandom(KEY_BYTES)
        wrapped = encrypt(self._master, os.urandom(NONCE_BYTES), key, f"spool/{load_id}".encode())
        self._cipher, self._no = AESGCM(key), 0
        self._write(msgspec.msgpack.encode(_Head(load_id, wrapped)))
        for answer in answers:
            self.add(answer)
        draft.replace(self._path)

    def add(self, answer: Answer) -> None:
        """Append a response."""
        # The key is used for this file only, so a counter is a safe nonce.
        nonce = self._no.to_bytes(NONCE_BYTES, "big")
        self._write(encrypt(self._cipher, nonce, msgspec.msgpack.encode(answer), str(self._no).encode()))
        self._no += 1

    def end(self) -> None:
        """Remove the spool: its responses are landed."""
        self._close()
        self._path.unlink(missing_ok=True)

    def _write(self, record: bytes) -> None:
        # One write per record: a kill leaves at most one incomplete record, at the end.
        whole = len(record).to_bytes(_LENGTH_BYTES, "big") + record
        try:
            written = os.write(self._descriptor, whole)
        except OSError as error:
            raise VaultError(f"{self._path} cannot be written: {error.strerror}") from None
        if written != len(whole):
            raise VaultError(f"{self._path} cannot be written completely: is the disk full?")

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _records(written: bytes) -> Iterator[bytes]:
    place = 0
    while place + _LENGTH_BYTES <= len(written):
        length = int.from_bytes(written[place : place + _LENGTH_BYTES], "big")
        place += _LENGTH_BYTES
        if place + length > len(written):
            return
        yield written[place : place + length]
        place += length
