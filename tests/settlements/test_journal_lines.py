"""The lines of the journal that statements of four platforms and the bank give: of ids, numbers, groups and periods."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from pipelines.finance.released import finance_sql

if TYPE_CHECKING:
    import duckdb


def test_lines_balance_and_settle_what_orders_say(con: duckdb.DuckDBPyConnection) -> None:
    """Of each entry nothing remains; receivables, clearing and unmatched are those of the tables, in every currency."""
    con.execute(f"create or replace temp table debits as {finance_sql('journal_settlements')}")

    def found(text: str) -> list[tuple[object, ...]]:
        return con.execute(f"{text} having sum(amount) <> 0 order by all").fetchall()

    entries = "select kind, entry_no, day, store_id, currency, sum(amount) as amount from debits group by all"
    assert found(entries) == []
    assert found("select platform, sum(amount) from debits where account_class = 'receivable' group by all") == [
        (platform, -amount)
        for platform, amount in con.execute(
            "select platform, sum(amount) from (select orders.platform, settled_amount as amount "
            "from mart.order_settlements inner join mart.orders as orders using (order_id) union all "
            "select platform, matched_amount from mart.settlement_matches "
            "where match_state = 'one_of' and difference > 0) group by all order by all"
        ).fetchall()
    ]
    assert found("select platform, sum(amount) from debits where account_class = 'clearing' group by all") == [
        *con.execute(
            "select platform, sum(amount) from (select platform, settled_amount as amount from mart.settlement_lines "
            "union all select platform, -amount - fee_amount from raw.bank_payouts) group by platform "
            "having sum(amount) <> 0 order by all"
        ).fetchall()
    ]
    assert found(
        "select platform, currency, sum(amount) from debits where account_class = 'clearing' group by all"
    ) == [
        *con.execute(
            "select platform, currency, sum(amount) from (select platform, currency, "
            "coalesce(difference, stated_amount, -bank_amount - bank_fee_amount) as amount from mart.payouts "
            "union all select platform, currency, net_amount - paid_amount from mart.settlement_statements "
            "where payout_ref is not null union all "
            "select platform, settled_currency, settled_amount from mart.settlement_lines where payout_ref is null) "
            "group by all having sum(amount) <> 0 order by all"
        ).fetchall()
    ]
    assert found("select currency, sum(amount) from debits where account_class = 'conversion' group by all") == [
        *con.execute(
            "select currency, sum(amount) from (select unnest([currency, settled_currency]) as currency, "
            "unnest([amount, -settled_amount]) as amount from mart.settlement_lines "
            "where currency <> settled_currency) group by all order by all"
        ).fetchall()
    ]
    assert found("select sum(amount) from debits where account_class = 'bank_fees'") == [(Decimal("0.35"),)]
    states = "select count(*) from mart.settlement_matches where match_rule in ('period', 'amount_and_time') and "
    assert con.execute(f"{states} match_state = 'group'").fetchall() > [(10,)]
    assert found("select platform, sum(amount) from debits where account_class = 'unmatched' group by all") == [
        *con.execute(
            "select platform, -sum(coalesce(their_amount - matched_amount, net_amount)) as amount "
            "from mart.settlement_matches where match_state <> 'no_order' group by all having amount <> 0 order by all"
        ).fetchall()
    ]


def test_accepted_breaks_are_written_off_to_the_cent(con: duckdb.DuckDBPyConnection) -> None:
    """Each with a class: lines of nobody, groups and periods, orders, commissions, payouts; without one nothing moves.

    Left in the receivable are orders that are not due, and those whose short numbers recur.
    """
    con.execute("begin")
    try:
        con.execute(
            "insert into raw.break_decisions (break_key, content) "
            "select break_key, content from audit.settlement_breaks"
        )
        assert con.execute(f"from ({finance_sql('journal_settlements')}) where kind = 'writeoff'").fetchall() == []
        con.execute(
            "update raw.break_decisions set entry_no = 50, account_class = 'to ' || split_part(break_key, ':', 1)"
        )
        con.execute(f"create or replace temp table debits as {finance_sql('journal_settlements')}")
        entries = "select kind, day, store_id, currency from debits group by all having sum(amount) <> 0"
        assert con.execute(entries).fetchall() == []
        found = dict(
            con.execute("select account_class, sum(amount) from debits where kind = 'writeoff' group by all").fetchall()
        )
        kinds = "select 'to ' || split_part(break_key, ':', 1), sum(amount) from audit.settlement_breaks group by all"
        amounts = dict(con.execute(kinds).fetchall())
        late = "select sum(amount) from audit.settlement_breaks where break_kind = 'late' and order_id is not null"
        assert found["to settlement"] == amounts["to settlement"] - con.execute(late).fetchall()[0][0]
        assert found["to statement"] == -amounts["to statement"]
        for name in ("to commission", "to period", "to group"):
            assert found[name] == amounts[name] != 0
        left = "select account_class, platform, sum(amount) from debits where "
        assert (
            con.execute(
                f"{left} account_class = 'clearing' and platform <> 'ifome' group by all having sum(amount) <> 0"
            ).fetchall()
            == []
        ), "of ifome no bank's file was imported"
        assert con.execute(f"{left} account_class = 'unmatched' group by all having sum(amount) <> 0").fetchall() == []
        receivable = (
            "select platform, sum(amount) from (select platform, amount from debits where account_class = 'receivable' "
            "union all select platform, ordered_amount from mart.order_settlements) "
            "group by all having sum(amount) <> 0 order by all"
        )
        unknown = (
            "select platform, sum(ordered_amount) from mart.order_settlements where settlement_state = 'unknown' "
            "and platform = 'ifome' or settlement_state = 'open' and not is_due group by all order by all"
        )
        assert con.execute(receivable).fetchall() == con.execute(unknown).fetchall() != []
    finally:
        con.execute("rollback")


def test_open_items_by_age_are_the_receivable(con: duckdb.DuckDBPyConnection) -> None:
    """By platform: what orders come to, less what statements settle of it in the journal."""
    items = f"select platform, sum(total) from ({finance_sql('aging')}) group by all"
    receivable = (
        f"select platform, sum(amount) from (select platform, amount from ({finance_sql('journal_settlements')}) "
        "where account_class = 'receivable' union all select orders.platform, ordered_amount "
        "from mart.order_settlements inner join mart.orders as orders using (order_id)) "
        "group by all having sum(amount) <> 0"
    )
    assert sorted(con.execute(items, ["2026-11-20"]).fetchall()) == sorted(con.execute(receivable).fetchall()) != []


def test_a_group_of_two_platforms_settles_each(con: duckdb.DuckDBPyConnection) -> None:
    """An order of a group was sold under an older name: its amount is credited there."""
    renamed = (
        "select max(settled.order_id) from mart.order_settlements as settled "
        "inner join mart.settlement_matches using (match_id) where match_rule = 'amount_and_time' "
        "and match_state = 'group'"
    )
    con.execute("begin")
    try:
        con.execute(f"update mart.orders set platform = 'older' where order_id = ({renamed})")
        amounts = con.execute(f"select total_price from mart.orders where order_id = ({renamed})").fetchall()
        debits = (
            f"select -sum(amount) from ({finance_sql('journal_settlements')}) where platform = 'older' group by kind"
        )
        assert con.execute(debits).fetchall() == amounts
    finally:
        con.execute("rollback")
