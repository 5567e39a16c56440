"""Old names and values of ledger entries, mapped to the current ones on reading.

Entries and their row files are hashed and never rewritten: what was written under an old name stays so on disk. This
is the only module that knows the old names.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.literals import literal, literals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

_COLUMNS: dict[str, dict[str, str]] = {
    "restated": {
        "number": "restatement_no",
        "seal_no": "close_entry_no",
        "part": "measure",
        "sealed": "closed_amount",  # stored name
        "restated_before": "prior_restated_amount",
        "now": "current_amount",
        "difference": "restatement_amount",
        "now_business_date": "current_business_date",
        "now_sale_class": "current_sale_class",
        "now_timezone": "current_timezone",
        "now_payload_sha256": "current_payload_sha256",
        "now_fetched_at": "current_fetched_at",
    },
    "posted": {"number": "restatement_no"},
    "totals": {"day": "business_date", "orders": "order_count", "money_part": "amount_field"},
}
_SALE_CLASSES = {"gone": "deleted"}
_VALUES: dict[str, dict[str, str]] = {
    "sale_class": _SALE_CLASSES,
    "current_sale_class": _SALE_CLASSES,
    "measure": {"orders": "order_count"},
    "cause": {
        "late_order": "late_arriving",
        "changed_by_partner": "source_changed",
        "gone": "deleted",
        "moved_to_another_day": "business_date_changed",
        "mended_quarantine": "released_from_quarantine",
        "our_code_changed": "pipeline_changed",
    },
}
_BODY: dict[str, dict[str, str]] = {
    "closed": {"orders": "order_count"},
    "posted": {"rows": "restatement_count"},
    "totals": {"totals": "total_count"},
}
_SETTINGS: dict[str, dict[str, str]] = {
    "business_day": {"time": "time_field"},
    "sales": {"counted": "counted_statuses", "excluded": "excluded_statuses"},
    "menus": {"product_ids": "product_id_scope"},
    "formula": {"min_orders": "min_distinguishing_orders", "tolerated_noise": "max_violation_rate"},
}
_EXCEPTIONS = {"obstacles": "blockers"}  # stored name
_RULES = {"part": "rule_target"}
# The words by which older closes recorded the orders of a population.
_DIMENSIONS = {
    "platform": "platform",
    "dispatch method": "dispatch_method",
    "store": "store_id",
    "status": "status",
    "sale class": "sale_class",
}
_SETTING = re.compile(r"orders of \[\[formula\.rule\]\] no\. ([0-9]+)")
_HELD = re.compile(r"(with|without) (.+)")
_HOLDS = {"with": "1", "without": "0"}
_AMONG = re.compile(rf"({'|'.join(_DIMENSIONS)}) (other than )?(.+)", re.DOTALL)
_MORE = re.compile(r" and [0-9]+ more$")  # values that are not listed
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_SPAN = re.compile(rf"until (?P<until>{_DAY})|from (?P<since>{_DAY})|(?P<first>{_DAY}) to (?P<last>{_DAY})")


def current_body(act: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of an entry under current names."""
    body = _renamed(body, _BODY.get(act, {}))
    if body.get("exceptions"):
        body["exceptions"] = _renamed(body["exceptions"], _EXCEPTIONS)
    if "settings" in body:
        tables = body["settings"].items()
        body["settings"] = {table: _renamed(keys, _SETTINGS.get(table, {})) for table, keys in tables}
    if "rules" in body:
        body["rules"] = [_with_conditions(_renamed(rule, _RULES)) for rule in body["rules"]]
    if body.get("release") and "release_as_of" not in body:
        body["release_as_of"] = _time_of(body["release"])
    return body


def current_rows(act: str, rows: pa.Table) -> pa.Table:
    """Return the rows of an entry under current names."""
    renamed = rows.rename_columns([_COLUMNS.get(act, {}).get(name, name) for name in rows.column_names])
    for place, name in enumerate(renamed.column_names):
        if value_of := _value_of(name):
            values = [None if value is None else value_of(value) for value in renamed[name].to_pylist()]
            renamed = renamed.set_column(place, renamed.field(place), pa.array(values, renamed.field(place).type))
    return renamed


def select_rows(act: str, paths: Iterable[Path], names: Iterable[str]) -> str:
    """Return a DuckDB select of these columns, under current names, of entries' row files.

    Column `entry_no` is the entry's number, which a file's name starts with. A column that older entries lack is null.
    """
    by_columns: dict[tuple[str, ...], list[Path]] = {}
    for path in paths:
        by_columns.setdefault(tuple(pq.read_schema(path).names), []).append(path)
    old = {new: name for name, new in _COLUMNS.get(act, {}).items()}
    names = list(names)
    return " union all ".join(
        "select cast(split_part(parse_filename(filename), '-', 1) as bigint) as entry_no, "
        + ", ".join(
            _expression(name, name if name in stored else old[name])
            if {name, old.get(name)} & {*stored}
            else f"null as {name}"
            for name in names
        )
        + f" from read_parquet([{literals(files)}], filename = true)"
        for stored, files in by_columns.items()
    )


def _with_conditions(rule: dict[str, Any]) -> dict[str, Any]:
    """Return the rule of a population with the conditions on its orders, which older closes recorded in words alone."""
    if "open_parts" not in rule or "conditions" in rule:
        return rule
    texts = [] if rule["scope"] == "all orders" else rule["scope"].split("; ")
    conditions = [_condition_of(text) for text in texts]
    return {**rule, "conditions": None if None in conditions else conditions}


def _condition_of(text: str) -> dict[str, Any] | None:
    """Return the condition that words such as 'platform other than web' or 'from 2026-11-01' state; None if unclear."""
    if match := _SETTING.fullmatch(text):
        return {"dimension": "rule_setting", "is_other": False, "values": [match[1]]}
    if match := _HELD.fullmatch(text):
        return None if match[2] == "a date" else {"part": match[2], "is_other": False, "values": [_HOLDS[match[1]]]}
    if match := _AMONG.fullmatch(text):
        dimension, values = _DIMENSIONS[match[1]], match[3].split(", ")
        if _MORE.search(values[-1]):
            return None
        plain = [None if value == "not stated" else value for value in values]
        return {"dimension": dimension, "is_other": match[2] is not None, "values": plain}
    spans = [_SPAN.fullmatch(span) for span in text.split(" and ")]
    if all(spans):
        limits = [(span["first"] or span["since"], span["last"] or span["until"]) for span in spans if span]
        return {"dimension": "business_date", "is_other": False, "spans": [list(each) for each in limits]}
    return None


def _expression(name: str, stored: str) -> str:
    whens = " ".join(f"when {literal(old)} then {literal(new)}" for old, new in _VALUES.get(name, {}).items())
    return f'case "{stored}" {whens} else "{stored}" end as {name}' if whens else f'"{stored}" as {name}'


def _value_of(column: str) -> Callable[[str], str] | None:
    if column == "sale_classes":  # several, joined by + in the order of their names
        return lambda text: "+".join(sorted(_SALE_CLASSES.get(name, name) for name in text.split("+")))
    values = _VALUES.get(column)
    return (lambda text: values.get(text, text)) if values else None


def _renamed(body: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in body.items()}


def _time_of(release: str) -> str | None:
    """Return the time in the id of a release that had no field for it; None if it has none."""
    try:
        moment = dt.datetime.strptime(release.partition("-")[0], "%Y%m%dT%H%M%S%f").replace(tzinfo=dt.UTC)
    except ValueError:
        return None
    return moment.isoformat()
