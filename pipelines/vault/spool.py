"""Keep the answers of a load that is not committed yet, sealed, so that a kill does not cost asking for them again.

One file a kind, written answer by answer and removed with the load's end. It outlives the process, not the machine:
it is not synced, and what a power cut takes is asked for again. Knows nothing of HTTP or of what is landed.
"""

from __future__ import annotations

import datetime as dt  # noqa: TC003 - msgspec reads the annotations
import os
from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.vault.keys import KEY_BYTES, NONCE_BYTES, VaultError, read_keys, seal, unseal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipelines.settings import Settings

_LENGTH_BYTES = 4


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """What came of asking for an id: a status and a body, or a code and a reason why nothing did; and what it took."""

    id: int
    fetched_at: dt.datetime
    status: int | None
    body: bytes = b""
    code: str = ""
    reason: str = ""
    ms: int = 0
    size: int = 0
    tries: int = 0  # 0: written before this was recorded
    earlier: tuple[tuple[int | None, str, int, int], ...] = ()  # tries but the last: status, code, ms, bytes


class Left(NamedTuple):
    """What a killed process left: the load that it was for, and its answers in order."""

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
        """Return what a killed process left, up to where its last word is whole; None when nothing was left."""
        try:
            written = self._path.read_bytes()
        except FileNotFoundError:
            return None
        records = _records(written)
        try:
            head = msgspec.msgpack.decode(next(records), type=_Head)
        except (StopIteration, msgspec.DecodeError):
            return None
        cipher = AESGCM(unseal(self._master, head.key, f"spool/{head.load_id}".encode()))
        answers = []
        for no, record in enumerate(records):
            try:
                plain = unseal(cipher, record, str(no).encode())
            except VaultError:
                break
            answers.append(msgspec.msgpack.decode(plain, type=Answer))
        return Left(head.load_id, answers)

    def begin(self, load_id: str, answers: Iterable[Answer] = ()) -> None:
        """Begin to keep the answers of a load, these first, in place of what was left."""
        self._close()
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._path.with_name(self._path.name + ".tmp")
        self._descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        key = os.urandom(KEY_BYTES)
        wrapped = seal(self._master, os.urandom(NONCE_BYTES), key, f"spool/{load_id}".encode())
        self._cipher, self._no = AESGCM(key), 0
        self._write(msgspec.msgpack.encode(_Head(load_id, wrapped)))
        for answer in answers:
            self.add(answer)
        draft.replace(self._path)

    def add(self, answer: Answer) -> None:
        """Keep an answer."""
        # The key is this file's own and never used again: a counter is a nonce.
        nonce = self._no.to_bytes(NONCE_BYTES, "big")
        self._write(seal(self._cipher, nonce, msgspec.msgpack.encode(answer), str(self._no).encode()))
        self._no += 1

    def end(self) -> None:
        """Forget the answers: they are landed."""
        self._close()
        self._path.unlink(missing_ok=True)

    def _write(self, record: bytes) -> None:
        # One write a record: a kill leaves whole records, and at most one torn one at the end.
        whole = len(record).to_bytes(_LENGTH_BYTES, "big") + record
        try:
            written = os.write(self._descriptor, whole)
        except OSError as error:
            raise VaultError(f"{self._path} cannot be written: {error.strerror}") from None
        if written != len(whole):
            raise VaultError(f"{self._path} cannot be written whole: is the disk full?")

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
