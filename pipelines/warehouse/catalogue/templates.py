"""Fill templates: selects of `sql/templates/` that several tables or checks share but for names."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

from pipelines.landing.charges import read_sql
from pipelines.resources import resource
from pipelines.settings.kinds import ENTITIES

if TYPE_CHECKING:
    from pipelines.warehouse.contracts import Head

_SOLD = {
    "product": ("core.order_lines", "'line ' || sold.line_no"),
    "modifier": ("core.order_line_modifiers", "'line ' || sold.line_no || ', modifier ' || sold.modifier_no"),
}


def field_issues(kind: str) -> str:
    """Return the table of validation's notes on each document of a kind."""
    return filled("field_issues", kind=kind, entity=ENTITIES[kind])


def references_a_menu(entity: str) -> str:
    """Return the check that every ordered product, or modifier, is on a menu."""
    sold, location = _SOLD[entity]
    return filled("references_a_menu", entity=entity, sold=sold, location=location)


def completed(name: str, text: str, head: Head) -> str:
    """Return the select of a table whose head names a template; that of another is its file.

    `template: name` puts the file's select in place of `$select`. `template: name of table` has none: `$of` is the
    select of that table of menus, over every version instead of the last. A place in a menu is the rest of the key, and
    what is said of it are the columns up to the times.
    """
    template, _, of = head.facts.get("template", "").partition(" of ")
    if not template:
        return text
    if not of:
        return filled(template, table=name, select=text)
    schema, _, table = of.partition(".")
    last = read_sql(resource("sql") / schema / f"{table}.sql")
    each = last.replace("raw.latest_menus", "raw.menu_versions").replace("_load_id", "version_no")
    keys = [key for key in head.names("key") if key not in ("menu_id", "version_no")]
    columns = [said.name for said in head.said]
    contents = columns[columns.index("version_no") + 1 : columns.index("observed_from")]
    return filled(template, table=name, of=each, place=_struct(keys), content=_struct(contents))


def filled(template: str, **values: str) -> str:
    """Return a file of `sql/templates/` with these values in the place of `$name`."""
    file = resource("sql") / "templates" / f"{template}.sql"
    return Template(read_sql(file)).substitute(values)


def _struct(columns: list[str]) -> str:
    return "{" + ", ".join(f"'{column}': t.{column}" for column in columns) + "}"
