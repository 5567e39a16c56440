"""Receipts of single orders, out of a real release."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.literals import one_line as plain
from pipelines.report.explain import NO_AMOUNT, money, receipt
from pipelines.report.text import fitted, width

if TYPE_CHECKING:
    from conftest import World


GOLDEN = Path(__file__).parent / "golden"


def receipt_of(world: World, order_id: int) -> str:
    """Return a receipt as one text."""
    with world.open() as db:
        return "\n".join(receipt(db, order_id))


def ids(world: World) -> list[int]:
    """Return every order of the release."""
    return [order_id for (order_id,) in world.all("select order_id from core.orders order by order_id")]


@pytest.mark.parametrize("order_id", [11, 14, 31])
def test_receipt_equals_golden_file(world: World, order_id: int) -> None:
    """Changed over time, with a subtotal break, beyond 15 digits: each receipt is golden to the letter."""
    golden = (GOLDEN / f"receipt-{order_id}.txt").read_text(encoding="utf-8")
    assert re.sub(r"load \d{8}T\d+-[0-9a-f]+", "load LOAD", receipt_of(world, order_id)) + "\n" == golden


def test_every_amount_has_its_pointer(world: World) -> None:
    """Lines, modifiers and price fields have their amount and JSON pointer, below the hash of the document."""
    text = receipt_of(world, 11)
    for place in ("/items/0/price", "/items/0/modifiers/0/price", "/items/1/price", "/subtotal_price", "/total_price"):
        assert re.search(rf"\d\.\d\d  {place}$", text, re.MULTILINE), place
    ((sha256,),) = world.all("select _payload_sha256 from core.orders where order_id = 11")
    assert f"  sha256 {sha256}\n  first seen 2026-11-02 03:00:00Z, last checked 2026-11-02 03:00:00Z" in text


def test_sums_are_written_out(world: World) -> None:
    """The arithmetic of the total is written out, with its residual to the cent."""
    text = receipt_of(world, 13)
    assert "total = subtotal + delivery + tip − discount − loyalty" in text
    assert "= 25.50 + 2.00 + 0.00 − 0.00 − 0.00 = 27.50" in text
    assert "stated 27.51, residual 0.01" in text


def test_missing_field_is_not_zero(world: World) -> None:
    """A null field is shown as not stated, and nothing is computed from it."""
    text = receipt_of(world, 15)
    assert "25.50 + 2.00 + not stated − 0.00 − 0.00\n" in text
    assert "stated: 27.50; residual: indeterminate" in text


def test_18_digit_amount_is_exact(world: World) -> None:
    """No digit of a long amount is lost on a receipt."""
    assert "98,765,432,109,876.5469  /total_price" in receipt_of(world, 31)


def test_versions_list_their_changes(world: World) -> None:
    """Each version has its times, its hash and its changes."""
    text = receipt_of(world, 11)
    assert "1. seen 2026-11-01 18:00:00Z to 2026-11-01 18:00:00Z: preparing, total 27.50" in text
    assert "status: preparing → delivered" in text
    assert "total_price: 27.50 → 30.50" in text
    assert len(re.findall(r"^     sha256 [0-9a-f]{64}$", text, re.MULTILINE)) == 2


def test_receipts_fit_80_columns(world: World) -> None:
    """No line of any receipt is wider than 80 columns or ends in blanks."""
    with world.open() as db:
        lines = [line for order_id in ids(world) for line in receipt(db, order_id)]
    assert len(lines) > 100
    assert [line for line in lines if width(line) > 80 or line != line.rstrip()] == []


@pytest.mark.slow
def test_receipts_have_no_personal_data(world: World, canaries: tuple[str, ...]) -> None:
    """Personal fields appear as encrypted, empty or not given, never with their values."""
    text = "\n".join(receipt_of(world, order_id) for order_id in ids(world))
    assert [canary for canary in canaries if canary in text] == []
    assert "phone: encrypted; e-mail: encrypted" in text
    assert "instructions: encrypted" in text
    assert "confirmation code encrypted" in text


def test_control_characters_are_replaced(world: World) -> None:
    """Escape codes and right-to-left overrides are replaced."""
    text = receipt_of(world, 16)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER} =1+1" in text


@pytest.mark.slow
def test_the_command_prints_the_receipt(world: World) -> None:
    """The command prints the function's result, without colours, and survives a poor encoding."""
    done = world.command("explain", "order", "11")
    assert (done.returncode, done.stdout.rstrip("\n")) == (0, receipt_of(world, 11))
    poor = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "explain", "order", "11", "--config", str(world.file)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **world.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert poor.returncode == 0
    assert "2 ? Pizza" in poor.stdout


@pytest.mark.slow
def test_unknown_order_exits_1_with_what_is_known(world: World) -> None:
    """Rejected, or never requested: exit 1 and one sentence, without personal data."""
    refused = world.command("explain", "order", "41")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert "order 41 is not in the current release" in refused.stderr
    assert re.search(r"audit\.quarantine: \w+ at /total_price, 1 time, last 2026-11-02 03:00:00Z", refused.stderr)
    unknown = world.command("explain", "order", "99")
    assert unknown.returncode == 1
    assert "It is not on the work list" in unknown.stderr
    assert "audit.quarantine has no row for it" in unknown.stderr


@pytest.mark.slow
def test_invalid_usage_and_settings_exit_2(world: World) -> None:
    """An invalid id, and an invalid setting."""
    assert world.command("explain", "order", "twelve").returncode == 2
    assert world.command("explain", "order", "11", ORDERMART_LANDING__MAX_BYTES="many").returncode == 2


@pytest.mark.slow
def test_missing_release_exits_1(world: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An empty data folder: exit 1, one sentence."""
    empty = str(tmp_path_factory.mktemp("empty"))
    done = world.command("explain", "order", "11", ORDERMART_DATA__DIR=empty)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "there is no release" in done.stderr


@pytest.mark.parametrize(
    ("amount", "text"),
    [("0", "0.00"), ("-1234.5", "-1,234.50"), ("0.0001", "0.0001"), ("99999999999999.1230", "99,999,999,999,999.123")],
)
def test_amounts_are_exact(amount: str, text: str) -> None:
    """Two decimals at least, four at most, none lost."""
    from decimal import Decimal  # noqa: PLC0415 -- used here alone

    assert money(Decimal(amount)) == text


def test_texts_keep_their_columns() -> None:
    """Wide characters take two columns; cut text is marked; line ends cannot break a row."""
    assert fitted("寿司セット", 6) == "寿司… "
    assert width(fitted("é", 4)) == 4
    assert plain("a\nb\tc\u2028d") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c\N{REPLACEMENT CHARACTER}d"


def test_undecided_subtotal_keeps_known_line_amounts(world: World, tmp_path: Path) -> None:
    """An order without a rule for its subtotal shows the lines' amounts that there are, and why one has none."""
    release = world.settings.data_dir / "published" / "current" / "ordermart.duckdb"
    undecided = tmp_path / "undecided.duckdb"
    undecided.write_bytes(release.read_bytes())
    with duckdb.connect(str(undecided)) as db:
        db.execute("update audit.order_rules set subtotal_rule = null, subtotal_basis = null where order_id = 12")
        lacks = "absent_fields = ['items/*/modifiers']"
        db.execute(f"update mart.order_reconciliation set subtotal_rule = null, {lacks} where order_id = 12")
        db.execute(
            "update mart.order_lines set line_amount = null, missing_amount_reason = 'undecided' "
            "where order_id = 12 and line_no = 1"
        )
        text = "\n".join(receipt(db, 12))
    assert "  The document lacks /items/*/modifiers.\n" in text
    assert "no line amount: subtotal rules that remain give this line different amounts" in " ".join(text.split())
    assert "line amount = 1 × 2.00 = 2.00" in text
    assert "subtotal: undecided, as the rules that remain differ" in text
    assert "no rule is in force" not in text
    assert "mismatch" not in text


def test_every_reason_for_a_missing_line_amount_has_a_sentence(world: World) -> None:
    """The receipt knows the reasons of the release, and no others."""
    ((reasons,),) = world.all("select enum_range(any_value(missing_amount_reason)) from mart.order_lines")
    assert NO_AMOUNT.keys() == set(reasons)


@pytest.mark.slow
def test_unknown_order_shows_its_work_list_entry(world: World) -> None:
    """A queued and a dead-lettered id are shown with their state and who requested them."""
    with WorkList(inbox_path(world.settings.data_dir)) as work:
        work.add("orders", [77, 78], "asked for")
        work.started("orders", [78])
        work.rejected("orders", [78], "no_id", 1)
    waiting, dead = (world.command("explain", "order", each).stderr for each in ("77", "78"))
    assert "Work list: queued, due 20" in waiting
    assert "requested by: asked for; attempts: 0" in waiting
    assert "in the dead-letter queue (no_id); `ordermart retry` queues it again" in dead
