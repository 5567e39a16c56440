"""The morning page: what it says of a run, and that it is safe to open."""

from __future__ import annotations

import datetime as dt
import html
import re
import shutil
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.finance.reconciliation import accept_breaks
from pipelines.ledger import User
from pipelines.notify import Alarm, update_alarms
from pipelines.record import NIGHT, WEBHOOKS, Run, forget_old, runs, save
from pipelines.report.explain import money
from pipelines.report.page import scale
from pipelines.report.page.headline import OpenMatters, headline
from pipelines.report.page.morning import write_morning_page
from pipelines.report.settlement_views import aging
from pipelines.settings import load_settings
from tests.recorded import recorded
from tests.report.conftest import MARKUP, RULE, World, order
from tests.report.pages import Page, offences

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW = dt.datetime(2026, 11, 2, 3, 20, tzinfo=dt.UTC)
GOOD = recorded(NOW, is_new=True, landed={"orders": {"accepted": 10, "quarantined": 1}})
MOST_BYTES = 1_500_000


@pytest.fixture(scope="module")
def morning(world: World, tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a copy of the world, whose page these tests write."""
    folder = tmp_path_factory.mktemp("morning") / "world"
    shutil.copytree(world.folder, folder, symlinks=True)
    return World.at(folder)


@pytest.fixture
def written(morning: World, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Give `written(run)`: the page after a run; runs and alarms of the world are those that `written` is given."""
    shutil.rmtree(morning.settings.data_dir / "runs", ignore_errors=True)

    def write(run: Run = GOOD, *alarms: Alarm) -> str:
        evaluated_causes = {"run_failed", "outage", "incomplete", "verification"}
        update_alarms(morning.settings.data_dir, alarms, {}, evaluated_causes=evaluated_causes, now=NOW)
        save(morning.settings.data_dir, run)
        assert write_morning_page(morning.settings, run, NOW) == ""
        return (morning.settings.data_dir / "published" / "morning.html").read_text(encoding="utf-8")

    return write


def said(text: str) -> str:
    """Return the verdict and the next command as text."""
    block = re.findall(r'<div class="verdict.*?</div>', text, re.DOTALL)[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", block)).split())


@pytest.mark.slow
def test_page_is_self_contained_and_escaped(written: Callable[..., str], canaries: tuple[str, ...]) -> None:
    """No script, no request, no personal data or text of a document; a store's name is text."""
    text = written()
    assert offences(text) == []
    assert text.count("<svg") >= 5
    assert "cannot be read" not in text
    cells = {cell for table in Page(text).tables for row in table for cell in row}
    assert f"{MARKUP} (5)" in cells
    assert [canary for canary in (*canaries, "@SUM(1+1)", "\x1b", "\u202e") if canary in text] == []


def test_verdict_names_the_largest_break_and_its_command(written: Callable[..., str]) -> None:
    """What is new is said in one sentence, then by kind with amount and age; the first command explains the largest."""
    assert said(written()) == (
        "Needs attention: A new release is published; new: 4 orders don't add up, 1 order has a status that [sales] "
        "does not name, and more. First: ordermart explain order 14 to see where the largest break comes from "
        "4 orders don't add up, up to 0.50 USD, 0.0001 >0, 3.00 EUR, since 1 Nov 2026 "
        "1 order has a status that [sales] does not name, 27.4999 >0, since 1 Nov 2026 "
        "(write into [sales] counted_statuses or excluded_statuses: others 1) "
        "1 document is rejected or failed, since 2 Nov 2026 2 orders can't be tested, since 1 Nov 2026"
    )


def test_what_the_night_before_had_open_stands(written: Callable[..., str], morning: World) -> None:
    """It is folded into one line, and asks for attention only if an amount is off."""
    release = (morning.settings.data_dir / "published" / "current").resolve().name
    before = recorded(NOW - dt.timedelta(days=1))
    before.release = release
    save(morning.settings.data_dir, before)
    text = said(written(recorded(NOW)))
    assert text.startswith(
        "Needs attention: Nothing changed since the last release; nothing new is open. First: ordermart explain "
        "order 14 to see where the largest break comes from Standing: 4 orders don't add up, up to 0.50 USD"
    )
    state = {"alarms": [], "publication_due": None, "work_list": {}}
    stands = [OpenMatters("rejected", 12), OpenMatters("untested", 3)]
    shown = headline(recorded(NOW), state, stands)
    assert (shown.level, shown.new, list(shown.older_matters)) == ("good", [], stands)
    assert headline(recorded(NOW), state, [OpenMatters("rejected", 12, new=1)]).level == "warn"


@pytest.mark.slow
def test_unmapped_orders_are_not_called_good(tmp_path: Path) -> None:
    """Orders that all add up need attention while some are neither counted nor excluded: how many, how much, which."""
    made = World(tmp_path, f'[sales]\ncounted_statuses = ["delivered"]\n[formula]\nsubtotal_rule = "{RULE}"\n')
    made.land("stores", [{"id": 3, "name": "S", "timezone": "UTC", "currency": "USD", "menu_ids": []}])
    statuses = ("delivered", "lost", "being lost", "lost", "call 555 0199")
    made.land("orders", [order(number, status=status) for number, status in enumerate(statuses, 1)])
    made.publish()
    assert write_morning_page(made.settings, GOOD, NOW) == ""
    text = (made.settings.data_dir / "published" / "morning.html").read_text(encoding="utf-8")
    assert said(text) == (
        "Needs attention: A new release is published; new: 4 orders have a status that [sales] does not name. "
        "First: ordermart questions to see which statuses are neither counted nor excluded "
        "4 orders have a status that [sales] does not name, 110.00 USD, since 1 Nov 2026 "
        "(write into [sales] counted_statuses or excluded_statuses: lost 2, being lost 1, others 1)"
    )
    assert "555" not in text
    assert write_morning_page(made.settings, GOOD, NOW + dt.timedelta(days=20)) == ""
    text = (made.settings.data_dir / "published" / "morning.html").read_text(encoding="utf-8")
    end = (
        "Figures end on Sun 1 Nov: no order of a later day is known; orders were last fetched at 2026-11-02 03:00 UTC."
    )
    assert end in text, "the next day was over long ago"


FIRST_FIGURES = """
    select coalesce(sum(total_price) filter (business_date = date '2026-10-31'), 0), sum(total_price) from mart.orders
    where currency = ? and sale_class = 'counted' and business_date between date '2026-10-25' and date '2026-10-31'
"""


@pytest.mark.slow
def test_the_first_figures_are_those_of_complete_days(tmp_path: Path) -> None:
    """The last complete day and seven of each currency, by mart.orders; the unfinished day is in no figure."""
    made = World(tmp_path, '[sales]\ncounted_statuses = ["delivered"]\nexcluded_statuses = ["cancelled"]\n')
    zones = {3: ("America/New_York", "USD"), 5: ("Asia/Tokyo", "JPY")}
    made.land(
        "stores", [{"id": n, "name": f"S{n}", "timezone": zone, "currency": code} for n, (zone, code) in zones.items()]
    )
    orders = [
        order(
            day * 10 + store,
            store_id=store,
            created_at=f"{dt.datetime(2026, 11, 1, 16, 30, tzinfo=dt.UTC) - dt.timedelta(days=day):%Y-%m-%dT%H:%M:%SZ}",
            status="cancelled" if day % 5 == 4 else "delivered",
            tip=day,
            total_price=27.5 + day,
        )
        for day in range(16)  # of 1 November, which is not over in New York, back to 17 October
        for store in zones
    ]
    made.land("orders", orders)
    made.publish()
    assert write_morning_page(made.settings, GOOD, NOW) == ""
    text = (made.settings.data_dir / "published" / "morning.html").read_text(encoding="utf-8")
    end = "Figures end on Sat 31 Oct: orders were last fetched at 2026-11-02 03:00 UTC, before Sun 1 Nov was over"
    assert end in text
    shown = re.findall(r"<dt>Sales (?:on Sat|of 7 days to Sat) 31 Oct, (\w+)</dt><dd>([^<]*)<small>([^<]*)<", text)
    with made.open() as db:
        figures = {
            currency: [money(each, currency) for each in db.execute(FIRST_FIGURES, [currency]).fetchall()[0]]
            for _, currency in zones.values()
        }
    for currency, expected in figures.items():
        assert [amount for name, amount, _ in shown if name == currency] == expected
    assert [change for *_, change in shown if "week before" in change] == [change for *_, change in shown]
    days = next(table for table in Page(text).tables if "average order" in table[0])
    assert [row[0] for row in days[1:]] == ["Sat 31 Oct", "Sat 24 Oct", "7 days to 31 Oct", "7 days to 24 Oct"]


@pytest.mark.slow
def test_settlements_are_shown_from_orders_to_the_bank(written: Callable[..., str], settled_world: World) -> None:
    """By platform and currency, open items by kind and age, payouts overdue; no section where no statement is."""
    assert 'settlements"' not in written()
    assert write_morning_page(settled_world.settings, GOOD, NOW + dt.timedelta(days=20)) == ""
    text = (settled_world.settings.data_dir / "published" / "morning.html").read_text(encoding="utf-8")
    assert (offences(text), 'href="#settlements"' in text, len(text) < MOST_BYTES) == ([], True, True)
    assert "settlements differ" in said(text)
    tables = {table[0][0]: table[1:] for table in Page(text).tables if table[0][-1:] == ["currency"]}
    flow = {row[-1]: row[1:-1] for row in Page(text).tables[place_of(text, "net of costs")][1:]}
    ((ordered, eur),) = settled_world.all(
        "select sum(total_price) filter (currency = 'USD'), sum(total_price) filter (currency = 'EUR') "
        "from mart.orders where platform = 'web' and sale_class = 'counted'"
    )
    assert flow == {
        "USD": [money(ordered, "USD"), "83.00", "94.34", "70.54"],
        "EUR": [money(eur, "EUR"), "0.00", "0.00", "0.00"],
    }
    kinds = {(row[0], row[-1]): row[2:-1] for row in tables["what is open"]}
    assert kinds["amount differs", "USD"] == ["1", "0", "1", "0", "0.01"]
    assert kinds["settled twice", "USD"] == ["1", "1", "0", "0", "28.00"]
    assert kinds["not at bank", "USD"] == ["1", "1", "0", "0", "23.80"]
    assert sum(int(row[0]) for (kind, _), row in kinds.items() if kind == "never settled") == 5
    overdue = Page(text).tables[place_of(text, "payout")]  # all of one currency, which the caption names
    assert overdue[1:] == [["PO-000002", "web", "2026-11-09", "23.80"]]
    assert "Payouts overdue, USD" in text


@pytest.mark.slow
def test_open_items_name_the_days_of_each_age(settled_world: World) -> None:
    """In the terminal each amount follows its span, and the page's heads are spans, too."""
    by_age = [
        list(aging(settled_world.settings, dt.date(2026, 11, 1) + dt.timedelta(days=age))) for age in (30, 31, 90, 91)
    ]
    spans = [re.findall(r"amount differs: 0\.01 \((.*)\)", "\n".join(lines)) for lines in by_age]
    assert spans == [["up to 30 days: 0.01"], ["31 to 60 days: 0.01"], ["61 to 90 days: 0.01"], ["over 90 days: 0.01"]]
    assert write_morning_page(settled_world.settings, GOOD, NOW) == ""
    text = (settled_world.settings.data_dir / "published" / "morning.html").read_text(encoding="utf-8")
    head = Page(text).tables[place_of(text, "what is open")][0]
    assert head[3:6] == ["up to 14 days", "15 to 30 days", "over 30 days"]


def place_of(text: str, column: str) -> int:
    """Return the place of the table that has such a column."""
    return next(place for place, table in enumerate(Page(text).tables) if column in table[0])


def test_a_failed_run_says_so_and_keeps_the_figures(written: Callable[..., str]) -> None:
    """The page of a failed run has its errors, the command to find the cause, and the last release's figures."""
    figures = Page(written()).tables[-3:]
    failed = recorded(NOW, seconds=4, errors=("blocked by <a check>",))
    text = written(failed, Alarm("run_failed", "The last run failed."))
    assert said(text).startswith("Act: The run failed: nothing was published")
    assert "First: ordermart doctor" in said(text)
    assert "build: blocked by &lt;a check&gt;" in text
    assert Page(text).tables[-3:] == figures
    down = written(failed, Alarm("outage", "No answer."))
    assert said(down).startswith("Act: The partner service gave no usable answer")


def test_an_outage_in_mid_run_says_how_many_orders_are_of_tonight(written: Callable[..., str]) -> None:
    """The others are of the last good night, and the release has both."""
    half = recorded(NOW, seconds=4, landed={"orders": {"accepted": 30, "unchanged": 5}}, incomplete={"orders": ["35"]})
    half.steps[-1].asked, half.steps[-1].is_outage = 70, True
    text = said(written(half, Alarm("outage", "No answer.")))
    assert text.startswith("Act: The partner service stopped giving usable answers: 35 of 70 orders are of tonight")


def test_an_incomplete_run_is_not_called_good(written: Callable[..., str]) -> None:
    """A kind that is not up to date decides the verdict."""
    incomplete = recorded(NOW, seconds=4, incomplete={"menus": ["3 failed"]})
    text = said(written(incomplete, Alarm("incomplete:menus", "The menus are not up to date: 3 failed.")))
    assert text.startswith("Act: The menus are not up to date: 3 failed. First: ordermart run 4 orders don't add up")


def test_an_accepted_break_leaves_the_page(written: Callable[..., str], morning: World) -> None:
    """The page of the next run follows the ledger, also when the release is the same."""
    assert "explain order 14" in said(written())
    accept_breaks(morning.settings, [14], "as agreed", User(0))
    text = written(recorded(NOW, seconds=1.5))
    assert "Nothing changed since the last release" in text
    assert "explain order 51" in said(text)


def test_bars_follow_their_values(written: Callable[..., str]) -> None:
    """The bars of each waterfall are as long as their amounts, in proportion, and lead from one sum to the other."""
    found = re.findall(
        r"<b>\w+ ([\d,.]+) to \w+ ([\d,.]+), [^<]*</b>"
        r'.*?id="waterfall-\d+-chart-desc">Waterfall of \d+ orders: (.*?)\.</desc>(.*?)</svg>',
        written(),
        re.DOTALL,
    )
    assert len(found) >= 2
    for start, end, steps, drawn in found:
        amounts = [Decimal(step.rsplit("  ", 1)[1].replace(",", "")) for step in steps.split("; ")]
        assert Decimal(start.replace(",", "")) + sum(amounts) == Decimal(end.replace(",", ""))
        widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', drawn)]
        longest = max(range(len(amounts)), key=lambda place: abs(amounts[place]))
        for amount, width in zip(amounts, widths, strict=True):
            length = max(float(abs(amount / amounts[longest])) * widths[longest], 1.2)
            assert width == pytest.approx(length, abs=0.2)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([3375, None, 20], ["0", "1k", "2k", "3k", "4k"]),
        ([4, 1], ["0", "1", "2", "3", "4"]),
        ([], ["0", "1"]),
        ([-3, 12], ["-5", "0", "5", "10", "15"]),
        ([0.03], ["0", "0.01", "0.02", "0.03"]),
        ([Decimal("98765432110021.5569")], ["0", "20000G", "40000G", "60000G", "80000G", "100000G"]),
    ],
)
def test_an_axis_has_zero_all_values_and_round_ticks(values: list[Any], labels: list[str]) -> None:
    """Ticks are 1, 2 or 5 times a power of ten."""
    axis = scale(values)
    assert [label for _, label in axis.ticks] == labels
    assert [axis.ticks[0][0], axis.ticks[-1][0]] == [0, 1]
    assert all(0 <= axis.share(value) <= 1 for value in values if value is not None)


def test_before_the_first_release_there_is_a_page(tmp_path: Path) -> None:
    """A first run that fails writes a page, too; what a page cannot say never raises."""
    settings = load_settings(environ={"ORDERMART_DATA__DIR": str(tmp_path / "data")})
    (tmp_path / "data").mkdir()
    assert write_morning_page(settings, recorded(NOW, seconds=1, errors=("no",)), NOW) == ""
    text = (tmp_path / "data" / "published" / "morning.html").read_text(encoding="utf-8")
    assert "There is no release yet." in text
    assert offences(text) == []
    shutil.rmtree(tmp_path / "data")
    (tmp_path / "data").write_text("not a folder")
    assert "could not be written" in write_morning_page(settings, GOOD, NOW)


def test_a_release_keeps_the_page_of_its_first_run(written: Callable[..., str], morning: World) -> None:
    """The copy in a release is not written again."""
    written()
    copy = (morning.settings.data_dir / "published" / "current" / "morning.html").read_text(encoding="utf-8")
    assert offences(copy) == []
    written(recorded(NOW, seconds=77.7))
    assert copy == (morning.settings.data_dir / "published" / "current" / "morning.html").read_text(encoding="utf-8")


def test_a_run_for_webhooks_leaves_the_night_on_the_page(written: Callable[..., str]) -> None:
    """In the morning the page still has the night's errors and counts, below those of the run after it."""
    night = NOW + dt.timedelta(days=1)  # after those of the other tests
    failed = recorded(night, seconds=4, landed={"menus": {"accepted": 7}}, errors=("no",))
    assert "The last night" not in written(failed)
    later = night + dt.timedelta(hours=1)
    alarm = Alarm("run_failed", "The last night failed: build: no.")
    text = written(recorded(later, seconds=1, kind=WEBHOOKS), alarm)
    assert said(text).startswith("Act: The last night failed: build: no. First: ordermart doctor")
    assert "The last night, ended 3 November, 03:20 UTC after 4.0 s: failed" in text
    assert text.count('<p class="bad">build: no') == 1
    assert ["menus", "7"] in [row for table in Page(text).tables for row in table]


@pytest.mark.parametrize(
    ("waits", "dead", "sentence", "command"),
    [
        (None, 0, "Nothing changed since the last release; new: 2 documents are rejected", "ordermart status"),
        (
            "2026-11-02T04:00:00Z",
            3,
            "Changes wait for the next release; new: 2 documents are rejected",
            "ordermart retry",
        ),
    ],
)
def test_the_verdict_names_what_requests_again(waits: str | None, dead: int, sentence: str, command: str) -> None:
    """Changes that wait are not called none; ids of the dead-letter queue need a command, rejected ones do not."""
    state = {
        "alarms": [],
        "publication_due": waits,
        "work_list": {"orders": {"due": 0, "dead": dead}},
    }
    shown = headline(recorded(NOW, seconds=1), state, [OpenMatters("rejected", 2, new=2)])
    assert shown.sentence.startswith(sentence)
    assert shown.command == command


def test_own_tables_come_last_in_the_verdict() -> None:
    """A wrong model takes neither the place of breaks and settlements nor that of their command."""
    alarms = [{"cause": "models", "text": "2 own tables or checks are not made: own.a, own.b. See meta.models."}]
    state = {"alarms": alarms, "publication_due": None, "work_list": {}}
    run = recorded(NOW, seconds=1)
    shown = headline(run, state, [OpenMatters("break", 3, new=1), OpenMatters("settlement", 2, new=2)], 7)
    assert shown.sentence.endswith("2 settlements differ; 2 own tables or checks are not made.")
    assert shown.command == "ordermart explain order 7"
    assert headline(run, state, []).command == "ordermart models check"


def test_runs_are_remembered_within_bounds(tmp_path: Path) -> None:
    """Many small runs do not push out the nights."""
    for minute in range(70):
        at = NOW + dt.timedelta(minutes=minute)
        save(tmp_path, recorded(at, kind=NIGHT if minute < 3 else WEBHOOKS))
    forget_old(tmp_path)
    kept = runs(tmp_path)
    assert (len(kept), sum(run.kind == NIGHT for run in kept)) == (63, 3)


def many(db: duckdb.DuckDBPyConnection, table: str, times: int, **replaced: str) -> None:
    """Insert the rows of a table again and again, with other keys; `each` is their number."""
    columns = ", ".join(f"{value} as {name}" for name, value in replaced.items())
    db.execute(
        f"insert into {table} select rows.* replace ({columns}) from {table} as rows, range(1, {times}) as t(each)"
    )


@pytest.mark.slow
def test_the_page_stays_small_however_long_the_history(morning: World, tmp_path: Path) -> None:
    """With hundreds of stores, reasons, rules and breaks the page is below 1.5 MB, its rows are cut."""
    folder = tmp_path / "world"
    shutil.copytree(morning.folder, folder, symlinks=True)
    big = World.at(folder)
    (big.settings.data_dir / "published" / "morning.html").unlink(missing_ok=True)
    database = (big.settings.data_dir / "published" / "current").resolve() / "ordermart.duckdb"
    database.chmod(0o644)
    other: dict[str, Any] = {"store_id": "store_id + each * 1000", "currency": "'C' || (each % 40)"}
    with duckdb.connect(str(database)) as db:
        many(db, "core.stores", 150, store_id="store_id + each * 1000", name="repeat('long name ', 40)")
        many(db, "mart.daily_store_sales", 150, **other, store_name="repeat('long name ', 40)")
        many(db, "mart.daily_reconciliations", 150, **other, business_date="business_date - each::integer")
        many(db, "mart.order_reconciliation", 150, **other, order_id="order_id + each * 1000")
        many(db, "audit.coverage", 150, store_id="store_id + each * 1000")
        many(db, "audit.quarantine", 150, reason="repeat('reason', 50) || each", entity_id="each")
        many(db, "audit.formula_populations", 150, population_no="each", scope="repeat('scope ', 99) || each")
    assert write_morning_page(big.settings, GOOD, NOW) == ""
    file = big.settings.data_dir / "published" / "morning.html"
    text = file.read_text(encoding="utf-8")
    assert "cannot be read" not in text
    assert offences(text) == []
    assert file.stat().st_size < MOST_BYTES / 2
    assert "First 12 of" in text
