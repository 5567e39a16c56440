"""Run the whole job on the embedded stand-in service: what a fresh clone does first.

Uses the very commands and rooms of a real night; only the service is made up.
"""

from __future__ import annotations

import os
import shlex
import time
from typing import TYPE_CHECKING

import typer

from pipelines.assets.night import Exit, run_night
from pipelines.definitions import NIGHTLY, wiring
from pipelines.landing import guard_source
from pipelines.report.progress import terminal_progress
from pipelines.report.summary import summary
from pipelines.sandbox.process import Sandbox
from pipelines.settings import load_settings
from pipelines.vault import new_key_file

if TYPE_CHECKING:
    from pathlib import Path

# What the stand-in's service is like; the environment goes first.
_SETTINGS = {
    "ORDERMART_PARTNER__CLIENT_ID": "sandbox",
    "ORDERMART_PARTNER__CLIENT_SECRET": "sandbox",
    "ORDERMART_SALES__COUNTED_STATUSES": '["delivered", "picked_up"]',
    "ORDERMART_SALES__EXCLUDED_STATUSES": '["cancelled", "rejected"]',
}


def run_demo(config: Path | None, *, orders: int, stores: int, faults: float) -> int:
    """Start the stand-in, run the job on its orders, print what came out, stop the stand-in; return an exit code.

    Planted faults are expected to be refused: they do not make the exit code 3 here.
    """
    started = time.monotonic()
    keys = (load_settings(config).data_dir / "vault" / "demo-keys.json").resolve()
    if not keys.exists():
        keys.parent.mkdir(parents=True, exist_ok=True)
        new_key_file(keys)
    used = _SETTINGS | {"ORDERMART_VAULT__KEY_FILE": str(keys)}
    for name, value in used.items():
        os.environ.setdefault(name, value)
    settings = load_settings(config)
    guard_source(settings)
    folder = settings.data_dir / "sandbox"
    folder.mkdir(parents=True, exist_ok=True)
    ids, truth = folder / "order_ids.txt", folder / "truth.json"
    typer.echo(f"Starting the stand-in service with {orders:,} orders in {stores} stores…", err=True)
    port = int(settings.partner.base_url.rsplit(":", 1)[1])
    with (
        Sandbox(port=port, orders=orders, stores=stores, faults=faults, ids=ids, truth=truth),
        terminal_progress() as progress,
    ):
        night = run_night(settings, wiring(settings, progress).resolve_job_def(NIGHTLY), order_ids=ids)
    typer.echo(summary(settings, night))
    typer.echo(f"\nTook {time.monotonic() - started:.1f} s. The planted faults are listed in {truth}.")
    typer.echo("Another command that builds on this data is to have the same settings:")
    typer.echo("  export " + " ".join(f"{name}={shlex.quote(os.environ[name])}" for name in used))
    return Exit.PUBLISHED if night.published else Exit.FAILED
