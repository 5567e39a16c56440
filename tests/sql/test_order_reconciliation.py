"""mart.order_reconciliation: total beside parts, subtotal beside lines, and what explains the rest."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.warehouse import catalogue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.sql.conftest import Run

STEPS = (
    "workings.order_formula_amounts",
    "workings.order_residual_causes",
    "mart.order_reconciliation",
)
PARTS = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")
OBSERVED = "observed/unrounded"
USUAL = "unit_price/no_modifiers/all_add/before_discount/unrounded"
AFTER = "unit_price/no_modifiers/all_add/after_discount/half_even_1_per_order"
RULES = [
    {"rule_target": "total", "rule": OBSERVED, "rule_parameters": [1, 1, 1, -1, -1]},
    {"rule_target": "total", "rule": "without_tip/unrounded", "rule_parameters": [1, 1, 0, -1, -1]},
    {
        "rule_target": "total",
        "rule": "observed/half_even_0_per_order",
        "rounding_mode": "half_even",
        "rule_parameters": [1, 1, 1, -1, -1],
        "kept_decimals": 0,
        "rounded_per": "order",
    },
    {"rule_target": "subtotal", "rule": USUAL, "rule_parameters": [0, 0, None, None, None, 0]},
    {
        "rule_target": "subtotal",
        "rule": AFTER,
        "rounding_mode": "half_even",
        "rule_parameters": [0, 0, None, None, None, 1],
        "kept_decimals": 1,
        "rounded_per": "order",
    },
]
STATED = ("10", "2.2", "1.3", "0.5", "0.1", "12.9")


def reconciled(run_table: Run, *amounts: str | None, **others: Any) -> dict[str, Any]:
    """Return the one row of an order with these six amounts, the total last; see reconciled_orders."""
    (row,) = reconciled_orders(run_table, amounts, **others)
    return row


@pytest.mark.parametrize(("rule", "held"), [(OBSERVED, "1.3"), ("without_tip/unrounded", "0"), (None, None)])
def test_what_the_total_has_of_the_tip_is_said(run_table: Run, rule: str | None, held: str | None) -> None:
    """The tip, nothing of it, or unknown without a rule; no component adds anything."""
    row = reconciled(run_table, *STATED, total_rule=rule)
    assert (row["tip_in_total"], row["components_amount"]) == (held and Decimal(held), 0)


def test_shares_of_tips_add_up_over_platforms() -> None:
    """Of two platforms one's totals contain no tip: sales without tips and the share are of like amounts."""
    names = ("order_id", "platform", "total_price", "tip", "tip_in_total")
    rows = ((1, "web", "12.00", "2.00", "2.00"), (2, "ios", "10.00", "2.00", "0"), (3, "ios", "10.00", "2.00", None))
    orders = [dict(zip(names, row, strict=True)) | {"currency": "EUR", "sale_class": "counted"} for row in rows]
    (macro,) = [each for each in catalogue.macros() if each.name == "tip_shares"]
    with duckdb.connect() as con:
        con.execute("create schema mart")
        con.execute(
            "create table mart.order_reconciliation as select unnest(?::struct(order_id int, platform text, "
            "total_price decimal(18, 4), tip decimal(18, 4), tip_in_total decimal(18, 4), currency text, "
            "sale_class text)[], recursive := true)",
            [orders],
        )
        found = con.execute(macro.sql + " order by platform").fetchall()
    assert [row[2:] for row in found] == [
        ("ios", 2, 1, Decimal(10), Decimal(2), 2 / 12),
        ("web", 1, 0, Decimal(10), Decimal(2), 2 / 12),
    ]


def reconciled_orders(
    run_table: Run,
    *orders: Sequence[str | None],
    lines: tuple[str | None, ...] = ("7", "3"),
    total_rule: str | None = OBSERVED,
    subtotal_rule: str | None = USUAL,
    populations: Sequence[dict[str, Any]] = (),
    absent: Sequence[str] = (),
    **modifiers: str,
) -> list[dict[str, Any]]:
    """Return the rows of orders with six amounts each, the total last, all with these amounts of lines."""
    ids = range(1, len(orders) + 1)
    placed = {"sale_class": "counted", "currency": "EUR"}
    rules = {"total_rule": total_rule, "subtotal_rule": subtotal_rule}
    return run_steps(
        run_table,
        {
            "mart.orders": [
                {"order_id": order_id} | placed | dict(zip(PARTS, amounts, strict=True))
                for order_id, amounts in zip(ids, orders, strict=True)
            ],
            "mart.order_lines": [
                {"order_id": order_id, "line_no": number, "line_amount": amount}
                for order_id in ids
                for number, amount in enumerate(lines, 1)
            ],
            "audit.order_rules": [
                {"order_id": order_id} | rules | {"subtotal_population_no": 0, "total_population_no": 0}
                for order_id in ids
            ],
            "audit.formula_populations": list(populations),
            "workings.order_line_sums": [
                {"order_id": order_id, "line_no": 1, "quantity": 1, "is_whole": True} | modifiers for order_id in ids
            ],
            "audit.formula_rules": RULES,
            "workings.order_field_issues": [{"order_id": order_id, "missing_fields": [*absent]} for order_id in ids],
        },
    )


def run_steps(run_table: Run, given: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the rows of the table, made from the rows of its steps."""
    known, rows = dict(given), []
    for name in STEPS:
        rows = run_table(name, {read: known[read] for read in catalogue.table(name).depends_on if read in known})
        known[name] = rows
    return rows


@pytest.mark.parametrize("array", ["items", "items/*/modifiers", "items/*/modifiers/*/modifiers"])
def test_absent_array_is_the_cause_that_is_left(run_table: Run, array: str) -> None:
    """Of a subtotal break alone, after what explains it to the cent; a field or an array that is null is none."""
    notes = [f"{array}=absent", "tip=null"]
    row = reconciled(run_table, "11.23", *STATED[1:5], "14.13", absent=notes)
    assert (row["verdict"], row["subtotal_likely_cause"]) == ("subtotal_break", "absent_array")
    assert row["absent_fields"] == [array]
    assert reconciled(run_table, "11.3", *STATED[1:5], "14.2", absent=notes)["subtotal_likely_cause"] == "tip"
    assert reconciled(run_table, *STATED, absent=notes)["subtotal_likely_cause"] is None
    assert reconciled(run_table, *STATED[:5], "14.33", absent=notes)["total_likely_cause"] is None
    assert reconciled(run_table, "11.23", *STATED[1:], absent=[f"{array}=null"])["subtotal_likely_cause"] is None


@pytest.mark.duckdb2
def test_balanced(run_table: Run) -> None:
    """Where lines make the subtotal and parts the total, exactly, the order is balanced."""
    row = reconciled(run_table, *STATED)
    assert (row["formula_total"], row["total_residual"]) == (Decimal("12.9"), 0)
    assert (row["line_amount"], row["formula_subtotal"], row["subtotal_residual"]) == (10, 10, 0)
    assert (row["verdict"], row["reason"], row["missing_parts"]) == ("balanced", None, [])
    assert (row["unallocated_amount"], row["total_likely_cause"], row["subtotal_likely_cause"]) == (0, None, None)


@pytest.mark.duckdb2
@pytest.mark.parametrize(
    ("subtotal", "total", "verdict"),
    [
        ("10", "12.9001", "total_break"),
        ("10.0001", "12.9001", "subtotal_break"),
        ("10.0001", "12.9", "both_break"),
    ],
)
def test_there_is_no_tolerance(run_table: Run, subtotal: str, total: str, verdict: str) -> None:
    """A hundredth of a cent is off, in the total, in the subtotal or in both."""
    assert reconciled(run_table, subtotal, *STATED[1:5], total)["verdict"] == verdict


@pytest.mark.parametrize("missing", range(6))
def test_missing_field_is_not_zero(run_table: Run, missing: int) -> None:
    """An order without one of the six amounts is indeterminate, and the amount is named."""
    row = reconciled(run_table, *[None if n == missing else each for n, each in enumerate(STATED)])
    assert (row["verdict"], row["total_residual"], row["missing_parts"]) == ("indeterminate", None, [PARTS[missing]])
    lines = "; subtotal: not stated" if missing == 0 else ""
    assert row["reason"] == "total: a price field is missing" + lines


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"subtotal_rule": None, "lines": (None, None)}, "subtotal: no rule is in force"),
        ({"lines": ()}, "subtotal: no lines"),
        ({"lines": ("7", None)}, "subtotal: a line has no amount"),
        ({"total_rule": None}, "total: no rule is in force"),
    ],
)
def test_indeterminate_orders_have_a_reason(run_table: Run, change: dict[str, Any], reason: str) -> None:
    """Without a rule, lines or amounts an order is indeterminate, with a reason."""
    row = reconciled(run_table, *STATED, **change)
    assert (row["verdict"], row["reason"]) == ("indeterminate", reason)
    unknown = "formula_total" if reason.startswith("total") else "formula_subtotal"
    assert row[unknown] is None, "also of an order without lines under a rule: no lines, no sum"


def test_break_wins_over_an_unknown_residual(run_table: Run) -> None:
    """A total break is reported although the subtotal is indeterminate, and vice versa."""
    row = reconciled(run_table, *STATED[:5], "99", subtotal_rule=None, lines=(None,))
    assert (row["verdict"], row["reason"]) == ("total_break", "subtotal: no rule is in force")
    row = reconciled(run_table, *STATED[:2], None, *STATED[3:], lines=("3.33",))
    assert (row["verdict"], row["reason"]) == ("subtotal_break", "total: a price field is missing")


def test_the_rule_in_force_decides(run_table: Run) -> None:
    """A rule without the tip needs no tip; one that takes the discount off does; roundings are the rule's."""
    row = reconciled(run_table, "10", "2.2", None, "0.5", "0.1", "11.6", total_rule="without_tip/unrounded")
    assert row["verdict"] == "balanced"
    row = reconciled(run_table, "9.4", "0", "0", "0.55", "0", "8.85", subtotal_rule=AFTER)
    assert (row["formula_subtotal"], row["unallocated_amount"], row["verdict"]) == (
        Decimal("9.4"),
        Decimal("-0.6"),
        "balanced",
    )
    row = reconciled(run_table, "10.5", "0", "0", "0", "0", "10", total_rule="observed/half_even_0_per_order")
    assert (row["formula_total"], row["total_residual"]) == (10, 0)


CAUSES_OF_TOTALS = (
    ("-1.3", "tip"),
    ("1.3", "tip"),
    ("-2.2", "delivery"),
    ("0.5", "discount"),
    ("-0.1", "loyalty_discount"),
    ("-3", "line"),
    ("1.75", "modifiers"),
    ("0.01", None),
    ("1277.1", "factor_of_100"),
    ("-12.771", "factor_of_100"),
    ("-25.8", "sign"),
    ("-4.4", "sign_of_delivery"),
    ("-2.6", "sign_of_tip"),
    ("1", "sign_of_discount"),
    ("0.2", "sign_of_loyalty_discount"),
    ("0.77", None),
)


def test_a_likely_cause_of_the_total(run_table: Run) -> None:
    """One thing that explains the residual to the cent is named."""
    orders = [(*STATED[:5], str(Decimal("12.9") + Decimal(off))) for off, _ in CAUSES_OF_TOTALS]
    modifiers = {"add_own": "1.75", "other_own": "0", "add_once": "0.33", "other_once": "0"}
    rows = reconciled_orders(run_table, *orders, **modifiers)
    found = [(row["total_residual"], row["total_likely_cause"]) for row in rows]
    assert found == [(Decimal(off), cause) for off, cause in CAUSES_OF_TOTALS]


def test_a_total_that_was_rounded(run_table: Run) -> None:
    """A whole total less than one off is rounding; so is a half cent that was cut."""
    assert reconciled(run_table, *STATED[:5], "13")["total_likely_cause"] is None  # 0.1 is the loyalty discount, too
    assert reconciled(run_table, "10", "2.2", "1.3", "0.5", "0.7", "12")["total_likely_cause"] == "rounding"
    assert reconciled(run_table, "10.0055", "0", "0", "0", "0", "10")["total_likely_cause"] == "rounding"


@pytest.mark.parametrize(
    ("pattern", "off", "cause"),
    [
        (("constant", "0.99", None), "0.99", "constant_amount"),
        (("constant", "0.99", None), "0.98", None),
        (("constant", "1.3", None), "1.3", "constant_amount"),
        (("share", "0.08", "subtotal_less_discount"), "0.76", "share_of_a_base"),
        (("share", "0.08", "subtotal_less_discount"), "0.75", "share_of_a_base"),
        (("share", "0.08", "subtotal_less_discount"), "0.74", None),
        (("step", "0.05", None), "0.04", "rounding_step"),
        (("step", "0.05", None), "0.03", None),
        (("zero", "0", None), "-12.91", "zero_stated"),
    ],
)
def test_a_pattern_of_the_population_is_a_cause(
    run_table: Run, pattern: tuple[str, str, str | None], off: str, cause: str | None
) -> None:
    """The common trait of its population's exceptions is named, where it explains the order: before chance."""
    kind, value, base = pattern
    population = {"rule_target": "total", "population_no": 0, "residual_kind": kind}
    stated = ("10", "2.21", "1.3", "0.5", "0.1")
    row = reconciled(
        run_table,
        *stated,
        str(Decimal("12.91") + Decimal(off)),
        populations=[population | {"residual_value": value, "residual_base": base}],
    )
    assert row["total_likely_cause"] == cause


def test_two_causes_are_none(run_table: Run) -> None:
    """Where tip and delivery are the same amount, a residual of it names neither."""
    row = reconciled(run_table, "10", "2.2", "2.2", "0.5", "0.1", "11.6")
    assert (row["total_residual"], row["total_likely_cause"]) == (Decimal("-2.2"), None)


@pytest.mark.parametrize(
    ("subtotal", "cause"),
    [("17", "line"), ("11.75", "modifiers"), ("9.5", "discount"), ("1000", "factor_of_100"), ("-10", "sign")],
)
def test_a_likely_cause_of_the_subtotal(run_table: Run, subtotal: str, cause: str) -> None:
    """A line too many or too few, modifiers, the discount, a factor or a sign explain a subtotal as well."""
    total = str(Decimal(subtotal) + Decimal("2.9"))
    row = reconciled(
        run_table, subtotal, *STATED[1:5], total, add_once="1.75", other_once="0", add_own="1", other_own="0"
    )
    assert (row["verdict"], row["subtotal_likely_cause"], row["total_likely_cause"]) == ("subtotal_break", cause, None)


def test_the_largest_amounts(run_table: Run) -> None:
    """Amounts of fourteen digits and four decimals are added without losing or overflowing a digit."""
    most = "99999999999999.9999"
    row = reconciled(run_table, most, most, most, "-" + most, "-" + most, "-" + most, lines=(most, "0.0001"))
    assert row["formula_total"] == 5 * Decimal(most)
    assert row["total_residual"] == -6 * Decimal(most)
    assert (row["subtotal_residual"], row["unallocated_amount"]) == (Decimal("-0.0001"), Decimal("-0.0001"))
