"""The demo: the whole job on the sandbox, for a first look at a fresh clone.

Four nights of one world, by a clock shifted to its time: orders and prices change after they were fetched, a store
gets another name, webhooks come in, a day is closed and restated, control totals tie and one does not, statements of a
platform and its payouts are imported. Only the service is a stand-in: the sandbox signs and sends webhooks, and the
receiver is a process of its own. What it leaves are ordinary data and settings, `demo.toml` in the data folder.
"""

import base64
import csv
import datetime as dt
import io
import json
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import msgspec
import typer

from pipelines.clock import shift_clock
from pipelines.durable import keep_private, make_folder, write_whole
from pipelines.finance import closing
from pipelines.finance.released import one_day, open_release
from pipelines.ingest.lock import run_lock
from pipelines.ledger import import_totals
from pipelines.ledger.entries import current_user
from pipelines.ledger.signed_head import signing_ledger
from pipelines.record import NIGHT, Exit, Run
from pipelines.report.outcomes import summary
from pipelines.report.page.morning import PAGE
from pipelines.report.text import terminal_progress
from pipelines.run.under_way import RunRequest, perform
from pipelines.sandbox.orders import FEE
from pipelines.sandbox.process import Sandbox, serving
from pipelines.sandbox.world import MAPPING, NIGHTS, SETTLED, Config, World, night, statements
from pipelines.settings import Settings, SettingsError, load_settings
from pipelines.settlements.importing import import_bank, import_statements
from pipelines.settlements.mapping import read_mapping
from pipelines.vault import new_key_file

DAYS = 56  # of orders: twice the 28 that the morning page compares
SETTINGS = "demo.toml"
_TEXT = """\
# Settings of the demo, written by `ordermart demo`: they fit the sandbox, whose credentials are no secret.
#   ordermart --config {path} reconcile
# Every command with these settings is at the time of the demo's world: its clock goes on from the last night.
# `run` and `doctor` start the sandbox for their time; `ordermart demo --next-night` moves the world on by a day before.

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

[reference]
stores = "sandbox/stores.csv"
products = "sandbox/products.csv"
platforms = "sandbox/platforms.csv"

# The world's service adds this to orders by phone, and no field states it.
[[formula.component]]
name = "phone fee"
constant = "{fee}"
platform = "phone"
"""


@dataclass(frozen=True)
class State:
    """The world of a demo, the time of its last night, ISO 8601, and how far its clock is ahead of the machine's."""

    orders: int
    stores: int
    faults: float
    now: str = ""  # "": before the first night
    night: int = 0
    ahead_seconds: float = 0.0

    def world(self) -> World:
        """Return the world, as the sandbox makes it."""
        return World(Config(orders=self.orders, stores=self.stores, faults=self.faults, days=DAYS, story=True))


def demo_settings(config: Path | None) -> Settings:
    """Write the settings of the demo into the data folder of `config`, keys where none are, and return them."""
    base = load_settings(config)
    data = base.data_dir
    keep_private(data)
    file, keys = (data / SETTINGS).resolve(), folder(base) / "demo-keys.json"
    make_folder(keys.parent)
    if not keys.exists():
        new_key_file(keys)
    if base.file != file:
        text = _TEXT.format(path=data / SETTINGS, base_url=json.dumps(base.partner.base_url), fee=FEE)
        write_whole(file, text.encode())
    return load_settings(file)


def write_reference(settings: Settings, world: World) -> None:
    """Write the files that [reference] names: codes of the stores and products of the world, all but one."""
    stores = [
        (store.store_id, f"S{number:03d}", "Demo Foods GmbH", store.town.timezone.partition("/")[0])
        for number, store in enumerate(world.stores, 1)
    ]
    groups = [group for menu in world.menus.values() for group in menu.groups if group.name != "Popular"]
    of_groups = ((price.product_id, group.name) for group in groups for price in group.prices)
    products = {number: (number, f"PLU{number}", name, "false") for number, name in of_groups}
    own = {"web": "Website", "ios": "iOS app", "android": "Android app"}
    platforms = [*((name, title, "own") for name, title in own.items()), ("phone", "Telephone", "other")]
    _write(settings, "stores", "store_id own_code legal_entity region", stores[: max(1, len(stores) - 1)])
    _write(settings, "products", "product_id plu category is_combo", [products[each] for each in sorted(products)])
    _write(settings, "platforms", "platform platform_name platform_group", platforms)


def folder(settings: Settings) -> Path:
    """Return where the world's own files are."""
    return settings.data_dir / "sandbox"


def read_state(settings: Settings) -> State | None:
    """Return the state that the last night left; None before the first."""
    try:
        return State(**json.loads((folder(settings) / "world.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def write_state(settings: Settings, state: State) -> None:
    """Keep the state for the next night, and for the clock of commands until then."""
    write_whole(folder(settings) / "world.json", json.dumps(asdict(state)).encode())


def _write(settings: Settings, name: str, header: str, rows: Iterable[tuple[object, ...]]) -> Path:
    """Write a CSV file beside the world's own files; return its path."""
    text, file = io.StringIO(), folder(settings) / f"{name}.csv"
    csv.writer(text, lineterminator="\n").writerows([header.split(), *rows])
    write_whole(file, text.getvalue().encode())
    return file


_CHANGING = dt.timedelta(days=7)  # an order no longer changes so long after it was placed
_CLOSING = 2  # the night after which the books are closed
_VERIFYING = 3  # the night that verifies
_WEBHOOKS = 4  # the first night that learns of changes by webhooks
_CONTROL_TOTALS = """
    select business_date, store_id, sum(order_count), sum(total_price) from mart.daily_store_sales
    where sale_class = 'counted' and business_date < ? group by all order by 3 desc, 1, 2 limit 3
"""
_SETTLED = """
    select order_id, store_id, business_date, currency, total_price from mart.orders
    where platform = ? and sale_class = 'counted' and total_price > 0 and business_date < ?
    order by business_date, order_id
"""
_LAST_DAY = "select max(business_date) from mart.orders where sale_class = 'counted' and business_date < ?"
_LOST = 0.02  # share of the webhooks that are never sent: only the random sample finds those changes
_PATIENCE_SECONDS = 120.0


def run_demo(config: Path | None, *, orders: int, stores: int, faults: float, next_night: bool = False) -> int:
    """Play the nights that are due, print the results, and return an exit code.

    A new demo plays four nights; one that exists plays the last again, or the next one if asked. Planted faults are
    expected to be quarantined: they do not make the exit code 3 here. Raise SettingsError if there is no next night.
    """
    begun = time.monotonic()
    settings = demo_settings(config)
    state = read_state(settings)
    if next_night and state is None:
        raise SettingsError(f"--next-night: there is no demo in {settings.data_dir}: run `ordermart demo` first")
    if state and state.now and not state.night:
        raise SettingsError(f"the demo in {settings.data_dir} is of an earlier version: remove it to begin again")
    if state is None:
        state = State(orders, stores, faults)
        typer.echo(f"Starting the sandbox with {orders:,} orders in {stores} stores…", err=True)
    typer.echo(f"Writing to {settings.data_dir}", err=True)
    world = state.world()
    nights = _due(world, state, next_night=next_night)
    if not state.now:
        write_reference(settings, world)
    with service(settings, state) as sandbox:
        for now in nights:
            run, state = _play(settings, sandbox, world, state, now)
            if not run.did_all_steps:
                break
            if now != nights[-1]:
                good = run.landed.get("orders", {}).get("accepted", 0)
                typer.echo(f"Night {state.night}, {now:%Y-%m-%d %H:%M}: {good:,} orders accepted, a release published")
            if len(nights) > 1 and state.night == _CLOSING:
                close_the_books(settings, now)
            if len(nights) > 1 and state.night == _VERIFYING:
                settle(settings, now)
    typer.echo("\n".join(summary(settings, run)))
    typer.echo(f"\nTook {time.monotonic() - begun:.1f} s. Faults were planted: {settings.data_dir}/sandbox/truth.json")
    typer.echo(f"Morning page: {settings.data_dir / 'published' / PAGE}")
    typer.echo(f"Other commands: `ordermart --config {settings.file} reconcile`, and so on.")
    return Exit.DONE if run.did_all_steps else Exit.FAILED


def service_of(settings: Settings) -> AbstractContextManager[object]:
    """Return the sandbox of a demo, for a run with the settings that the demo wrote; else nothing."""
    state = read_state(settings) if settings.file == (settings.data_dir / SETTINGS).resolve() else None
    return service(settings, state) if state and state.now else nullcontext()


@contextmanager
def service(settings: Settings, state: State) -> Iterator[Sandbox]:
    """Start the sandbox on the port of the settings, at the time of the last night."""
    make_folder(folder(settings))
    port = int(settings.partner.base_url.rsplit(":", 1)[1])
    flags = {"orders": state.orders, "stores": state.stores, "faults": state.faults, "days": DAYS, "story": True}
    with Sandbox(port=port, truth=folder(settings) / "truth.json", **flags) as sandbox:
        if state.now:
            sandbox.set_clock(dt.datetime.fromisoformat(state.now))
        yield sandbox


def _due(world: World, state: State, *, next_night: bool) -> list[dt.datetime]:
    """Return the times of the nights to play; one without news is played where none is asked for."""
    if not state.now:
        return [night(world.config.until, number) for number in range(1, len(NIGHTS) + 1)]
    now = dt.datetime.fromisoformat(state.now)
    if next_night:
        now += dt.timedelta(days=1)
        if now > world.end:
            raise SettingsError("--next-night: the demo's world has ended; remove its data folder to begin again")
    return [now]


def _play(settings: Settings, sandbox: Sandbox, world: World, state: State, now: dt.datetime) -> tuple[Run, State]:
    """Move both clocks, run a night for what changed (three by lists of ids, later by webhooks), keep the state."""
    number = state.night + (now.isoformat() != state.now)
    ahead = shift_clock(now)
    asked = RunRequest()
    if number < _WEBHOOKS:
        sandbox.set_clock(now)
        file = folder(settings) / "order_ids.txt"
        file.write_text("".join(f"{order_id}\n" for order_id in _changed(world, state, now)), encoding="ascii")
        asked = RunRequest(str(file))
    else:
        write_state(settings, replace(state, ahead_seconds=ahead))  # the receiver reads the time from there
        advance_with_webhooks(settings, sandbox, now)
    seconds = 1 if number == _VERIFYING else 0
    chosen = msgspec.structs.replace(settings, verify=msgspec.structs.replace(settings.verify, seconds=seconds))
    with terminal_progress() as progress:
        run, _ = perform(chosen, NIGHT, asked, progress)
    played = replace(state, now=now.isoformat(), night=number, ahead_seconds=ahead)
    if run.did_all_steps:
        write_state(settings, played)
    return run, played


def _changed(world: World, state: State, now: dt.datetime) -> list[int]:
    """Return the ids of the orders that were placed or changed since the last night."""
    placed = {order_id: world.created(order_id) for order_id in world.order_ids}
    if not state.now:
        return [order_id for order_id, at in placed.items() if at <= now]
    last = dt.datetime.fromisoformat(state.now)
    recent = [order_id for order_id, at in placed.items() if last - _CHANGING <= at <= now]
    found = world.events(int(last.timestamp()), int(now.timestamp()), recent)
    return sorted({event.id for event in found if event.topic.startswith("orders.")})


def close_the_books(settings: Settings, now: dt.datetime) -> None:
    """Import control totals, the last of them wrong by one, and close the last day before `now`."""
    with open_release(settings) as release:
        totals = release.con.execute(_CONTROL_TOTALS, [now.date() - dt.timedelta(days=2)]).fetchall()
        found = release.con.execute(_LAST_DAY, [now.date()]).fetchone()
    if totals:
        rows = [
            (day, store, count, amount + (place == len(totals)), "total_price", "counted")
            for place, (day, store, count, amount) in enumerate(totals, 1)
        ]
        header = "business_date store_id order_count amount amount_field sale_classes"
        import_totals(signing_ledger(settings), _write(settings, "control_totals", header, rows))
    if found and found[0]:
        with run_lock(settings.data_dir, "ordermart demo"):
            reason = "the demo closes a day whose orders still change"
            closing.close(settings, one_day(str(found[0])), None, exceptions=reason, user=current_user(""))


def settle(settings: Settings, now: dt.datetime) -> None:
    """Import a platform's statements of the weeks before `now`, and the bank's file of its payouts."""
    with open_release(settings) as release:
        orders = release.con.execute(_SETTLED, [SETTLED, now.date()]).fetchall()
    statement, bank = statements(orders)
    if not statement:
        return
    texts = {f"{SETTLED}.toml": MAPPING, "statements.csv": statement, "bank.csv": bank}
    mapping, *files = (folder(settings) / name for name in texts)
    for name, text in texts.items():
        write_whole(folder(settings) / name, text.encode())
    read = read_mapping(mapping)
    with run_lock(settings.data_dir, "ordermart demo"):
        import_statements(signing_ledger(settings), files[0], read)
        import_bank(signing_ledger(settings), files[1], read)


class DeliveryError(Exception):
    """The demo's receiver did not start, or did not answer every webhook; the message says which."""


def advance_with_webhooks(settings: Settings, sandbox: Sandbox, now: dt.datetime) -> int:
    """Move the world's clock to `now` while the receiver listens; return how many webhooks were acknowledged."""
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()
    command = ["pipelines.cli", "webhooks", "serve", "--port", "0", "--config", str(settings.file)]
    signed = {"ORDERMART_WEBHOOKS__SIGNATURE": "standard_webhooks", "ORDERMART_WEBHOOKS__SECRET": secret}
    with serving(command, signed) as (address, _):
        sandbox.set_webhooks(to=address, secret=secret, lost=_LOST)
        try:
            sandbox.set_clock(now)
            deadline = time.monotonic() + _PATIENCE_SECONDS
            while (sent := sandbox.sent())["pending"]:
                if time.monotonic() > deadline:
                    raise DeliveryError(f"{sent['pending']} webhooks were not answered in {_PATIENCE_SECONDS:g} s")
                time.sleep(0.1)
        finally:
            sandbox.set_webhooks()
    return sent["acknowledged"]
