"""Receipts of single orders, out of a real release."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.report.explain import receipt
from pipelines.report.text import fitted, money, plain, width

if TYPE_CHECKING:
    from conftest import World


GOLDEN = Path(__file__).parent / "golden"


def told(world: World, order_id: int) -> str:
    """Return a receipt as one text."""
    with world.open() as db:
        return "\n".join(receipt(db, order_id))


def ids(world: World) -> list[int]:
    """Return every order of the release."""
    return [order_id for (order_id,) in world.all("select order_id from core.orders order by order_id")]


@pytest.mark.parametrize("order_id", [11, 14, 31])
def test_a_receipt_is_the_one_on_file(world: World, order_id: int) -> None:
    """Changed over time, off in its lines, beyond 15 digits: each receipt is golden to the letter."""
    golden = (GOLDEN / f"receipt-{order_id}.txt").read_text(encoding="utf-8")
    assert re.sub(r"load \d{8}T\d+-[0-9a-f]+", "load LOAD", told(world, order_id)) + "\n" == golden


def test_every_amount_names_its_place(world: World) -> None:
    """Lines, modifiers and parts stand with their amount and their JSON pointer, the hash above them."""
    said = told(world, 11)
    for place in ("/items/0/price", "/items/0/modifiers/0/price", "/items/1/price", "/subtotal_price", "/total_price"):
        assert re.search(rf"\d\.\d\d  {place}$", said, re.MULTILINE), place
    ((sha256,),) = world.all("select _payload_sha256 from core.orders where order_id = 11")
    assert f"  sha256 {sha256}\n  first seen 2026-11-02 03:00:00Z, last checked 2026-11-02 03:00:00Z" in said


def test_sums_are_written_out(world: World) -> None:
    """The total's arithmetic stands with its residual, to the cent."""
    said = told(world, 13)
    assert "total = subtotal + delivery + tip − discount − loyalty" in said
    assert "= 25.50 + 2.00 + 0.00 − 0.00 − 0.00 = 27.50" in said
    assert "stated 27.51, residual 0.01" in said


def test_what_is_not_stated_is_no_zero(world: World) -> None:
    """A part that is null is told so, and nothing is computed from it."""
    said = told(world, 15)
    assert "25.50 + 2.00 + not stated − 0.00 − 0.00\n" in said
    assert "stated: 27.50; residual: cannot be told" in said


def test_an_amount_of_18_digits_is_whole(world: World) -> None:
    """No digit of a long amount is lost on a receipt."""
    assert "98,765,432,109,876.5469  /total_price" in told(world, 31)


def test_versions_stand_with_what_changed(world: World) -> None:
    """Each version has its times, its hash and its changes."""
    said = told(world, 11)
    assert "1. seen 2026-11-01 18:00:00Z to 2026-11-01 18:00:00Z: preparing, total 27.50" in said
    assert "status: preparing → delivered" in said
    assert "total_price: 27.50 → 30.50" in said
    assert len(re.findall(r"^     sha256 [0-9a-f]{64}$", said, re.MULTILINE)) == 2


def test_receipts_fit_80_columns(world: World) -> None:
    """No line of any receipt is wider than 80 columns or ends in blanks."""
    with world.open() as db:
        lines = [line for order_id in ids(world) for line in receipt(db, order_id)]
    assert len(lines) > 100
    assert [line for line in lines if width(line) > 80 or line != line.rstrip()] == []


def test_no_personal_data_is_told(world: World, canaries: tuple[str, ...]) -> None:
    """What is personal stands as sealed, empty or not given, and its values stand nowhere."""
    said = "\n".join(told(world, order_id) for order_id in ids(world))
    assert [canary for canary in canaries if canary in said] == []
    assert "phone: sealed; e-mail: sealed" in said
    assert "instructions: sealed" in said
    assert "confirmation code sealed" in said


def test_a_name_cannot_drive_the_terminal(world: World) -> None:
    """Escape codes and signs that turn the writing round are replaced."""
    said = told(world, 16)
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER} =1+1" in said


def test_the_command_prints_the_receipt(world: World) -> None:
    """The command prints what the function returns, without colours, and survives a poor encoding."""
    done = world.command("explain", "order", "11")
    assert (done.returncode, done.stdout.rstrip("\n")) == (0, told(world, 11))
    poor = world.command("explain", "order", "11", PYTHONIOENCODING="ascii")
    assert poor.returncode == 0
    assert "2 ? Pizza" in poor.stdout


def test_an_unknown_order_is_told_with_what_is_known_of_it(world: World) -> None:
    """Refused, or never asked for: exit 1, and a sentence says which; nothing personal is in it."""
    refused = world.command("explain", "order", "41")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert "order 41 is in no release" in refused.stderr
    assert re.search(r"audit\.quarantine: \w+ at /total_price, 1 time, last 2026-11-02 03:00:00Z", refused.stderr)
    unknown = world.command("explain", "order", "99")
    assert unknown.returncode == 1
    assert "The work list does not name it" in unknown.stderr
    assert "audit.quarantine does not name it" in unknown.stderr


def test_usage_and_settings_end_with_2(world: World) -> None:
    """An id that is none, and a wrong setting."""
    assert world.command("explain", "order", "twelve").returncode == 2
    assert world.command("explain", "order", "11", ORDERMART_LANDING__MAX_BYTES="many").returncode == 2


def test_without_a_release_it_says_how_to_make_one(world: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An empty data folder: exit 1, one sentence."""
    empty = str(tmp_path_factory.mktemp("empty"))
    done = world.command("explain", "order", "11", ORDERMART_DATA__DIR=empty)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "there is no release" in done.stderr


@pytest.mark.parametrize(
    ("amount", "said"),
    [("0", "0.00"), ("-1234.5", "-1,234.50"), ("0.0001", "0.0001"), ("99999999999999.1230", "99,999,999,999,999.123")],
)
def test_amounts_are_exact(amount: str, said: str) -> None:
    """Two decimals at least, four at most, none lost."""
    from decimal import Decimal  # noqa: PLC0415 -- used here alone

    assert money(Decimal(amount)) == said


def test_texts_keep_their_columns() -> None:
    """Wide signs take two columns; what is cut is marked; line ends cannot break a row."""
    assert fitted("寿司セット", 6) == "寿司… "
    assert width(fitted("é", 4)) == 4
    assert plain("a\nb\tc\u2028d") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c\N{REPLACEMENT CHARACTER}d"


def test_a_table_that_disagrees_is_told(world: World, tmp_path: Path) -> None:
    """Sums are worked out anew: an amount of the release that is another one is named, beside our own."""
    release = world.settings.data_dir / "published" / "current" / "ordermart.duckdb"
    wrong = tmp_path / "wrong.duckdb"
    wrong.write_bytes(release.read_bytes())
    with duckdb.connect(str(wrong)) as db:
        db.execute("update mart.order_lines set line_amount = 99 where order_id = 12 and line_no = 1")
        db.execute("update mart.order_reconciliation set total_residual = 7 where order_id = 12")
        said = "\n".join(receipt(db, 12))
    assert "line amount = 2 × 10.50 + 2 × (1 × 1.25) = 23.50" in said
    assert "mart.order_lines has 99.00: tell who keeps the pipeline" in said
    assert "mart.order_reconciliation has 7.00: tell who keeps the pipeline" in said


def test_the_work_list_is_asked_about_an_unknown_order(world: World) -> None:
    """Waiting, given up as a dead letter, or not known to the service: each is said, with who asked for it."""
    with WorkList(inbox_path(world.settings.data_dir)) as work:
        work.add("orders", [77, 78], "asked for")
        work.started("orders", [78])
        work.failed("orders", 78, "timeout")
    waiting, dead = (world.command("explain", "order", each).stderr for each in ("77", "78"))
    assert "The work list: it is to be fetched, due 20" in waiting
    assert "asked for by: asked for; tries: 0" in waiting
    assert "it could not be fetched (timeout); `ordermart retry` takes it up again" in dead


def test_an_older_release_is_explained_as_far_as_it_goes(world: World, tmp_path: Path) -> None:
    """Without the tables that came later a receipt leaves out what they tell, and nothing else."""
    release = world.settings.data_dir / "published" / "current" / "ordermart.duckdb"
    older = tmp_path / "older.duckdb"
    older.write_bytes(release.read_bytes())
    with duckdb.connect(str(older)) as db:
        for table in ("mart.order_lines", "mart.price_variances", "audit.order_rules", "core.order_versions"):
            db.execute(f"drop table {table}")
        said = "\n".join(receipt(db, 11))
    assert "/items/0/modifiers/0/price" in said
    assert "line amount" not in said
    assert "Versions" not in said
