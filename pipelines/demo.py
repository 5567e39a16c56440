"""Run the whole job on the sandbox: the first look at a fresh clone.

It plays a few nights of one world by the sandbox's clock: orders change after they were fetched, a day is closed and
restated, control totals tie and one does not. Uses the packages of a real run; only the service is a stand-in. What it
leaves are ordinary data and settings, `demo.toml` in the data folder; the state of the world is beside its truth.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import typer
from msgspec.structs import replace

from pipelines.assets.night import Exit, run_night
from pipelines.definitions import NIGHTLY, job
from pipelines.durable import keep_private, make_folder, write_whole
from pipelines.finance import closing
from pipelines.finance.periods import one_day
from pipelines.finance.released import released
from pipelines.ingest.lock import run_lock
from pipelines.landing import guard_source
from pipelines.ledger import Ledger, import_totals
from pipelines.ledger.users import current_user
from pipelines.notify.history import ended_run
from pipelines.report.night_alarms import after_run
from pipelines.report.page.morning import morning_page, write_morning_page
from pipelines.report.progress import terminal_progress
from pipelines.report.summary import summary
from pipelines.sandbox.events import events
from pipelines.sandbox.process import Sandbox
from pipelines.sandbox.world import Config, World
from pipelines.settings import SettingsError, load_settings
from pipelines.vault import new_key_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pipelines.report.summary import Night
    from pipelines.settings import Settings

_DAYS = 56  # of orders: twice the 28 that the morning page compares
_NIGHTS = (7, 3)  # days before the end of the orders at which the first nights are
_CHANGING = dt.timedelta(days=7)  # an order no longer changes so long after it was placed
_TOTALS = """
    select business_date, store_id, sum(order_count), sum(total_price) from mart.daily_store_sales
    where sale_class = 'counted' and business_date < ? group by all order by 3 desc, 1, 2 limit 3
"""
_LAST_DAY = "select max(business_date) from mart.orders where sale_class = 'counted' and business_date < ?"
_SETTINGS = """\
# Settings of the demo, written by `ordermart demo`: they fit the sandbox, whose credentials are no secret.
#   ordermart --config {path} reconcile
# `run` starts the sandbox for its time; `ordermart demo --next-night` moves its clock on by a day before.

[data]
dir = "."

[partner]
base_url = {base_url}

[partner.authenticate]
body = {{ client_id = "sandbox", client_secret = "sandbox" }}

[vault]
key_file = "sandbox/demo-keys.json"

[sales]
counted_statuses = ["delivered", "picked_up"]
excluded_statuses = ["cancelled", "rejected"]
"""


@dataclass(frozen=True)
class State:
    """The world of a demo and the time of its last night, ISO 8601; "" before the first."""

    orders: int
    stores: int
    faults: float
    now: str = ""

    def world(self) -> World:
        """Return the world, as the sandbox makes it."""
        return World(Config(orders=self.orders, stores=self.stores, faults=self.faults, days=_DAYS))


def run_demo(config: Path | None, *, orders: int, stores: int, faults: float, next_night: bool = False) -> int:
    """Play the nights that are due, print the results, and return an exit code.

    A new demo plays two nights, one that exists plays none but the next, if asked. Planted faults are expected to be
    quarantined: they do not make the exit code 3 here. Raise SettingsError if there is no next night.
    """
    started = time.monotonic()
    settings = demo_settings(config)
    state = _read(settings)
    if next_night and state is None:
        raise SettingsError(f"--next-night: there is no demo in {settings.data_dir}: run `ordermart demo` first")
    if state is None:
        state = State(orders, stores, faults)
        typer.echo(f"Starting the sandbox with {orders:,} orders in {stores} stores…", err=True)
    world = state.world()
    nights = _due(world, state, next_night=next_night)
    with service(settings, state) as sandbox:
        for number, now in enumerate(nights, 1):
            # Only the last night verifies: a first look should take a minute.
            chosen = (
                settings if number == len(nights) else replace(settings, verify=replace(settings.verify, seconds=0))
            )
            night = _play(chosen, sandbox, world, state, now)
            state = State(state.orders, state.stores, state.faults, now.isoformat())
            if not night.published:
                break
            _write(settings, state)
            if number < len(nights):
                accepted = night.landed.get("orders", {}).get("accepted", 0)
                typer.echo(f"Night {number}, {now:%Y-%m-%d %H:%M}: {accepted:,} orders accepted, a release published")
            if len(nights) > 1 and number == 1:
                _close_the_books(settings, now)
    typer.echo(summary(settings, night))
    typer.echo(
        f"\nTook {time.monotonic() - started:.1f} s. Faults were planted: {settings.data_dir}/sandbox/truth.json"
    )
    typer.echo(f"Morning page: {morning_page(settings.data_dir / 'published')}")
    typer.echo(f"Other commands: `ordermart --config {settings.file} reconcile`, and so on.")
    return Exit.PUBLISHED if night.published else Exit.FAILED


def demo_settings(config: Path | None) -> Settings:
    """Write the settings of the demo into the data folder of `config`, keys where none are, and return them."""
    base = load_settings(config)
    folder = base.data_dir
    keep_private(folder)
    file, keys = (folder / "demo.toml").resolve(), folder / "sandbox" / "demo-keys.json"
    make_folder(keys.parent)
    if not keys.exists():
        new_key_file(keys)
    if base.file != file:
        text = _SETTINGS.format(path=folder / "demo.toml", base_url=json.dumps(base.partner.base_url))
        write_whole(file, text.encode())
    return load_settings(file)


def service_of(settings: Settings) -> AbstractContextManager[object]:
    """Return the sandbox of a demo, for a run with the settings that the demo wrote; else nothing."""
    state = _read(settings) if settings.file == (settings.data_dir / "demo.toml").resolve() else None
    return service(settings, state) if state and state.now else nullcontext()


@contextmanager
def service(settings: Settings, state: State) -> Iterator[Sandbox]:
    """Start the sandbox on the port of the settings, at the time of the last night."""
    make_folder(_folder(settings))
    port = int(settings.partner.base_url.rsplit(":", 1)[1])
    flags = {"orders": state.orders, "stores": state.stores, "faults": state.faults, "days": _DAYS}
    with Sandbox(port=port, truth=_folder(settings) / "truth.json", **flags) as sandbox:
        if state.now:
            sandbox.set_clock(dt.datetime.fromisoformat(state.now))
        yield sandbox


def _due(world: World, state: State, *, next_night: bool) -> list[dt.datetime]:
    """Return the times of the nights to play; one without news is played where none is asked for."""
    until = dt.datetime.combine(world.config.until, dt.time(3, 15), dt.UTC)
    if not state.now:
        return [until - dt.timedelta(days=days) for days in _NIGHTS]
    now = dt.datetime.fromisoformat(state.now)
    if next_night:
        now += dt.timedelta(days=1)
        if now > world.end:
            raise SettingsError("--next-night: the demo's world has ended; remove its data folder to begin again")
    return [now]


def _play(settings: Settings, sandbox: Sandbox, world: World, state: State, now: dt.datetime) -> Night:
    """Move the clock, run a night for the orders that changed since the last one, and write the page."""
    started = dt.datetime.now(dt.UTC)
    sandbox.set_clock(now)
    since = int(dt.datetime.fromisoformat(state.now).timestamp()) if state.now else 0
    placed = {order_id: world.created(order_id) for order_id in world.order_ids}
    if since:
        first = dt.datetime.fromisoformat(state.now) - _CHANGING
        recent = [order_id for order_id, at in placed.items() if first <= at <= now]
        found = events(world, since, int(now.timestamp()), recent)
        ids = sorted({event.id for event in found if event.topic.startswith("orders.")})
    else:
        ids = [order_id for order_id, at in placed.items() if at <= now]
    file = _folder(settings) / "order_ids.txt"
    file.write_text("".join(f"{order_id}\n" for order_id in ids), encoding="ascii")
    guard_source(settings)
    with terminal_progress() as progress:
        night = run_night(settings, job(settings, NIGHTLY, progress), order_ids=file)
    facts = {"is_good": night.published and not night.incomplete, "is_new": night.is_new, "landed": night.landed}
    after_run(settings, succeeded=night.published, is_new=night.is_new, incomplete=night.incomplete)
    write_morning_page(settings, ended_run(started, dt.datetime.now(dt.UTC), errors=night.own_errors, **facts))
    return night


def _close_the_books(settings: Settings, now: dt.datetime) -> None:
    """Import control totals, the last of them wrong by one, and close the last day before `now`."""
    with released(settings) as release:
        totals = release.con.execute(_TOTALS, [now.date() - dt.timedelta(days=2)]).fetchall()
        found = release.con.execute(_LAST_DAY, [now.date()]).fetchone()
    if totals:
        rows = ["business_date,store_id,order_count,amount,amount_field,sale_classes"]
        for place, (day, store, count, amount) in enumerate(totals, 1):
            rows.append(f"{day},{store},{count},{amount + (place == len(totals))},total_price,counted")
        file = _folder(settings) / "control_totals.csv"
        file.write_text("\n".join(rows) + "\n", encoding="utf-8")
        import_totals(Ledger(settings.data_dir / "ledger"), file)
    if found and found[0]:
        with run_lock(settings.data_dir, "ordermart demo"):
            reason = "the demo closes a day whose orders still change"
            closing.close(settings, one_day(str(found[0])), None, exceptions=reason, user=current_user(""))


def _folder(settings: Settings) -> Path:
    return settings.data_dir / "sandbox"


def _read(settings: Settings) -> State | None:
    try:
        return State(**json.loads((_folder(settings) / "world.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def _write(settings: Settings, state: State) -> None:
    write_whole(_folder(settings) / "world.json", json.dumps(asdict(state)).encode())
