"""`ordermart breaks`: list breaks, accept them, assign them and comment on them."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli.options import As, Config, Since, Until, given, load_settings, say

app = typer.Typer(help="List, accept, assign and comment on breaks.", no_args_is_help=True)
Orders = Annotated[list[int], typer.Argument(metavar="ORDER_ID...", help="Ids of orders with a break.")]


@app.command("list", short_help="List the open breaks, the largest first.")
def breaks_list(
    *,
    since: Since = "",
    until: Until = "",
    store: Annotated[int | None, typer.Option(help="Limit to this store id.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Include accepted breaks.")] = False,
    config: Config = None,
) -> None:
    """List the open breaks of the current release by currency, the largest first, with assignee and comment."""
    from pipelines.finance.periods import Selection
    from pipelines.finance.reconciliation import list_breaks
    from pipelines.report.closes_and_breaks import break_lines

    selection = Selection.between(since, until, store)
    say(break_lines(list_breaks(load_settings(config), selection), everything=everything))


@app.command("accept", short_help="Accept breaks, with a reason.")
def breaks_accept(
    orders: Orders,
    *,
    reason: Annotated[str, typer.Option(help="Why they are accepted; recorded in the ledger.")],
    name: As = "",
    config: Config = None,
) -> None:
    """Accept breaks: neither `reconcile` nor a close fails on them unless one of their amounts changes.

    Exit codes: 0 accepted; 1 an order has no open break, and nothing is accepted; 2 invalid usage.
    """
    from pipelines.finance.reconciliation import accept_breaks
    from pipelines.ledger.decisions import current_user
    from pipelines.report.closes_and_breaks import accepted_breaks

    done = accept_breaks(load_settings(config), orders, given("--reason", reason, "text"), current_user(name))
    say(accepted_breaks(done))


@app.command("assign")
def breaks_assign(
    orders: Orders,
    *,
    assignee: Annotated[str, typer.Option("--to", metavar="NAME", help="That person's name; recorded in the ledger.")],
    name: As = "",
    config: Config = None,
) -> None:
    """Assign breaks to a person.

    Exit codes: 0 recorded; 1 an order has no break, and nothing is recorded; 2 invalid usage.
    """
    from pipelines.finance.reconciliation import assign_breaks
    from pipelines.ledger.decisions import current_user

    done = assign_breaks(load_settings(config), orders, given("--to", assignee, "text"), current_user(name))
    say([f"Assigned {len(done.body['order_ids']):,} to {done.body['assignee']} as ledger entry {done.no}."])


@app.command("comment", short_help="Record a comment on breaks.")
def breaks_comment(
    orders: Orders,
    *,
    text: Annotated[str, typer.Option(help="The comment; recorded in the ledger.")],
    name: As = "",
    config: Config = None,
) -> None:
    """Record a comment on breaks; write no personal data: entries are never erased.

    Exit codes: 0 recorded; 1 an order has no break, and nothing is recorded; 2 invalid usage.
    """
    from pipelines.finance.reconciliation import comment_on_breaks
    from pipelines.ledger.decisions import current_user

    done = comment_on_breaks(load_settings(config), orders, given("--text", text, "text"), current_user(name))
    say([f"Commented on {len(done.body['order_ids']):,} as ledger entry {done.no}."])
