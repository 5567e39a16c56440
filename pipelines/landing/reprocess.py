"""Reprocess the quarantine under the current settings, and bring back fields that are kept from now on.

What comes of it is a new load with the time and source of the first observation; no verdict is ever edited.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.landing.exact import InvalidDocumentError, parsed, plain, shown
from pipelines.landing.load import Load
from pipelines.landing.raw_folder import Rank, naming_damage, rank, raw_files
from pipelines.landing.raw_rows import LoadSummary, Source, ValidatedDocument
from pipelines.landing.shape import COUNTS, ORDER, SHAPES, SUMS, Field, ObjectField, Shape
from pipelines.landing.unknown_fields import Sorted, attributes, pointer_order, trie, within
from pipelines.landing.validate import Validator
from pipelines.partner.pointer import parse
from pipelines.settings import Settings
from pipelines.settings.kinds import KINDS
from pipelines.vault import Vault, VaultError

_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Rekeeper:
    """What settings name today, for the documents of one kind."""

    def __init__(self, settings: Settings, kind: str) -> None:
        stores = kind == "stores"
        self._shape = SHAPES.get(kind)
        self._patterns = settings.partner.store.allowed_pointers if stores else settings.landing.allowed_pointers
        self._trie = trie(self._patterns)
        self._member = "attributes" if stores else "_kept"

    def wants(self, document: bytes) -> bool:
        """Tell whether a document lists an unknown field that is named today."""
        if not self._patterns or b'"_unknown"' not in document:
            return False
        unknown = msgspec.json.decode(_RAW.decode(document).get("_unknown", b"{}"), type=dict[str, str])
        return any(f"{named}/".startswith(f"{pattern}/") for pattern in unknown for named in self._patterns)

    def rekept(self, document: bytes, content: bytes) -> tuple[bytes, bytes] | None:
        """Return document and encrypted content as they would be today; None when nothing comes back."""
        members, encrypted = _RAW.decode(document), _RAW.decode(content)
        found = Sorted()
        rest: dict[str, Any] = {}
        for pointer, value in encrypted.items():
            pattern = unknown_pattern(pointer, self._shape, shown)
            if pattern is None:
                rest[pointer] = value
            else:
                named = within(self._trie, *pattern.split("/")[1:])
                found.add(parsed(bytes(value)), pointer, pattern, named)
        if not found.kept:
            return None
        rest.update({pointer: plain(value) for pointer, value in found.encrypted.items()})
        members.pop("_unknown", None)
        before = _RAW.decode(members.pop(self._member, b"{}"))
        if self._member == "attributes":
            kept = dict(sorted((before | attributes(found.kept)).items()))
            members["attributes"] = msgspec.Raw(msgspec.json.encode(kept))
        if found.unknown:
            members["_unknown"] = msgspec.Raw(msgspec.json.encode(found.types()))
        if self._member == "_kept":
            kept = dict(sorted((before | found.by_pointer()).items(), key=lambda each: pointer_order(each[0])))
            members["_kept"] = msgspec.Raw(msgspec.json.encode(kept))
        return msgspec.json.encode(members), msgspec.json.encode(rest)


def unknown_pattern(pointer: str, shape: Shape | None = ORDER, name: Callable[[str], str] = str) -> str | None:
    """Return the pattern of an unknown field's pointer, names as `name` shows them; None for a documented field."""
    at: Any = shape
    tokens: list[str] = []
    for token in parse(pointer):
        if isinstance(at, Shape):
            field = next((each for each in at.fields if each.name == token), None)
            tokens.append(name(token))
            if isinstance(field, Field):
                return None
            at = field and (field.of if isinstance(field, ObjectField) else [field.of])
        elif isinstance(at, list):
            tokens.append("*")
            at = at[0]
        else:
            tokens.append("*" if token.isdecimal() else name(token))
    return "".join(f"/{token}" for token in tokens)


class _Observed(NamedTuple):
    id: int | None
    seq: int
    observed_at: dt.datetime | None
    source: Source
    http_status: int | None
    load_id: str
    sha256: str | None
    refused_ref: str | None

    @property
    def rank(self) -> Rank:
        return rank(self.observed_at, self.source, self.load_id, self.seq)


_OBSERVED = list(_Observed._fields)


def reprocess_quarantine(settings: Settings, vault: Vault) -> list[LoadSummary]:
    """Reprocess quarantined payloads that are still kept, and documents with unknown fields that settings name now.

    Return a summary per load that came of it: none for a kind of which nothing changes.
    """
    return [summary for kind in KINDS if (summary := _retry(settings, vault, kind))]


def _retry(settings: Settings, vault: Vault, kind: str) -> LoadSummary | None:
    taken = list(_refused(settings, vault, kind))
    kept = list(_kept(settings, vault, kind))
    if not taken and not kept:
        return None
    with Load(settings, vault, kind) as load:
        for ref, observed in taken:
            refused = vault.refused.open(ref)
            if refused is not None:
                at, status = observed.observed_at, observed.http_status
                load.validate(refused.body, refused.asked, at, status, source=observed.source)
        for validated, size, observed in kept:
            load.again(validated, size, observed.observed_at, observed.source, observed.http_status)
        summary = load.commit()
    vault.refused.forget(ref for ref, _ in taken)
    return summary


def _refused(settings: Settings, vault: Vault, kind: str) -> Iterator[tuple[str, _Observed]]:
    """Yield the refused bodies that are taken today. After a kill one may come again, and is unchanged."""
    refs = set(vault.refused.refs(kind))
    if not refs:
        return
    validator = Validator(settings, kind)
    for observed in _observations(settings.data_dir, kind, "refused_ref"):
        if observed.refused_ref not in refs:
            continue
        body = vault.refused.open(observed.refused_ref or "")
        if body is not None:
            try:
                validator.validate(body.body, body.asked)
            except InvalidDocumentError:
                continue
            yield observed.refused_ref or "", observed


def _kept(settings: Settings, vault: Vault, kind: str) -> Iterator[tuple[ValidatedDocument, int, _Observed]]:
    """Yield documents as they are with the fields kept from now on, once for each run of equal ones, at its end."""
    rekeeper = Rekeeper(settings, kind)
    wanted = _documents(settings.data_dir, kind, rekeeper)
    if not wanted:
        return
    ids = {id_ for id_, _ in wanted}
    history: dict[int, list[_Observed]] = {}
    for observed in _observations(settings.data_dir, kind, "sha256"):
        if observed.id in ids:
            history.setdefault(observed.id or 0, []).append(observed)
    for id_, observations in history.items():
        observations.sort(key=lambda each: each.rank)
        followers = [*observations[1:], None]
        for observed, after in zip(observations, followers, strict=True):
            row = wanted.get((id_, observed.sha256 or ""))
            if row is None or (after is not None and after.sha256 == observed.sha256):
                continue
            validated = _as_today(rekeeper, vault, kind, row, observed)
            if validated is not None and (after is None or after.sha256 != validated.sha256.hex()):
                yield validated, row["bytes"], observed


def _as_today(
    rekeeper: Rekeeper, vault: Vault, kind: str, row: dict[str, Any], observed: _Observed
) -> ValidatedDocument | None:
    try:
        content = vault.decrypt_content(kind, row["id"], at=(observed.load_id, observed.seq))
    except VaultError:  # erased since
        return None
    found = rekeeper.rekept(row["document"].encode(), content)
    if found is None:
        return None
    document, rest = found
    encrypted = parsed(rest) if kind == "orders" else {}
    return ValidatedDocument(
        id=row["id"],
        document=document,
        sha256=hashlib.sha256(document).digest(),
        content=rest,
        phone=encrypted.get("/user_phone"),
        email=encrypted.get("/user_email"),
        missing_fields=row["absences"],
        rounded_count=row["rounded"],
        counts=tuple(row[name] for name in COUNTS[kind]),
        sums=tuple(row[name] for name in SUMS[kind]),
    )


def _documents(data_dir: Path, kind: str, rekeeper: Rekeeper) -> dict[tuple[int, str], dict[str, Any]]:
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for file in raw_files(data_dir, kind).documents:
        with naming_damage(data_dir, file.path), pq.ParquetFile(file.path) as parquet:
            for batch in parquet.iter_batches():
                some = batch.filter(pc.match_substring(batch.column("document"), '"_unknown"'))
                rows = (row for row in some.to_pylist() if rekeeper.wants(row["document"].encode()))
                found.update({(row["id"], row["sha256"]): row for row in rows})
    return found


def _observations(data_dir: Path, kind: str, with_column: str) -> Iterator[_Observed]:
    for file in raw_files(data_dir, kind).observations:
        with naming_damage(data_dir, file.path), pq.ParquetFile(file.path) as parquet:
            for batch in parquet.iter_batches(columns=_OBSERVED):
                some = batch.filter(batch.column(with_column).is_valid())
                for row in zip(*(some.column(name).to_pylist() for name in _OBSERVED), strict=True):
                    yield _Observed(*row)
