"""Money is exact: no float has a place where money passes."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

MONEY = re.compile(r"^(?!.*(_id|_no|_position|_count)$).*(price|tip$|discount|amount|residual|total|money|_sum$)")
# Rooms that money passes; what they say of seconds, shares and sizes needs no float either.
ROOMS = ["landing", "ledger", "warehouse", "finance"]
# Counts of orders and shares of them, by which rules are judged; amounts are decided in SQL, in decimals.
COUNTS = "pipelines/warehouse/evidence"
# SQL that no money passes: counts of the service's answers, in milliseconds, bytes and shares; shares of samples.
MEASURES = {"sql/audit/service_behaviour.sql", "sql/inbox/tables.sql"}


def floats_in_python(source: str) -> list[int]:
    """Return the lines that name float: a call, an annotation or a type."""
    return [node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name) and node.id == "float"]


def floats_in_sql(source: str) -> list[int]:
    """Return the lines that name a float type, comments aside."""
    lines = (line.split("--")[0] for line in source.splitlines())
    types = re.compile(r"\b(double|float[48]?|real)\b", re.IGNORECASE)
    return [number for number, line in enumerate(lines, 1) if types.search(line)]


def test_no_contract_has_a_float_for_money() -> None:
    """Every column that is money by its name is a DECIMAL in its contract."""
    catalogue = pytest.importorskip("pipelines.warehouse.catalogue.tables", reason="pipelines/warehouse is not there")
    money = {
        f"{table.name}.{column.name}": column.type
        for table in catalogue.tables()
        for column in table.columns
        if MONEY.search(column.name)
        and column.type not in {"BOOLEAN", "VARCHAR", "VARCHAR[]"}
        and not column.type.startswith("ENUM(")
    }
    assert "core.orders.total_price" in money
    assert {name: kind for name, kind in money.items() if not kind.startswith("DECIMAL(")} == {}


def test_no_room_of_money_names_a_float(project: Path) -> None:
    """Neither landing nor anything behind it makes a float."""
    found = {
        f"{file.relative_to(project)}:{line}"
        for room in ROOMS
        for file in (project / "pipelines" / room).rglob("*.py")
        if COUNTS not in str(file)
        for line in floats_in_python(file.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_no_select_names_a_float(project: Path) -> None:
    """No SQL file that money passes casts to a float type."""
    found = {
        f"{file.relative_to(project)}:{line}"
        for file in (project / "sql").rglob("*.sql")
        if str(file.relative_to(project)) not in MEASURES
        for line in floats_in_sql(file.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_a_planted_float_is_found() -> None:
    """A float in Python and one in SQL are seen; the word in a comment is none."""
    assert floats_in_python("x = 1\ny = float('1.5')") == [2]
    assert floats_in_python("def f(x: float) -> None: ...") == [1]
    assert floats_in_sql("select\n    price::double as price, -- a double") == [2]
    assert floats_in_sql("select 1 -- real double float") == []
