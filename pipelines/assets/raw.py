"""The raw assets: stores, menus and orders, fetched from the partner service and landed.

Dagster reads the annotations, so they are not put off to strings here.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import dagster as dg

from pipelines.assets.healing import heal
from pipelines.assets.lock import resumed_since
from pipelines.assets.plan import plan_orders, report_plan_results
from pipelines.assets.pull import Pulled, pull
from pipelines.assets.request import ask_for
from pipelines.inbox.receiver import inbox_path
from pipelines.inbox.worklist import WorkList

SAID = "what was planned, and what came of it"
_NEEDS = {"settings", "progress", "run_lock"}


class StoreRequest(dg.Config):
    """Whether to ask for the list of stores, besides the stores that the work list holds."""

    lists: bool = True


class MenuRequest(dg.Config):
    """Which menus to pull besides those that store records name."""

    menu_ids: str = ""


class OrderRequest(dg.Config):
    """Which orders to pull besides those that the work list already holds."""

    order_ids: str = ""
    order_id_range: str = ""
    plans: bool = True


@dg.asset(
    key=["raw", "stores"],
    group_name="raw",
    required_resource_keys=_NEEDS,
    description="Store records, from the list of stores; one document per distinct record.",
)
def raw_stores(context: dg.AssetExecutionContext, config: StoreRequest) -> dg.MaterializeResult[Any]:
    """Pull every store that the service lists, or only those that are due; first, repair the data folder."""
    healed = heal(context.resources.settings)
    return _landed(context, "stores", lists=config.lists, then=lambda _pulled: healed)


@dg.asset(
    key=["raw", "menus"],
    deps=[["raw", "stores"]],
    group_name="raw",
    required_resource_keys=_NEEDS,
    description="Menus that store records or a request name; one document per distinct menu.",
)
def raw_menus(context: dg.AssetExecutionContext, config: MenuRequest) -> dg.MaterializeResult[Any]:
    """Pull every menu that is due."""

    def ask(work: WorkList, since: datetime | None) -> None:
        ask_for(work, menu_ids_file=config.menu_ids, unless_done_since=since)

    return _landed(context, "menus", ask)


@dg.asset(
    key=["raw", "orders"],
    deps=[["raw", "stores"]],
    group_name="raw",
    required_resource_keys=_NEEDS,
    description="Orders that the work list holds: the interface cannot list them. One document per distinct order.",
)
def raw_orders(context: dg.AssetExecutionContext, config: OrderRequest) -> dg.MaterializeResult[Any]:
    """Pull every order that is due, those included that the planner finds due again."""

    def ask(work: WorkList, since: datetime | None) -> None:
        ask_for(
            work,
            order_ids_file=config.order_ids,
            order_id_range=config.order_id_range,
            unless_done_since=since,
        )
        if config.plans:
            said.extend(plan_orders(context.resources.settings, work))

    said: list[str] = []
    settings = context.resources.settings
    return _landed(context, "orders", ask, then=lambda pulled: [*said, *_told(settings, pulled)])


def _told(settings: Any, pulled: Pulled) -> list[str]:
    with WorkList(inbox_path(settings.data_dir)) as work:
        return report_plan_results(settings, work, pulled.loads)


def _landed(
    context: dg.AssetExecutionContext,
    kind: Any,
    ask: Callable[[WorkList, datetime | None], None] | None = None,
    *,
    lists: bool = True,
    then: Callable[[Pulled], list[str]] | None = None,
) -> dg.MaterializeResult[Any]:
    settings = context.resources.settings
    since = resumed_since(settings.data_dir)
    pulled: Pulled = pull(
        settings,
        kind,
        context.resources.progress,
        ask=None if ask is None else lambda work: ask(work, since),
        lists=lists,
    )
    counts = {verdict: pulled.counts[verdict] for verdict in sorted(pulled.counts)}
    context.log.info("%s: %s", kind, ", ".join(f"{n} {v}" for v, n in counts.items()) or "nothing was due")
    for refusal in pulled.refused[:20]:
        context.log.warning("%s %s: %s %s", kind, refusal.id, refusal.reason, refusal.pointer or "")
    said = [] if then is None else then(pulled)
    for sentence in said:
        context.log.info(sentence)
    told = {SAID: "\n".join(said)} if said else {}
    return dg.MaterializeResult(metadata={"dagster/row_count": pulled.asked, **counts, **told})
