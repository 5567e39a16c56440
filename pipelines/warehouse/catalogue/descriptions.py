"""Describe tables for other tools, out of the contracts: statements for warehouses, and a data contract.

Write the statements by which warehouses read a copied release in place, out of the contracts.

Tried in none of their targets: Athena, BigQuery and Snowflake are services. The forms are those of their references:
tables over symlink manifests for Athena, over a list of URIs for BigQuery, over a pattern of names for Snowflake.

Describe the tables of a release by the Open Data Contract Standard v3, out of the contracts.

A release holds the text as contract.odcs.yaml, and docs/ the same.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import yaml

from pipelines.literals import literal
from pipelines.warehouse.catalogue.meta_tables import ABOUT
from pipelines.warehouse.catalogue.tables import Table, checks, partition_of, release_tables
from pipelines.warehouse.contracts import Column

_ATHENA = {
    "BIGINT": "bigint", "INTEGER": "int", "BOOLEAN": "boolean", "DATE": "date", "DOUBLE": "double",
    "TIMESTAMP": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamp", "BLOB": "binary",
}  # fmt: skip
_SNOWFLAKE = {
    "BIGINT": "number(19, 0)", "INTEGER": "number(10, 0)", "BOOLEAN": "boolean", "DATE": "date", "DOUBLE": "double",
    "TIMESTAMP": "timestamp_ntz", "TIMESTAMP WITH TIME ZONE": "timestamp_tz", "BLOB": "binary",
}  # fmt: skip
_HEAD = "-- Not tried in its target. Written again with each release: run it after each copy.\n"


def external_tables(url: str, folder: str, tables: Iterable[Table], keys: Mapping[str, list[str]]) -> dict[str, str]:
    """Return files by name: statements for each target, and the symlink manifests that Athena reads.

    `url` is the copy's, `folder` the release's below it, `keys` the objects of each table below the URL.
    """
    listed = sorted((table for table in tables if table.name in keys), key=lambda table: table.name)
    files = {
        f"{target}.sql": _HEAD + "\n".join(write(url, folder, table, keys[table.name]) for table in listed)
        for target, write in _TARGETS.items()
    }
    for table in listed:
        for key in keys[table.name]:
            month = f"{key.split('/')[3]}/" if partition_of(table) else ""
            name = f"symlinks/{table.name}/{month}symlink.txt"
            files[name] = files.get(name, "") + f"{url}/{key}\n"
    return files


def _athena(url: str, folder: str, table: Table, _keys: Sequence[str]) -> str:
    spelled = ((each.name, _type(each.type, _ATHENA, "string"), _text(each.description)) for each in table.columns)
    columns = ",\n".join(f"    `{name}` {kind} comment {meaning}" for name, kind, meaning in spelled)
    partition, name = partition_of(table), table.name.replace(".", "_")
    by = f"partitioned by (`{partition}` string)\n" if partition else ""
    return (
        f"drop table if exists {name};\ncreate external table {name} (\n{columns}\n)\n"
        f"comment {_text(_grain(table))}\n{by}"
        "row format serde 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe'\n"
        "stored as inputformat 'org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat'\n"
        "outputformat 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat'\n"
        f"location {literal(f'{url}/{folder}/symlinks/{table.name}/')};\n"
        + (f"msck repair table {name};\n" if partition else "")
    )


def _bigquery(url: str, _folder: str, table: Table, keys: Sequence[str]) -> str:
    uris = ", ".join(literal(f"{url}/{key}") for key in keys)
    partition, name = partition_of(table), table.name.replace(".", "_")
    prefix = literal(f"{url}/{'/'.join(keys[0].split('/')[:3])}")
    hive = f", hive_partition_uri_prefix = {prefix}" if partition else ""
    by = f"\nwith partition columns ({partition} string)" if partition else ""
    said = ((column.name, f"description = {_text(column.description)}") for column in table.columns)
    comments = "\n".join(f"alter table {name} alter column {column} set options ({words});" for column, words in said)
    options = f"format = 'PARQUET', description = {_text(_grain(table))}{hive}, uris = [{uris}]"
    return f"create or replace external table {name}{by}\noptions ({options});\n{comments}\n"


def _snowflake(_url: str, _folder: str, table: Table, keys: Sequence[str]) -> str:
    def read(column: Column) -> str:
        kind = _type(column.type, _SNOWFLAKE, "varchar")
        return f'    {column.name} {kind} as (value:"{column.name}"::{kind}) comment {_text(column.description)}'

    names = "|".join(key.rpartition("/")[2].removesuffix(".parquet") for key in keys)
    top = "/".join(keys[0].split("/")[:3])
    columns = ",\n".join(map(read, table.columns))
    return (
        f"create or replace external table {table.name.replace('.', '_')} (\n{columns}\n)\n"
        f"location = @ordermart/{top}/ -- a stage of the copy's URL\npattern = '.*({names})[.]parquet'\n"
        f"auto_refresh = false\nfile_format = (type = parquet)\ncomment = {_text(_grain(table))};\n"
    )


_Write = Callable[[str, str, Table, Sequence[str]], str]
_TARGETS: dict[str, _Write] = {"athena": _athena, "bigquery": _bigquery, "snowflake": _snowflake}


def _grain(table: Table) -> str:
    return " ".join(table.description.partition("\n\n")[0].split())


def _text(words: str) -> str:
    return literal(" ".join(words.split()).replace("\\", "\\\\"))


def _type(kind: str, names: Mapping[str, str], other: str) -> str:
    """Return a target's type of one of DuckDB's; `other` for texts and words."""
    if kind.endswith("[]"):
        return "array" if other == "varchar" else f"array<{_type(kind.removesuffix('[]'), names, other)}>"
    return kind.casefold() if kind.startswith("DECIMAL") else names.get(kind, other)


CONTRACT = "contract.odcs.yaml"
_WIDE = 1_000_000  # characters of a line: none is folded
_LOGICAL = {
    "BIGINT": "integer", "VARCHAR": "string", "BOOLEAN": "boolean", "DATE": "date", "DOUBLE": "number",
    "TIMESTAMP": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamp",
}  # fmt: skip


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
        "schema": [_as_object(table) for table in sorted([*release_tables(), *own], key=lambda table: table.name)],
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
    said: dict[str, Any] = {"name": table.name, "physicalName": table.name}
    said |= {"logicalType": "object", "physicalType": "table", "description": " ".join((rest or grain).split())}
    said |= {"dataGranularityDescription": " ".join(grain.split())}
    said["properties"] = [_as_property(table, column) for column in table.columns]
    if partition:
        said["customProperties"] = [{"property": "parquetPartitionedBy", "value": partition}]
    if claims := [check for check in checks() if check.table == table.name]:
        said["quality"] = [
            {"name": check.name, "type": "text", "description": check.claim, "severity": check.severity}
            for check in claims
        ]
    return said


def _as_property(table: Table, column: Column) -> dict[str, Any]:
    logical, physical = logical_type(column.type), "VARCHAR" if column.type.startswith("ENUM(") else column.type
    said: dict[str, Any] = {"name": column.name, "logicalType": logical, "physicalType": physical}
    said |= {"required": not column.nullable, "description": column.description}
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
    tables = sorted([*release_tables(), *own], key=lambda table: table.name)
    sources = []
    for schema, of_schema in itertools.groupby(tables, key=lambda table: table.name.partition(".")[0]):
        freshness = {"warn_after": {"count": max_age_hours, "period": "hour"}}
        config = {"freshness": freshness, "loaded_at_query": "select max(as_of) from ordermart.meta.release"}
        said = {"name": schema, "database": "ordermart", "schema": schema, "description": ABOUT[schema]}
        sources.append(said | {"config": config, "tables": [_as_source(table, parquet) for table in of_schema]})
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
