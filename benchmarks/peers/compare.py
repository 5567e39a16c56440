"""Compare landing and building with other tools that flatten the same orders, from one NDJSON file.

    python benchmarks/peers/compare.py [--orders 100000] [--peers duckdb polars …] [--folder FOLDER]

Every peer has an environment of its own, made in FOLDER when first needed (pip has to reach its packages; Spark needs
Java). First each flattens 1,000 orders, and its rows and sums must be ours; then it is timed: CPU of the process and
its children, elapsed, and peak memory of its largest process. Peers flatten only: no validation, personal data in the
open, nothing reconciled, no history.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import NamedTuple

import duckdb

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from pipelines.sandbox.world import Config, World  # noqa: E402 - found through the path above

FEW = 1_000
SUMS = {
    "orders": ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price"),
    "order_lines": ("quantity", "price"),
    "order_line_modifiers": ("price",),
    "order_deliveries": (),
}
DLT = {
    "orders": "orders",
    "order_lines": "orders__items",
    "order_line_modifiers": "orders__items__modifiers",
    "order_deliveries": "orders__deliveries",
}
Figures = dict[str, tuple[float, ...]]


class Peer(NamedTuple):
    """A tool: its script and arguments, and what its environment needs."""

    script: str
    arguments: tuple[str, ...]
    packages: tuple[str, ...]


PEERS = {
    "duckdb": Peer("with_duckdb.py", (), ("duckdb==1.5.6",)),
    "polars": Peer("with_polars.py", (), ("polars==2.1.0",)),
    "pandas": Peer("with_pandas.py", (), ("pandas==3.1.1", "pyarrow")),
    "spark": Peer("with_spark.py", (), ("pyspark==4.3.0",)),
    "dlt": Peer("with_dlt.py", ("default",), ("dlt[duckdb,parquet]==1.31.0", "duckdb==1.5.6")),
    "dlt-tuned": Peer("with_dlt.py", ("tuned",), ("dlt[duckdb,parquet]==1.31.0", "duckdb==1.5.6")),
}


class Cost(NamedTuple):
    """What a process and its children took."""

    cpu: float
    elapsed: float
    peak: float


def main() -> int:
    """Check each peer's results, then measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orders", type=int, default=100_000)
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--folder", type=Path, help="for environments and data; a temporary one by default")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        pythons = {name: environment(PEERS[name], folder) for name in arguments.peers}
        expected = ours(source(folder, FEW), folder)[0]
        wrong = 0
        for name in arguments.peers:
            found = figures(peer(name, pythons[name], source(folder, FEW), folder)[1], name)
            if different := [table for table in SUMS if found[table] != expected[table]]:
                print(f"{name}: other rows or sums in {', '.join(different)}: not measured")
                wrong += 1
                pythons.pop(name)
        file = source(folder, arguments.orders)
        print(f"{arguments.orders:,} orders, {file.stat().st_size / 2**20:,.0f} MiB, {os.cpu_count()} cores")
        _, landed, built = ours(file, folder)
        base = landed.cpu + built.cpu
        shown("ordermart: land", landed, base)
        shown("ordermart: build, all tables, checks, release", built, base)
        shown("ordermart: both", Cost(base, landed.elapsed + built.elapsed, max(landed.peak, built.peak)), base)
        for name in pythons:
            shown(name, peer(name, pythons[name], file, folder)[0], base)
    return 1 if wrong else 0


def shown(name: str, cost: Cost, base: float) -> None:
    """Print a line."""
    print(
        f"{name:46} {cost.cpu:7.1f} s of CPU {cost.cpu / base:5.2f} times  {cost.elapsed:7.1f} s elapsed  "
        f"{cost.peak:6,.0f} MiB"
    )


def source(folder: Path, orders: int) -> Path:
    """Return a file of so many orders as the service sends them, one a line."""
    file = folder / f"{orders}.ndjson"
    if not file.exists():
        with file.open("wb") as lines:
            lines.writelines(body + b"\n" for _, _, body in World(Config(seed=1, orders=orders, days=90)).orders())
    return file


def environment(peer: Peer, folder: Path) -> Path:
    """Return the Python of an environment with the peer's packages, made unless it is there."""
    place = folder / "environments" / "-".join(peer.packages).replace("[", "_").replace("]", "_")
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        print(f"an environment with {', '.join(peer.packages)}", file=sys.stderr)
        venv.create(place, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *peer.packages], check=True)
        (place / "ready").touch()
    return python


def measured(command: list[str | Path], environ: dict[str, str]) -> Cost:
    """Run a command and return what it took; raise CalledProcessError where it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command, env={**os.environ, **environ}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT
    )
    _, status, usage = os.wait4(process.pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise subprocess.CalledProcessError(code, [str(each) for each in command])
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - began, usage.ru_maxrss / 1024)


def peer(name: str, python: Path, file: Path, folder: Path) -> tuple[Cost, Path]:
    """Let a peer flatten a file; return what it took, and the folder of its tables."""
    out = folder / "out" / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    tool = PEERS[name]
    return measured([python, HERE / tool.script, file, out, *tool.arguments], {}), out


def ours(file: Path, folder: Path) -> tuple[Figures, Cost, Cost]:
    """Land and build a file in a new data folder; return what is published and what both took."""
    home = folder / "out" / "ordermart"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    settings = home / "ordermart.toml"
    settings.write_text('[data]\ndir = "data"\n[vault]\nkey_file = "keys.json"\n', encoding="utf-8")
    command: list[str | Path] = [sys.executable, "-m", "pipelines.cli", "--config", settings]
    measured([*command, "vault", "generate-keys", home / "keys.json"], {})
    landed = measured([*command, "land", "orders", file], {})
    built = measured([*command, "build", "--full"], {})
    release = home / "data" / "published" / "current" / "ordermart.duckdb"
    with duckdb.connect(str(release), read_only=True) as con:
        return {table: _figures(con, f"core.{table}", table) for table in SUMS}, landed, built


def figures(folder: Path, name: str) -> Figures:
    """Return the rows and sums of a peer's tables."""
    with duckdb.connect() as con:
        if name.startswith("dlt"):
            con.execute(f"attach '{folder}/dlt.duckdb' as peer (read_only)")
            return {table: _figures(con, f"peer.peer.{DLT[table]}", table) for table in SUMS}
        files = {table: folder / f"{table}.parquet" for table in SUMS}
        relations = {table: f"'{file}/*.parquet'" if file.is_dir() else f"'{file}'" for table, file in files.items()}
        return {table: _figures(con, relations[table], table) for table in SUMS}


def _figures(con: duckdb.DuckDBPyConnection, relation: str, table: str) -> tuple[float, ...]:
    """Return a table's rows and sums, to the cent: some peers have floats, and dlt two columns of an amount."""
    there = {row[0] for row in con.execute(f"describe from {relation}").fetchall()}
    amounts = [(each, f"{each}__v_double") for each in SUMS[table]]
    selected = [f"coalesce({each}, {also})" if also in there else each for each, also in amounts]
    sums = "".join(f", round(sum({each})::double, 2)" for each in selected)
    row = con.execute(f"select count(*){sums} from {relation}").fetchone()
    assert row
    return tuple(map(float, row))


if __name__ == "__main__":
    sys.exit(main())
