"""Run the whole job on the sandbox: the first look at a fresh clone.

Uses the packages of a real run; only the service is a stand-in.
"""

from __future__ import annotations

import os
import shlex
import time
from typing import TYPE_CHECKING

import typer

from pipelines.assets.night import Exit, run_night
from pipelines.definitions import NIGHTLY, job
from pipelines.durable import keep_private, make_folder
from pipelines.landing import guard_source
from pipelines.report.progress import terminal_progress
from pipelines.report.summary import summary
from pipelines.sandbox.process import Sandbox
from pipelines.settings import load_settings
from pipelines.vault import new_key_file

if TYPE_CHECKING:
    from pathlib import Path

# Settings that fit the sandbox; the environment takes precedence.
_SETTINGS = {
    "ORDERMART_PARTNER__CLIENT_ID": "sandbox",
    "ORDERMART_PARTNER__CLIENT_SECRET": "sandbox",
    "ORDERMART_SALES__COUNTED_STATUSES": '["delivered", "picked_up"]',
    "ORDERMART_SALES__EXCLUDED_STATUSES": '["cancelled", "rejected"]',
}


def _demo_keys(data_dir: Path) -> Path:
    """Return the demo's key file, outside the vault that it opens; create it if it is missing."""
    keep_private(data_dir)
    keys = (data_dir / "sandbox" / "demo-keys.json").resolve()
    inside = data_dir / "vault" / keys.name  # where earlier versions put it
    if inside.exists() and not keys.exists():
        make_folder(keys.parent)
        inside.rename(keys)
    if not keys.exists():
        new_key_file(keys)
    return keys


def run_demo(config: Path | None, *, orders: int, stores: int, faults: float) -> int:
    """Start the sandbox, run the job on its orders, print the results, stop the sandbox; return an exit code.

    Planted faults are expected to be quarantined: they do not make the exit code 3 here.
    """
    started = time.monotonic()
    keys = _demo_keys(load_settings(config).data_dir)
    used = _SETTINGS | {"ORDERMART_VAULT__KEY_FILE": str(keys)}
    for name, value in used.items():
        os.environ.setdefault(name, value)
    settings = load_settings(config)
    guard_source(settings)
    folder = settings.data_dir / "sandbox"
    keep_private(settings.data_dir)
    ids, truth = folder / "order_ids.txt", folder / "truth.json"
    typer.echo(f"Starting the sandbox with {orders:,} orders in {stores} stores…", err=True)
    port = int(settings.partner.base_url.rsplit(":", 1)[1])
    with (
        Sandbox(port=port, orders=orders, stores=stores, faults=faults, ids=ids, truth=truth),
        terminal_progress() as progress,
    ):
        night = run_night(settings, job(settings, NIGHTLY, progress), order_ids=ids)
    typer.echo(summary(settings, night))
    typer.echo(f"\nTook {time.monotonic() - started:.1f} s. The planted faults are listed in {truth}.")
    typer.echo("Commands that build on this data need the same settings:")
    typer.echo("  export " + " ".join(f"{name}={shlex.quote(os.environ[name])}" for name in used))
    return Exit.PUBLISHED if night.published else Exit.FAILED
