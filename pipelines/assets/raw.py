"""The raw assets: stores, menus and orders, fetched from the partner service and landed.

Dagster reads the annotations, so they are not put off to strings here.
"""

from typing import Any

import dagster as dg

from pipelines.assets.lock import goes_on_since
from pipelines.assets.pull import Pulled, pull
from pipelines.assets.request import ask_for

_NEEDS = {"settings", "progress", "run_lock"}


class MenuRequest(dg.Config):
    """Which menus to pull besides those that store records name."""

    menu_ids: str = ""


class OrderRequest(dg.Config):
    """Which orders to pull besides those that the work list already holds."""

    order_ids: str = ""
    order_id_range: str = ""


@dg.asset(
    key=["raw", "stores"],
    group_name="raw",
    required_resource_keys=_NEEDS,
    description="Store records, from the list of stores; one document per distinct record.",
)
def raw_stores(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
    """Pull every store that the service lists."""
    return _landed(context, "stores")


@dg.asset(
    key=["raw", "menus"],
    deps=[["raw", "stores"]],
    group_name="raw",
    required_resource_keys=_NEEDS,
    description="Menus that store records or a request name; one document per distinct menu.",
)
def raw_menus(context: dg.AssetExecutionContext, config: MenuRequest) -> dg.MaterializeResult[Any]:
    """Pull every menu that is due."""
    return _landed(context, "menus", menu_ids_file=config.menu_ids)


@dg.asset(
    key=["raw", "orders"],
    deps=[["raw", "stores"]],
    group_name="raw",
    required_resource_keys=_NEEDS,
    description="Orders that the work list holds: the interface cannot list them. One document per distinct order.",
)
def raw_orders(context: dg.AssetExecutionContext, config: OrderRequest) -> dg.MaterializeResult[Any]:
    """Pull every order that is due."""
    return _landed(context, "orders", order_ids_file=config.order_ids, order_id_range=config.order_id_range)


def _landed(context: dg.AssetExecutionContext, kind: Any, **request: str) -> dg.MaterializeResult[Any]:
    settings = context.resources.settings
    since = goes_on_since(settings.data_dir)
    pulled: Pulled = pull(
        settings,
        kind,
        context.resources.progress,
        ask=lambda work: ask_for(work, **request, unless_done_since=since),
    )
    counts = {verdict: pulled.counts[verdict] for verdict in sorted(pulled.counts)}
    context.log.info("%s: %s", kind, ", ".join(f"{n} {v}" for v, n in counts.items()) or "nothing was due")
    for refusal in pulled.refused[:20]:
        context.log.warning("%s %s: %s %s", kind, refusal.id, refusal.reason, refusal.pointer or "")
    return dg.MaterializeResult(metadata={"dagster/row_count": pulled.asked, **counts})
