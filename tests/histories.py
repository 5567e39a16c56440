"""Generate histories of a data folder and compare increments with a rebuild, every table row for row.

A history is a list of steps: loads that land, builds, changed settings, control totals, statements, closed days,
postings, kills. It follows from its seed alone; at its end the books are replayed from the ledger's files. `python -m
tests.histories --minutes 60` runs one seed after the other, with `--books` histories of closed days, and prints the
seed of a failure and the smallest history that still fails.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import json
import random
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.finance import closing
from pipelines.finance.released import FinanceError, one_day, period_of
from pipelines.ledger import HEADER, import_totals, ledger_of
from pipelines.settings import load_settings
from pipelines.settlements.importing import import_statements
from pipelines.settlements.lines import SettlementError
from pipelines.settlements.mapping import read_mapping
from pipelines.warehouse.building.build import build, warehouse_file
from pipelines.warehouse.release.release import publish
from tests.replayed_books import measures, replay
from tests.warehouse.conftest import World, menu, order, store

if TYPE_CHECKING:
    from collections.abc import Callable

Step = dict[str, Any]
History = list[Step]

ORDERS, MENUS, STORES = range(1, 8), range(1, 3), range(1, 4)
PRODUCTS = (100, 101, 102)
# Around midnight in Berlin and Lima, the end of a month, both changes of the clock, and no time at all.
TIMES = (
    "2026-10-25T00:30:00Z",
    "2026-10-25T01:30:00Z",
    "2026-10-31T23:30:00Z",
    "2026-11-01T04:59:59Z",
    "2026-11-01T10:00:00Z",
    "2026-11-02T10:00:00+01:00",
    "2026-03-29T02:30:00+01:00",
    None,
)
DAYS = ("2026-10-25", "2026-10-31", "2026-11-01", "2026-11-02")
ZONES = ("Europe/Berlin", "America/Lima", "Nowhere", None)
# A rule is named as soon as one order tells: rules come and go with every load.
MAPPING = """platform = "shop"
orders = { platform = ["web", "kiosk"] }
due_days = 1
[line]
statement = "statement"
payout = "payout"
store = "store"
order = "order"
date = { column = "day", form = "%Y-%m-%d" }
currency = "EUR"
[components]
gross = "+amount"
"""
SETTINGS = {
    "ORDERMART_FORMULA__MIN_DISTINGUISHING_ORDERS": "1",
    "ORDERMART_FORMULA__MAX_VIOLATION_RATE": "0.3",
    "ORDERMART_WAREHOUSE__THREADS": "1",
}
CHANGED_SETTINGS = (
    {"ORDERMART_BUSINESS_DAY__TIMEZONE": "America/Lima"},
    {"ORDERMART_BUSINESS_DAY__DAY_START": "05:00"},
    {"ORDERMART_BUSINESS_DAY__TIME_FIELD": "requested_time"},
    {"ORDERMART_FINANCE__CURRENCY": "CHF"},
    {"ORDERMART_FINANCE__DUPLICATE_MINUTES": "600"},
    {"ORDERMART_FORMULA__MIN_DISTINGUISHING_ORDERS": "3"},
    {"ORDERMART_MENUS__PRODUCT_ID_SCOPE": "per_menu"},
    {"ORDERMART_WAREHOUSE__BUCKETS": "3"},
    {"ORDERMART_PLANNER__HOT_MAX_AGE_DAYS": "5"},  # shapes audit.questions alone
)
WHY = "a generated history"
# Settings files: which statuses are sales, and which parts a total has besides its fields.
SALES = (
    'counted_statuses = ["done"]\nexcluded_statuses = ["refused"]',
    'counted_statuses = ["done", "preparing"]\nexcluded_statuses = []',
    'counted_statuses = ["refused"]\nexcluded_statuses = ["preparing"]',
)
COMPONENTS = (
    "",
    '[[formula.component]]\nname = "bag"\nconstant = "1.00"\n',
    '[[formula.component]]\nname = "fee"\nshare = "0.1"\nbase = "subtotal"\nfrom = 2026-11-01\n',
    '[[formula.component]]\nname = "net"\nprice_factor = "1.08"\nwhen = "tip = 0"\n',
    '[[formula.component]]\nname = "coin"\nstep = "0.05"\n',
)
PERIODS = ("2026-10", "2026-11", "2026-12")


class Difference(Exception):
    """Increments and a rebuild differ; the message names the tables."""


def history(seed: int) -> History:
    """Return the history of a seed."""
    rng = random.Random(seed)
    loads = [_first_load(rng)] + [_load(rng) for _ in range(rng.randint(4, 9))]
    loads += _lost_and_found(rng) if rng.random() < 0.5 else []
    numbers = list(range(len(loads)))
    if rng.random() < 0.5:  # names of loads follow the clock, files may arrive in another order
        rng.shuffle(numbers)
    steps: History = []
    builds = rng.sample(range(len(loads) - 1), k=min(rng.choice([1, 1, 1, 2]), len(loads) - 1))
    for place, (number, load) in enumerate(zip(numbers, loads, strict=True)):
        steps.append({"do": "land", "number": number, **load})
        if place in builds:
            steps.append({"do": "build"})
            steps += _acts(rng)
    return [*steps, {"do": "build"}]


def books_history(seed: int, count: int = 60) -> History:
    """Return a history of so many random steps about closed days: each may be all that the next one meets."""
    rng = random.Random(seed)
    steps: History = [_sales(rng), {"do": "land", "number": 0, **_first_load(rng)}, {"do": "build"}]
    steps.append({"do": "close", "day": rng.choice(DAYS), "store": None})
    for number in range(1, count + 1):
        kind = rng.choices(["land", "close", "reopen", "post", "settings", "kill"], [40, 20, 12, 14, 8, 6])[0]
        match kind:
            case "land":
                verdicts = [_store(rng, each) for each in STORES] if rng.random() < 0.3 else None
                load = {"kind": "stores", "source": "live", "verdicts": verdicts} if verdicts else _load(rng)
                steps.append({"do": "land", "number": number, **load})
            case "post":
                steps.append({"do": "post", "period": rng.choice(PERIODS)})
            case "settings":
                steps += [_sales(rng), {"do": "build"}]
            case "kill":
                steps.append({"do": "kill", "place": rng.choice(["before_record", "after_record", "in_append"])})
            case _:
                day = rng.choice([*DAYS, *PERIODS[:2]]) if kind == "close" else rng.choice(DAYS)
                steps.append({"do": kind, "day": day, "store": rng.choice([None, None, 1, 2])})
        if rng.random() < 0.4:
            steps.append({"do": "build"})
    return [*steps, {"do": "build"}]


def _sales(rng: random.Random) -> Step:
    return {"do": "settings", "environ": {}, "file": f"[sales]\n{rng.choice(SALES)}\n{rng.choice(COMPONENTS)}"}


def play(steps: History, folder: Path) -> int:
    """Run a history and return how many builds were increments.

    Raise Difference where a rebuild gives other rows, or the books other amounts than their replay.
    """
    world, increments = run(steps, folder)
    _compare_books(world)
    before = world.contents()
    result = world.build(full=True)
    after = world.contents()
    if not result.full:
        raise Difference("a full build was asked for, and an increment was made")
    if wrong := [name for name, rows in after.items() if before[name] != rows]:
        raise Difference(f"{len(wrong)} tables after {increments} increments: {', '.join(wrong)}")
    return increments


def run(steps: History, folder: Path) -> tuple[World, int]:
    """Run a history and return its world and how many builds were increments."""
    world = World(folder, **SETTINGS)
    environ = dict(SETTINGS)
    increments = 0
    figures: dict[str, list[Any]] = {}  # what periods were closed with, until one of their days is closed or reopened
    for step in steps:
        match step["do"]:
            case "build":
                increments += not closing.build_and_record(world.settings).full
                figures = _unchanged_figures(world, figures)
            case "settings":
                environ |= step["environ"]
                if "file" in step:
                    world.settings.file.write_text(step["file"], encoding="utf-8")
                world.settings = load_settings(world.settings.file, environ)
            case "close" | "reopen":
                _close(world, step)
                figures.pop(step["day"][:7], None)
            case _:
                _take(world, step)
    return world, increments


def _take(world: World, step: Step) -> None:
    """Take a step that changes neither settings nor closes."""
    match step["do"]:
        case "land":
            _land(world, step)
        case "totals":
            file = world.settings.file.with_name("totals.csv")
            file.write_text(step["csv"], encoding="utf-8")
            import_totals(ledger_of(world.data), file)
        case "statement":
            file, mapping = (world.settings.file.with_name(name) for name in ("statement.csv", "mapping.toml"))
            file.write_text(step["csv"], encoding="utf-8")
            mapping.write_text(MAPPING, encoding="utf-8")
            with contextlib.suppress(SettlementError):  # the same rows as before
                import_statements(ledger_of(world.data), file, read_mapping(mapping), supersede=True)
        case "post":
            with contextlib.suppress(FinanceError):
                publish(world.settings)
                closing.post(world.settings, step["period"])
        case "publish":
            publish(world.settings)
        case "kill":
            _kill(world, step["place"])
        case "alter":  # a planted fault: the warehouse file, behind the build's back
            with duckdb.connect(str(warehouse_file(world.data))) as con:
                con.execute(step["sql"])


def shrink(steps: History, fails: Callable[[History], bool]) -> History:
    """Return a smaller history that still fails: without any step, load or verdict that it does not need."""
    steps = _without(steps, fails)
    for place, step in enumerate(steps):
        if step["do"] == "land":
            steps = _with_fewer_verdicts(steps, place, fails)
    return steps


def main(arguments: list[str] | None = None) -> int:
    """Run seeds for so many minutes; print what fails; return 1 where anything did."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=None, help="run this one alone")
    parser.add_argument("--books", action="store_true", help="histories of closed days")
    asked = parser.parse_args(arguments)
    seeds = iter([asked.seed]) if asked.seed is not None else iter(range(time.time_ns() // 1000, sys.maxsize))
    ends, done, increments, failed = time.monotonic() + asked.minutes * 60, 0, 0, 0
    for seed in seeds:
        steps = (books_history if asked.books else history)(seed)
        error = _error(steps)
        if isinstance(error, int):
            increments += error
        else:
            failed += 1
            print(f"seed {seed}: {error}")
            small = shrink(steps, lambda steps: not isinstance(_error(steps), int))
            print("\n".join(json.dumps(step) for step in small))
            print(f"run it again: python -m tests.histories{' --books' * asked.books} --seed {seed}", flush=True)
        done += 1
        if time.monotonic() > ends:
            break
    print(f"{done} histories with {increments} increments: {failed} differ from a rebuild")
    return int(failed > 0)


def _error(steps: History) -> int | str:
    """Return how many increments a history took, or its fault."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return play(steps, Path(folder))
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is reported with its seed
            return f"{type(error).__name__}: {error}"


def _without(items: list[Any], fails: Callable[[list[Any]], bool]) -> list[Any]:
    """Drop ever smaller runs of items for as long as what remains fails."""
    size = len(items) // 2
    while size:
        start = 0
        while start < len(items):
            fewer = items[:start] + items[start + size :]
            if fails(fewer):
                items = fewer
            else:
                start += size
        size //= 2
    return items


def _with_fewer_verdicts(steps: History, place: int, fails: Callable[[History], bool]) -> History:
    def with_these(verdicts: list[Any]) -> History:
        return [*steps[:place], {**steps[place], "verdicts": verdicts}, *steps[place + 1 :]]

    kept = _without(steps[place]["verdicts"], lambda verdicts: bool(verdicts) and fails(with_these(verdicts)))
    return with_these(kept)


def _first_load(rng: random.Random) -> Step:
    return {"kind": "orders", "source": "live", "verdicts": [_order(rng, each) for each in ORDERS]}


def _load(rng: random.Random) -> Step:
    kind = rng.choice(["orders", "orders", "orders", "stores", "menus"])
    verdicts = {
        "orders": lambda: [_order(rng, rng.choice(ORDERS)) for _ in range(rng.choice([1, 1, 2, 5]))],
        "stores": lambda: [_store(rng, each) for each in rng.sample(STORES, rng.randint(1, 3))],
        "menus": lambda: [_menu(rng, each) for each in rng.sample(MENUS, rng.randint(1, 2))],
    }[kind]()
    source = "archive" if rng.random() < 0.2 else "live"
    if source == "archive" and rng.random() < 0.5:  # an archive that does not say when
        verdicts = [each | {"at": None} for each in verdicts]
    return {"kind": kind, "source": source, "verdicts": verdicts}


def _lost_and_found(rng: random.Random) -> list[Step]:
    """Return loads in which one order is not found three times, and is then perhaps found again."""
    lost, start = rng.choice(ORDERS), rng.randint(24, 90)
    gap = rng.choice([1, 1, 0])  # 404s less than an hour apart count once
    misses = [{"id": lost, "at": start + gap * n, "verdict": "missing"} for n in range(3)]
    loads = [{"kind": "orders", "source": "live", "verdicts": [each]} for each in misses]
    if rng.random() < 0.5:
        found = _order(rng, lost) | {"at": start + rng.randint(0, 9)}
        loads.append({"kind": "orders", "source": "live", "verdicts": [found]})
    return loads


def _verdict(rng: random.Random, entity: int) -> Step:
    """Return a verdict without a document, or the start of one with a document."""
    verdict = rng.choices(["accepted", "missing", "quarantined", "failed"], [10, 1, 1, 1])[0]
    found: Step = {"id": entity, "at": rng.randint(0, 96), "verdict": verdict}
    return found | ({"reason": "wrong_type", "pointer": "/items/0/price"} if verdict == "quarantined" else {})


def _order(rng: random.Random, order_id: int) -> Step:
    """Return a verdict about an order; one that was accepted differs in a few things from its canonical document."""
    found = _verdict(rng, order_id)
    if found["verdict"] != "accepted":
        return found
    document = order(order_id, store_id=rng.choice([1, 1, 2]), status=rng.choice(["done", "preparing"]))
    changes: dict[str, Callable[[], Any]] = {
        "status": lambda: rng.choice(["done", "refused", "preparing", None]),
        "store_id": lambda: rng.choice([*STORES, 9, None]),
        "created_at": lambda: rng.choice(TIMES),
        "requested_time": lambda: rng.choice(TIMES),
        "platform": lambda: rng.choice(["web", "kiosk", None]),
        "subtotal_price": lambda: rng.choice(["12.50", "18.50", "7.25", None]),
        "loyalty_discount": lambda: rng.choice(["0.5", None]),
        "tip": lambda: rng.choice(["0.0001", "0", "-1", "2.55"]),
        "total_price": lambda: rng.choice(["13.0001", "19.0001", "14", None]),
        "has_user_phone": lambda: None,
        "deliveries": lambda: rng.choice(
            [
                None,
                [],
                [{"id": 7, "type": "drone", "has_confirmation_code": False, "status": rng.choice(["done", "x"])}],
            ]
        ),
        "items": lambda: rng.choice([None, [], document["items"][:1], document["items"][::-1]]),
    }
    for name in rng.sample(list(changes), rng.choice([0, 1, 1, 2, 4])):
        document[name] = changes[name]()
    for item in document["items"] or []:
        if rng.random() < 0.3:
            item["product_id"] = rng.choice([*PRODUCTS, None])
            item["quantity"] = rng.choice([1, 2, -1, None])
            item["name"] = rng.choice(["Soup", "Broth"])
        if rng.random() < 0.3:
            item["modifiers"] = item["modifiers"][:1]
        if rng.random() < 0.2:
            item["modifiers"] = [{**each, "action": "swap"} for each in item["modifiers"]]
    customer = rng.choice(["a", "b", None])
    return found | {"document": document, "customer": customer, "personal": rng.choice([[], [], ["user_name"]])}


def _delivery(rng: random.Random) -> Step:
    status, kind = rng.choice(["done", "confirmed"]), rng.choice(["drone", "own_delivery"])
    return {"id": rng.choice([7, 8]), "type": kind, "has_confirmation_code": False, "status": status}


def _menu(rng: random.Random, menu_id: int) -> Step:
    found = _verdict(rng, menu_id)
    if found["verdict"] == "accepted":
        products = rng.sample(PRODUCTS, rng.randint(0, 3))
        found["document"] = menu(menu_id, products, p100=rng.choice(["5.25", "6"]), p101=rng.choice(["2", "5.25"]))
    return found


def _store(rng: random.Random, store_id: int) -> Step:
    found = _verdict(rng, store_id)
    if found["verdict"] == "accepted":
        found["document"] = store(
            store_id,
            name=rng.choice(["North", "South", None]),
            timezone=rng.choice(ZONES),
            currency=rng.choice(["EUR", "EUR", "PEN", None]),
            menu_ids=rng.choice([[], [1], [1, 2], [2, 2], [3]]),
        )
    return found


def _acts(rng: random.Random) -> History:
    """Return what people do between two builds, mostly nothing."""
    acts: History = []
    if rng.random() < 0.15:
        acts.append({"do": "settings", "environ": rng.choice(CHANGED_SETTINGS)})
        acts.append({"do": "build"})
    if rng.random() < 0.3:
        day, count, amount = rng.choice(DAYS), rng.randint(0, 3), rng.choice(["13.5001", ""])
        rows = [f"{day},{each},{count},{amount},total_price,counted" for each in STORES[:2]]
        acts.append({"do": "totals", "csv": "\n".join([",".join(HEADER), *rows, ""])})
    acts += _statement(random.Random(repr(rng.getstate())))
    if rng.random() < 0.3:
        acts.append({"do": "close", "day": rng.choice(DAYS), "store": rng.choice([None, 1])})
        if rng.random() < 0.3:
            acts.append({"do": "reopen", "day": acts[-1]["day"], "store": acts[-1]["store"]})
    return acts


def _statement(rng: random.Random) -> History:
    """Return a statement of some orders, now and then; drawn apart, so that older seeds draw what they drew."""
    if rng.random() > 0.7:
        return []
    rows = [
        f"S{rng.randint(1, 2)},P{rng.randint(1, 2)},{rng.choice(STORES)},{rng.choice([*ORDERS, 99])},{day},{amount}"
        for day, amount in ((rng.choice(DAYS), rng.choice(["13.5001", "13", "14"])) for _ in range(rng.randint(1, 4)))
    ]
    return [{"do": "statement", "csv": "\n".join(["statement,payout,store,order,day,amount", *rows, ""])}]


def _land(world: World, step: Step) -> None:
    # The name of a load follows its number, not the order of landing.
    world.land(
        step["kind"],
        [dict(each) for each in step["verdicts"]],
        step["source"],
        load_id=f"20261101T{step['number']:012d}-abcdef",
    )


def _close(world: World, step: Step) -> None:
    store_id = step["store"]
    publish(world.settings)
    try:
        if step["do"] == "close":
            days = period_of(world.settings, step["day"]) if step["day"] in PERIODS else one_day(step["day"])
            closing.close(world.settings, days, store_id, exceptions=WHY)
        else:
            closing.reopen(world.settings, dt.date.fromisoformat(step["day"]), store_id, WHY)
    except FinanceError:
        return  # nothing of the day is there: the history goes on without it


def _kill(world: World, place: str) -> None:
    """Leave what a kill leaves: a build that recorded nothing, or that shows nothing of it, or half an entry."""
    if place == "in_append":
        folder = ledger_of(world.data).folder
        folder.mkdir(parents=True, exist_ok=True)
        count = sum(1 for _ in ledger_of(world.data).entries())
        (folder / f"{count + 1:06d}-posted.parquet").write_bytes(b"PAR1")
        with (folder / "ledger.jsonl").open("ab") as lines:
            lines.write(b'{"act":"posted","at":')
    elif build(world.settings).rows["audit.pending_restatements"] and place == "after_record":
        closing.record_restatements(world.settings)


def _unchanged_figures(world: World, before: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return what each period was closed with; raise Difference if that of a closed one has changed."""
    closed = "select * exclude (posted_amount, reversed_amount, total_amount) from mart.period_books"
    now: dict[str, list[Any]] = {}
    for row in _rows(world, f"{closed} where closed_amount <> 0 order by all"):
        now.setdefault(row["period"], []).append(row)
    if wrong := [period for period, rows in before.items() if now.get(period) != rows]:
        raise Difference(f"closed figures changed: {', '.join(wrong)}")
    return now


def _compare_books(world: World) -> None:
    """Compare the books with their replay from the ledger's files, and what they come to with the orders there are."""
    books = replay(world.data / "ledger")
    key = ("store_id", "sale_class", "currency", "measure")
    shown = {
        (row["period"], *(row[name] for name in key)): [
            row[f"{side}_amount"] for side in ("closed", "posted", "reversed")
        ]
        for row in _rows(world, "from mart.period_books")
    }
    _compare("books by period", shown, books.periods)
    days = {
        (str(row["business_date"]), *(row[name] for name in key)): [
            row[f"{side}_amount"] for side in ("closed", "posted", "unposted", "current")
        ]
        for row in _rows(world, "from mart.closed_days")
    }
    _compare("closed days", {place: amounts[:3] for place, amounts in days.items()}, books.days)
    there: dict[tuple[Any, ...], list[Decimal]] = {}
    for row in _rows(world, "from mart.order_reconciliation"):
        day = str(row["business_date"])
        if books.close_of(day, row["store_id"]) is not None:
            for measure, amount in measures(row):
                place = (day, row["store_id"], row["sale_class"], row["currency"], measure)
                there[place] = [there.get(place, [Decimal(0)])[0] + amount]
    _compare("current amounts", {place: amounts[3:] for place, amounts in days.items()}, there)
    _compare(
        "closed + posted + unposted",
        {place: [sum(amounts, Decimal(0))] for place, amounts in books.days.items()},
        there,
    )


def _compare(what: str, shown: dict[Any, list[Any]], expected: dict[Any, list[Any]]) -> None:
    """Raise Difference where two have other amounts; a place that one lacks has none."""
    for place in sorted({*shown, *expected}, key=str):
        one, other = shown.get(place, []), expected.get(place, [])
        if [each for each in one if each] != [each for each in other if each] or (any(one) and one != other):
            raise Difference(f"{what}: {place} has {one}, expected {other}")


def _rows(world: World, query: str) -> list[dict[str, Any]]:
    with duckdb.connect(str(warehouse_file(world.data)), read_only=True) as con:
        return con.sql(query).to_arrow_table().to_pylist()


if __name__ == "__main__":
    sys.exit(main())
