"""A command does without pandas, which DuckDB and PyArrow would import, until a row in doubt is to be judged."""

from __future__ import annotations

import json
import subprocess
import sys

# A command of our own beside the others: it does what makes each library look for pandas, then judges a row.
LOOK = """
import json, sys
from pipelines.cli import app, main

@app.command()
def look():
    import duckdb, httpx, pyarrow as pa
    from pipelines.warehouse import catalogue
    from pipelines.warehouse.rows.verdicts import rows_as_declared

    slow = {"pandas", "httpx._main"}
    con = duckdb.connect()
    con.from_arrow(pa.table({"number": pa.array([1, None])})).create("numbers")
    found = con.execute("select count(*) from numbers where number in ?", [[1, 2]]).fetchall()
    imported = sorted(slow & sys.modules.keys())
    table = catalogue.table("core.stores")
    con.execute(f"create table held ({', '.join(f'{c.name} {c.type}' for c in table.columns)})")
    con.execute("insert into held (store_id) values (1)")
    contract, _ = rows_as_declared(con, table, "held", 1)
    later = con.execute("select ?", [3]).fetchall()
    print(json.dumps([found, imported, contract.violations, contract.sample[0]["store_id"], later]))

sys.argv = ["ordermart", "look"]
main()
"""


def test_a_command_imports_pandas_for_rows_in_doubt_alone() -> None:
    """Values go to and from DuckDB without it; what Pandera says of a wrong row is then complete."""
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    found, imported, violations, store, later = json.loads(done.stdout)
    assert (found, imported, later) == ([[1]], [], [[3]])
    assert violations > 1
    assert store == 1
