"""Reprocess the quarantine under the current settings: a new load with the times and sources of first observations."""

import datetime as dt
from collections.abc import Iterator
from typing import NamedTuple

from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.load import Load
from pipelines.landing.raw_folder import read_rows
from pipelines.landing.raw_rows import LoadSummary, Source
from pipelines.landing.validate import Validator
from pipelines.settings import Settings
from pipelines.settings.kinds import KINDS
from pipelines.vault import Vault


class _Observed(NamedTuple):
    refused_ref: str | None
    observed_at: dt.datetime | None
    source: Source
    http_status: int | None


def reprocess_quarantine(settings: Settings, vault: Vault) -> list[LoadSummary]:
    """Reprocess quarantined payloads that are still kept; return a summary per load that came of it, by kind."""
    return [summary for kind in KINDS if (summary := _retry(settings, vault, kind))]


def _retry(settings: Settings, vault: Vault, kind: str) -> LoadSummary | None:
    if not (taken := list(_refused(settings, vault, kind))):
        return None
    with Load(settings, vault, kind) as load:
        for ref, observed in taken:
            if (refused := vault.refused.open(ref)) is not None:
                at, status = observed.observed_at, observed.http_status
                load.validate(refused.body, refused.asked, at, status, source=observed.source)
        summary = load.commit()
    vault.refused.forget(ref for ref, _ in taken)
    return summary


def _refused(settings: Settings, vault: Vault, kind: str) -> Iterator[tuple[str, _Observed]]:
    """Yield the refused bodies that are taken today. After a kill one may come again, and is unchanged."""
    if not (refs := set(vault.refused.refs(kind))):
        return
    validator = Validator(settings, kind)
    for row in read_rows(settings.data_dir, kind, "observations", _Observed._fields):
        if (ref := row[0]) not in refs:
            continue
        if (body := vault.refused.open(ref)) is not None:
            try:
                validator.validate(body.body, body.asked)
            except InvalidDocumentError:
                continue
            yield ref, _Observed(*row)
