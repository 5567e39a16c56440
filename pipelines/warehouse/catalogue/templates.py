"""Fill templates: selects of `sql/templates/` that several tables or checks share but for names.

Knows nothing of which tables there are.
"""

from __future__ import annotations

import re
from string import Template
from typing import TYPE_CHECKING

from pipelines.resources import resource

if TYPE_CHECKING:
    from pipelines.warehouse.contracts.facts import Facts


def tie_to_daily_store_sales(table: str) -> str:
    """Return the check that a table by store, day, sale class and more adds up to mart.daily_store_sales."""
    return _filled("tie_to_daily_store_sales", table=table)


def completed(sql: str, facts: Facts) -> str:
    """Return the select of a table whose file names a template, `-- template: name`: it is what each version says.

    A place in a menu is the rest of the key; what is said of it are the columns up to the times.
    """
    named = re.search(r"^-- template: (\w+)$", sql, re.MULTILINE)
    if not named:
        return sql
    keys = [name for name in facts.grain.key if name not in ("menu_id", "version_no")]
    columns = [column.name for column in facts.columns]
    contents = columns[columns.index("version_no") + 1 : columns.index("observed_from")]
    return _filled(named[1], table=facts.grain.table, select=sql, place=_struct(keys), content=_struct(contents))


def _filled(template: str, **values: str) -> str:
    file = resource("sql") / "templates" / f"{template}.sql"
    return Template(file.read_text(encoding="utf-8")).substitute(values)


def _struct(columns: list[str]) -> str:
    return "{" + ", ".join(f"'{column}': t.{column}" for column in columns) + "}"
