"""The notebook of docs/ runs as it is written, keeps amounts exact, and holds no output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

if TYPE_CHECKING:
    from conftest import World

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "analyses.ipynb"


@pytest.fixture(scope="module")
def cells() -> list[dict[str, Any]]:
    """Return the notebook's cells."""
    found: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return found


@pytest.mark.slow
def test_notebook_runs_in_order(world: World, cells: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every code cell runs on a release; each analysis has rows, and its amounts are those of the file."""
    monkeypatch.setenv("ORDERMART_DATA__DIR", str(world.settings.data_dir))
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)  # noqa: S102 -- our own document
    frames = {name: value for name, value in names.items() if isinstance(value, pd.DataFrame)}
    assert frames.keys() == {"stores", "hours", "products", "breaks"}
    assert [name for name, frame in frames.items() if frame.empty] == []
    for frame, column in (("stores", "total_price"), ("products", "line_amount"), ("breaks", "total_residual")):
        assert pa.types.is_decimal(frames[frame][column].dtype.pyarrow_dtype), column
    sold = world.all("select sum(total_price) from mart.orders where sale_class = 'counted'")
    assert [(frames["stores"]["total_price"].sum(),)] == sold
    names["con"].close()


def test_notebook_averages_over_orders_that_state_a_total(cells: list[dict[str, Any]]) -> None:
    """An order without a total adds nothing to the average order value."""
    with duckdb.connect() as con:
        con.execute("create schema mart")
        con.execute(
            "create table mart.orders as select 1 as store_id, 'North' as store_name, 'EUR' as currency, "
            "'counted' as sale_class, price as total_price from (values (30.0), (null)) as _ (price)"
        )
        names: dict[str, Any] = {"con": con, "pd": pd}
        for cell in cells:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code" and ("def exact" in source or "average_order_value" in source):
                exec(compile(source, cell["id"], "exec"), names)  # noqa: S102 -- our own document
    assert names["stores"]["average_order_value"].tolist() == [30]
    assert names["stores"]["order_count"].tolist() == [2]


def test_notebook_has_no_output_and_no_path(cells: list[dict[str, Any]]) -> None:
    """Outputs are cleared, so that no data and no path of a machine is in the repository."""
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5
    assert [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []
