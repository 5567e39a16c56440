"""Time `ordermart copy` of 1,000,000 orders beside psql's COPY of the same rows from CSV.

python benchmarks/copy_postgres.py --to "postgresql:///postgres?host=/tmp/pg&user=postgres" [--orders 1000000]

Makes a release of core.orders alone, in twelve months, of random values.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import duckdb

from pipelines.settings import load_settings
from pipelines.warehouse import catalogue
from pipelines.warehouse.release.copies import copy_release
from pipelines.warehouse.release.manifest import ReleaseFile, ReleaseManifest, described, write_manifest

MONTHS = 12


def value(name: str, kind: str, month: int) -> str:
    """Return an expression of a random value of a type."""
    if name == "order_id":
        return f"range * {MONTHS} + {month}"
    if kind.startswith("DECIMAL"):
        return f"(random() * 100)::{kind}"
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"timestamptz '2026-{month + 1:02d}-01 00:00:00Z' + to_seconds(random() * 2000000)"
    if kind.startswith("ENUM"):
        return f"(enum_range(null::{kind}))[1]"
    texts = {"VARCHAR": "md5(random()::varchar)", "BOOLEAN": "random() > 0.5", "DATE": "date '2026-01-01'"}
    return texts.get(kind, f"(random() * 1000)::bigint::{kind}" if "[" not in kind else f"null::{kind}")


def main() -> None:
    """Make the release, copy it twice, and copy the same rows by psql."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", required=True)
    parser.add_argument("--orders", type=int, default=1_000_000)
    asked = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="copy-"))
    (place / "ordermart.toml").write_text("", encoding="utf-8")
    settings = load_settings(place / "ordermart.toml", environ={})
    release = settings.data_dir / "published" / "releases" / "r"
    table = catalogue.table("core.orders")
    files: list[ReleaseFile] = []
    with duckdb.connect() as con:
        for month in range(MONTHS):
            path = release / f"parquet/core/orders/created_month=2026-{month + 1:02d}/rows.parquet"
            path.parent.mkdir(parents=True)
            listed = ", ".join(f'{value(c.name, c.type, month)} as "{c.name}"' for c in table.columns)
            con.execute(f"copy (select {listed} from range({asked.orders // MONTHS})) to '{path}' (format parquet)")
            files.append(described(release, path, table=table.name, month=f"2026-{month + 1:02d}"))
        csv = place / "orders.csv"
        con.execute(f"copy (from '{release}/parquet/core/orders/*/*.parquet') to '{csv}' (header false, nullstr '\\N')")
    write_manifest(release, ReleaseManifest("r", "", "", {}, "", {}, {}, files, as_of="2026-11-24T00:00:00+00:00"))
    (settings.data_dir / "published" / "current").symlink_to("releases/r")
    for _ in range(2):
        began = time.monotonic()
        done = copy_release(settings, asked.to)
        print(f"ordermart copy: {done.rows:,} rows in {done.parts} parts, {time.monotonic() - began:.1f} s")
    psql = ["psql", asked.to, "-q", "-c"]
    like = "create table by_psql (like core.orders)"
    subprocess.run([*psql, like], check=True)
    began = time.monotonic()
    subprocess.run([*psql, f"\\copy by_psql from '{csv}' (format csv, null '\\N')"], check=True)
    print(f"psql \\copy of the same rows, from CSV that is there: {time.monotonic() - began:.1f} s")
    subprocess.run([*psql, "drop table by_psql"], check=True)
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
