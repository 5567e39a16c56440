"""Write the statements by which warehouses read a copied release in place, out of the contracts.

Tried in none of their targets: Athena, BigQuery and Snowflake are services. The forms are those of their references:
tables over symlink manifests for Athena, over a list of URIs for BigQuery, over a pattern of names for Snowflake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.literals import literal
from pipelines.warehouse.catalogue.tables import partition_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pipelines.warehouse.catalogue.tables import Table
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


def external_tables(
    url: str, folder: str, tables: Iterable[Table], keys: Mapping[str, Sequence[str]]
) -> dict[str, str]:
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
    columns = ",\n".join(
        f"    `{column.name}` {_type(column.type, _ATHENA, 'string')} comment {_text(column.description)}"
        for column in table.columns
    )
    partition = partition_of(table)
    name = table.name.replace(".", "_")
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
    hive = ""
    if partition := partition_of(table):
        top = "/".join(keys[0].split("/")[:3])
        hive = f", hive_partition_uri_prefix = {literal(f'{url}/{top}')}"
    by = f"\nwith partition columns ({partition} string)" if partition_of(table) else ""
    name = table.name.replace(".", "_")
    said = f"description = {_text(_grain(table))}"
    comments = "\n".join(
        f"alter table {name} alter column {column.name} set options (description = {_text(column.description)});"
        for column in table.columns
    )
    options = f"format = 'PARQUET', {said}{hive}, uris = [{uris}]"
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


_TARGETS: dict[str, Callable[[str, str, Table, Sequence[str]], str]] = {
    "athena": _athena,
    "bigquery": _bigquery,
    "snowflake": _snowflake,
}


def _grain(table: Table) -> str:
    return " ".join(table.description.partition("\n\n")[0].split())


def _text(words: str) -> str:
    return literal(" ".join(words.split()).replace("\\", "\\\\"))


def _type(kind: str, names: Mapping[str, str], other: str) -> str:
    """Return a target's type of one of DuckDB's; `other` for texts and words."""
    if kind.endswith("[]"):
        return "array" if other == "varchar" else f"array<{_type(kind.removesuffix('[]'), names, other)}>"
    return kind.casefold() if kind.startswith("DECIMAL") else names.get(kind, other)
