"""Check before a run whatever needs no service: keys, credentials, rules, and the files that it was given.

A night that ends with such an error after an hour of requests is a night lost.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.engines import engine_of
from pipelines.finance.periods import fiscal_periods
from pipelines.ingest.request import ids_of_file, ids_of_range
from pipelines.partner import PartnerMisconfigured
from pipelines.partner.token import authenticate_request
from pipelines.settings import SettingsError
from pipelines.vault import VaultError
from pipelines.vault.keys import read_keys
from pipelines.warehouse.evidence.candidates import unknown_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.settings import Settings


def check_before_run(settings: Settings, id_files: Iterable[str] = (), order_id_range: str = "") -> None:
    """Raise SettingsError for the first thing that is wrong with the settings or the files of ids."""
    for file in id_files:
        for _ in ids_of_file(Path(file)) if file else ():
            pass
    if order_id_range:
        ids_of_range(order_id_range)
    try:
        read_keys(settings)
        authenticate_request(settings.partner)
    except (VaultError, PartnerMisconfigured) as error:
        raise SettingsError(str(error)) from None
    fiscal_periods(settings)
    engine_of(settings)
    for complaint in unknown_rules(settings):
        raise SettingsError(complaint)
