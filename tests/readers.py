"""Read every table of a release with one tool, and compare rows, exact sums and types with its DuckDB file.

    python tests/readers.py RELEASE duckdb pandas pyarrow polars ray spark
    python tests/readers.py --copy FOLDER duckdb pandas pyarrow polars spark

With --copy it reads the release that `current.json` of a copy names, each table by the list of its files.

Needs duckdb, pyarrow and the tools it is given, and nothing of the project: so it runs in an environment of its own,
with another version of DuckDB, or with tools that the project does not install.
"""

from __future__ import annotations

import decimal
import json
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Files = Path | list[Path]

SCHEMAS = ("core", "mart", "audit", "workings")
OTHERS = ("own", "ref", "meta")  # are in a copy, too
_TYPES = {
    "BIGINT": pa.int64(),
    "VARCHAR": pa.string(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", tz="UTC"),
}


class ReaderError(AssertionError):
    """A tool reads something else than the DuckDB file says; the message names tool, table and what differs."""


@dataclass(frozen=True)
class Said:
    """What a table holds: its number of rows, the sum of each column of decimals, and the type of each column."""

    rows: int
    sums: dict[str, decimal.Decimal | None]
    types: dict[str, pa.DataType]


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type of one of DuckDB's; an ENUM is a text in Parquet."""
    if kind.endswith("[]"):
        return pa.list_(arrow_type(kind[:-2]))
    if kind.startswith("ENUM"):
        return pa.string()
    found = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", kind)
    return pa.decimal128(int(found[1]), int(found[2])) if found else _TYPES[kind]


def decimals(types: dict[str, pa.DataType]) -> list[str]:
    """Return the columns of decimals."""
    return [name for name, kind in types.items() if pa.types.is_decimal(kind)]


def added(values: Iterable[Any]) -> decimal.Decimal | None:
    """Add decimals up exactly, as SQL does: nothing comes to null."""
    found = [value for value in values if isinstance(value, decimal.Decimal)]
    with decimal.localcontext(prec=60):
        return sum(found, decimal.Decimal(0)) if found else None


def stated(release: Path, schemas: tuple[str, ...] = SCHEMAS) -> dict[str, Said]:
    """Return each table's facts from the DuckDB file of a release."""
    with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True, config={"threads": 1}) as con:
        names = con.execute(
            "select schema_name || '.' || table_name from duckdb_tables() where schema_name in (select unnest(?))",
            [list(schemas)],
        ).fetchall()
        return {name: _said(con, name) for (name,) in sorted(names)}


def folder_of(release: Path, table: str) -> Path:
    """Return the folder of a table's Parquet."""
    return release / "parquet" / table.replace(".", "/")


def month_of(folder: Path) -> dict[str, pa.DataType]:
    """Return the column by which a folder is partitioned, a text; none if it is not."""
    return {path.name.partition("=")[0]: pa.string() for path in folder.iterdir() if path.is_dir()}


def _said(con: duckdb.DuckDBPyConnection, relation: str) -> Said:
    described = con.execute(f"describe from {relation}").fetchall()
    types = {str(name): arrow_type(str(kind)) for name, kind, *_ in described}
    parts = "".join(f', sum("{name}"::decimal(38, 4))' for name in decimals(types))
    row = con.execute(f"select count(*){parts} from {relation}").fetchone() or (0,)
    return Said(row[0], dict(zip(decimals(types), row[1:], strict=True)), types)


def files_of(folder: Files) -> list[str]:
    """Return the paths of a table's files."""
    return [str(path) for path in (sorted(folder.rglob("*.parquet")) if isinstance(folder, Path) else folder)]


def by_duckdb(folder: Files) -> Said:
    """Read a folder, or a list of files, with DuckDB."""
    paths = f"'{folder}/**/*.parquet'" if isinstance(folder, Path) else repr(files_of(folder))
    with duckdb.connect(config={"threads": 1}) as con:
        return _said(con, f"read_parquet({paths}, hive_partitioning = true)")


def by_pyarrow(folder: Files) -> Said:
    """Read a folder, or a list of files, as a dataset of pyarrow."""
    if isinstance(folder, Path):
        return _of_arrow(ds.dataset(folder, partitioning="hive").to_table())
    return _of_arrow(ds.dataset(files_of(folder), partitioning="hive", format="parquet").to_table())


def by_pandas(folder: Files) -> Said:
    """Read a folder, or a list of files, with pandas and Arrow's types; with its own rows and sums are the same."""
    import pandas as pd  # noqa: PLC0415 - only the tools asked for need to be there

    if not isinstance(folder, Path):
        folder = files_of(folder)  # type: ignore[assignment] - pandas reads both
    frame = pd.read_parquet(folder, dtype_backend="pyarrow")
    types = {str(name): _plain(kind.pyarrow_dtype) for name, kind in frame.dtypes.items()}
    said = Said(len(frame), {name: added(frame[name]) for name in decimals(types)}, types)
    plain = pd.read_parquet(folder)
    if (len(plain), {name: added(plain[name]) for name in said.sums}) != (said.rows, said.sums):
        raise ReaderError(f"pandas reads other rows or sums of {folder} with types of its own")
    return said


def by_polars(folder: Files) -> Said:
    """Read a folder, or a list of files, with Polars."""
    import polars as pl  # noqa: PLC0415

    paths = f"{folder}/**/*.parquet" if isinstance(folder, Path) else files_of(folder)
    return _of_arrow(pl.read_parquet(paths, hive_partitioning=True).to_arrow())


def by_ray(folder: Files) -> Said:
    """Read a folder with Ray Data."""
    import ray  # noqa: PLC0415
    from ray.data.datasource.partitioning import Partitioning  # noqa: PLC0415

    found = ray.data.read_parquet(files_of(folder), partitioning=Partitioning("hive", field_types={}))
    blocks = [ray.get(each) for each in found.to_arrow_refs()]
    return _of_arrow(pa.concat_tables(blocks) if blocks else found.schema().base_schema.empty_table())


def by_spark(folder: Files) -> Said:
    """Read a folder, or a list of files, with Spark, as docs/BI.md says."""
    from pyspark.sql import SparkSession  # noqa: PLC0415

    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        .getOrCreate()
    )
    if isinstance(folder, Path):
        return _of_arrow(session.read.parquet(str(folder)).toArrow())
    paths = files_of(folder)
    top = next(str(place) for place in Path(paths[0]).parents if "=" not in place.name)
    return _of_arrow(session.read.option("basePath", top).parquet(*paths).toArrow())


def _of_arrow(table: pa.Table) -> Said:
    types = {field.name: _plain(field.type) for field in table.schema}
    return Said(table.num_rows, {name: added(table[name].to_pylist()) for name in decimals(types)}, types)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type without what only a tool's own layout adds: large offsets, views, dictionaries."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    return kind


READERS: dict[str, Callable[[Files], Said]] = {
    "duckdb": by_duckdb,
    "pandas": by_pandas,
    "pyarrow": by_pyarrow,
    "polars": by_polars,
    "ray": by_ray,
    "spark": by_spark,
}


def differences(release: Path, reader: str) -> Iterator[str]:
    """Yield a sentence for each table that a tool reads otherwise than the DuckDB file says."""
    folders: dict[str, Files] = {
        f"{each.parent.name}.{each.name}": each
        for schema in SCHEMAS
        for each in (release / "parquet" / schema).iterdir()
    }
    return _differences(stated(release), folders, reader)


def differences_of_copy(copy: Path, reader: str) -> Iterator[str]:
    """Yield a sentence for each table of a copy that a tool reads otherwise than the copy's DuckDB file says."""
    current = json.loads((copy / "current.json").read_text("utf-8"))
    listed: dict[str, Files] = {name: [copy / key for key in keys] for name, keys in current["tables"].items()}
    with tempfile.TemporaryDirectory() as place:
        with Path(place, "ordermart.duckdb").open("wb") as file:
            file.writelines((copy / piece["key"]).read_bytes() for piece in current["database"])
        expected = stated(Path(place), SCHEMAS + OTHERS)
    return _differences(expected, listed, reader)


def _differences(expected: dict[str, Said], tables: dict[str, Files], reader: str) -> Iterator[str]:
    if tables.keys() != expected.keys():
        yield f"folders and tables differ: {', '.join(sorted(tables.keys() ^ expected.keys()))}"
    for name in sorted(tables.keys() & expected.keys()):
        folder, said = tables[name], expected[name]
        found = READERS[reader](folder)
        if found.rows != said.rows:
            yield f"{reader} reads {found.rows} rows of {name}, not {said.rows}"
        if found.sums != said.sums:
            wrong = [column for column in said.sums if found.sums.get(column) != said.sums[column]]
            yield f"{reader} adds {name} up to something else: {', '.join(wrong)}"
        first = folder if isinstance(folder, Path) else folder[0]
        top = next(each for each in (first, *first.parents) if each.name == name.partition(".")[2])
        types = said.types | month_of(top)
        if found.types != types:
            wrong = [f"{each} {found.types.get(each)}" for each in types if found.types.get(each) != types[each]]
            yield f"{reader} reads {name} in other types: {', '.join(wrong)}"


def main() -> None:
    """Print what each tool given reads otherwise; exit with 1 if any does."""
    of_copy = sys.argv[1] == "--copy"
    place, *readers = sys.argv[1 + of_copy :]
    failed = False
    for reader in readers or ["duckdb", "pyarrow"]:
        found = list((differences_of_copy if of_copy else differences)(Path(place).resolve(), reader))
        print(f"{reader}: {len(found)} differences", *found, sep="\n  ")
        failed = failed or bool(found)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
