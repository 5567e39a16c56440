"""The raw assets: stores, menus and orders, fetched from the partner service and landed.

Dagster reads the annotations at runtime, so this file does not postpone them.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import dagster as dg

from pipelines.assets.failures import failing_by_sentence
from pipelines.assets.healing import heal
from pipelines.assets.preflight import check_before_run
from pipelines.assets.shortfalls import noted
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.lock import resumed_since
from pipelines.ingest.loop import Ingested, ingest
from pipelines.ingest.plan import plan_orders, report_plan_results
from pipelines.ingest.request import add_requested
from pipelines.settings.kinds import Kind

OWNER = "team:data"
REPORT = "plan and its results"
_NEEDS = {"settings", "progress", "partner", "run_lock"}
_SHOWN = 20  # rejected documents in the log


class StoreRequest(dg.Config):
    """Whether to request the list of stores, besides the stores on the work list, and to repair the data folder."""

    lists: bool = True
    repairs: bool = True  # false: the command that runs the job has repaired it, under the same lock


class MenuRequest(dg.Config):
    """Which menus to request besides those that store records name."""

    menu_ids: str = ""


class OrderRequest(dg.Config):
    """Which orders to request besides those on the work list."""

    order_ids: str = ""
    order_id_range: str = ""
    plans: bool = True


@dg.asset(
    key=["raw", "stores"],
    group_name="raw",
    owners=[OWNER],
    kinds={"parquet"},
    required_resource_keys=_NEEDS,
    description="Store records from the list of stores; one document per distinct record.",
)
def raw_stores(context: dg.AssetExecutionContext, config: StoreRequest) -> dg.MaterializeResult[Any]:
    """Ingest every store that the service lists, or only those that are due; first, repair the data folder."""
    with failing_by_sentence():
        check_before_run(context.resources.settings)
        healed = heal(context.resources.settings, is_hint=not config.lists) if config.repairs else []
    return _ingest(context, "stores", lists=config.lists, report=lambda _ingested: healed)


@dg.asset(
    key=["raw", "menus"],
    deps=[["raw", "stores"]],
    group_name="raw",
    owners=[OWNER],
    kinds={"parquet"},
    required_resource_keys=_NEEDS,
    description="Menus that store records or a request name; one document per distinct menu.",
)
def raw_menus(context: dg.AssetExecutionContext, config: MenuRequest) -> dg.MaterializeResult[Any]:
    """Ingest every menu that is due."""

    def request(work: WorkList, since: datetime | None) -> None:
        add_requested(work, menu_ids_file=config.menu_ids, unless_done_since=since)

    return _ingest(context, "menus", request)


@dg.asset(
    key=["raw", "orders"],
    deps=[["raw", "stores"]],
    group_name="raw",
    owners=[OWNER],
    kinds={"parquet"},
    required_resource_keys=_NEEDS,
    description="Orders on the work list (the interface cannot list them); one document per distinct order.",
)
def raw_orders(context: dg.AssetExecutionContext, config: OrderRequest) -> dg.MaterializeResult[Any]:
    """Ingest every order that is due, also those that the planner finds due again."""
    settings = context.resources.settings
    report: list[str] = []

    def request(work: WorkList, since: datetime | None) -> None:
        add_requested(
            work,
            order_ids_file=config.order_ids,
            order_id_range=config.order_id_range,
            unless_done_since=since,
        )
        if config.plans:
            report.extend(plan_orders(settings, work))

    return _ingest(context, "orders", request, report=lambda ingested: [*report, *_fetch_report(settings, ingested)])


def _fetch_report(settings: Any, ingested: Ingested) -> list[str]:
    with WorkList(inbox_path(settings.data_dir)) as work:
        return report_plan_results(settings, work, ingested.loads)


def _ingest(
    context: dg.AssetExecutionContext,
    kind: Kind,
    request: Callable[[WorkList, datetime | None], None] | None = None,
    *,
    lists: bool = True,
    report: Callable[[Ingested], list[str]] = lambda _: [],
) -> dg.MaterializeResult[Any]:
    settings = context.resources.settings
    since = resumed_since(settings.data_dir)
    with failing_by_sentence():
        ingested = ingest(
            settings,
            kind,
            context.resources.progress,
            request=None if request is None else lambda work: request(work, since),
            lists=lists,
            session=context.resources.partner,
        )
    counts = {verdict: ingested.counts[verdict] for verdict in sorted(ingested.counts)}
    context.log.info("%s: %s", kind, ", ".join(f"{n} {v}" for v, n in counts.items()) or "nothing was due")
    for refusal in ingested.refused[:_SHOWN]:
        context.log.warning("%s %s: %s %s", kind, refusal.id, refusal.reason, refusal.pointer or "")
    for sentence in ingested.shortfalls:
        context.log.error("%s: %s", kind, sentence)
    sentences = report(ingested)
    for sentence in sentences:
        context.log.info(sentence)
    reported = {REPORT: "\n".join(sentences)} if sentences else {}
    return dg.MaterializeResult(
        metadata={"dagster/row_count": ingested.requested, **counts, **reported, **noted(ingested)}
    )
