"""Describe the tables of a release by the Open Data Contract Standard v3, out of the contracts.

A release holds the text as contract.odcs.yaml, and docs/ the same.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import yaml

from pipelines.warehouse.catalogue.meta_tables import ABOUT
from pipelines.warehouse.catalogue.tables import checks, partition_of, released

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.warehouse.catalogue.tables import Table
    from pipelines.warehouse.contracts import Column

CONTRACT = "contract.odcs.yaml"
_WIDE = 1_000_000  # signs of a line: none is folded
_LOGICAL = {
    "BIGINT": "integer",
    "VARCHAR": "string",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "DOUBLE": "number",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
}


def odcs(own: Iterable[Table] = ()) -> str:
    """Return the contract as YAML, with the user's own tables if there are any."""
    contract: dict[str, Any] = {
        "apiVersion": "v3.2.0",
        "kind": "DataContract",
        "id": "ordermart",
        "name": "ordermart",
        "version": "1.0.0",
        "status": "active",
        "description": {
            "purpose": "Orders and menus of a partner ordering service, as sent and as answers that add up.",
            "limitations": "What the source does not state is listed in meta.not_available of each release.",
            "usage": "Open ordermart.duckdb read-only, or the Parquet folder of a table: see docs/BI.md.",
        },
        "schema": [_as_object(table) for table in sorted([*released(), *own], key=lambda table: table.name)],
    }
    return _written(contract)


def _written(value: dict[str, Any]) -> str:
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml takes a tenth of the time
    text: str = yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=_WIDE)
    return text


def _as_object(table: Table) -> dict[str, Any]:
    """Return a table as the standard's object; its claims are rules of quality, in words."""
    grain, _, rest = table.description.partition("\n\n")
    partition = partition_of(table)
    said = {
        "name": table.name,
        "physicalName": table.name,
        "logicalType": "object",
        "physicalType": "table",
        "description": " ".join((rest or grain).split()),
        "dataGranularityDescription": " ".join(grain.split()),
        "properties": [_as_property(table, column) for column in table.columns],
    }
    if partition:
        said["customProperties"] = [{"property": "parquetPartitionedBy", "value": partition}]
    claims = [check for check in checks() if check.table == table.name]
    if claims:
        said["quality"] = [
            {"name": check.name, "type": "text", "description": check.claim, "severity": check.severity}
            for check in claims
        ]
    return said


def _as_property(table: Table, column: Column) -> dict[str, Any]:
    logical, physical = logical_type(column.type), "VARCHAR" if column.type.startswith("ENUM(") else column.type
    said: dict[str, Any] = {
        "name": column.name,
        "logicalType": logical,
        "physicalType": physical,
        "required": not column.nullable,
        "description": column.description,
    }
    if column.name in table.key:
        said |= {"primaryKey": True, "primaryKeyPosition": table.key.index(column.name) + 1}
    if column.type.startswith("ENUM("):
        said["enum"] = [{"value": word} for word in re.findall(r"'((?:[^']|'')*)'", column.type)]
    if logical == "array":
        inner = column.type.removesuffix("[]")
        said["items"] = {"logicalType": logical_type(inner), "physicalType": inner}
    return said


def logical_type(kind: str) -> str:
    """Return the standard's type of one of DuckDB's."""
    if kind.endswith("[]"):
        return "array"
    if kind.startswith("DECIMAL"):
        return "number"
    return "string" if kind.startswith("ENUM(") else _LOGICAL.get(kind, "object" if "(" in kind else "number")


def dbt_sources(parquet: str, max_age_hours: int, own: Iterable[Table] = ()) -> str:
    """Return sources.yml for dbt: tables, columns, meanings, freshness, and as tests what every release holds.

    `ordermart` is the release's file, attached by dbt-duckdb; other adapters take the Parquet files below `parquet`.
    """
    tables = sorted([*released(), *own], key=lambda table: table.name)
    sources = [
        {
            "name": schema,
            "database": "ordermart",
            "schema": schema,
            "description": ABOUT[schema],
            "config": {
                "freshness": {"warn_after": {"count": max_age_hours, "period": "hour"}},
                "loaded_at_query": "select max(as_of) from ordermart.meta.release",
            },
            "tables": [_as_source(table, parquet) for table in of_schema],
        }
        for schema, of_schema in itertools.groupby(tables, key=lambda table: table.name.partition(".")[0])
    ]
    return _written({"version": 2, "sources": sources})


def _as_source(table: Table, parquet: str) -> dict[str, Any]:
    """Return a table as dbt's source: where its Parquet is, and its columns with the tests that hold."""
    stem = table.name.partition(".")[2]
    columns = []
    for column in table.columns:
        tests: list[Any] = [] if column.nullable else ["not_null"]
        if table.key == (column.name,):
            tests.append("unique")
        if column.words:
            tests.append({"accepted_values": {"arguments": {"values": list(column.words)}}})
        said = {"name": column.name, "description": column.description, "data_type": column.type}
        columns.append(said | ({"data_tests": tests} if tests else {}))
    external: dict[str, Any] = {"location": f"{parquet}/{table.name.replace('.', '/')}", "file_format": "parquet"}
    if partition := partition_of(table):
        external["partitions"] = [{"name": partition, "data_type": "varchar"}]
    return {"name": stem, "description": table.description, "external": external, "columns": columns}
