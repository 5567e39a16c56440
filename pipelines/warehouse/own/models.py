"""Read the files of [models] dir: tables, checks and examples, and refuse what may not run, with the reason.

A model is a select with the head of a built-in table, of which all but the grain may be left out. It reads tables of
core, mart, meta, ref and own. What it says of a column is checked; what it leaves out is taken from DuckDB. `scope`,
which models had once, says nothing.
"""

import functools
import graphlib
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipelines.literals import unmarked
from pipelines.resources import resource
from pipelines.settings import Settings, SettingsError
from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue import Check, Reads, Table
from pipelines.warehouse.catalogue.meta_tables import META, MODELS, REFERENCE, Example, example_of
from pipelines.warehouse.catalogue.selects import dicts, functions_of, reads, tree_of
from pipelines.warehouse.catalogue.tables import check_of
from pipelines.warehouse.contracts import CatalogueError, TableHead, head_of
from pipelines.warehouse.limited import TABLES, of_engine


def orders(sql: str) -> bool:
    """Tell whether the order of rows may matter to a select: it has a window, a limit, distinct on, or keeps some."""
    kept = functions_of("function_type = 'aggregate'") - _BLIND
    return any(
        each.get("class") == "WINDOW"
        or str(each.get("type")).startswith("LIMIT_")
        or each.get("distinct_on_targets")
        or str(each.get("function_name")).lower() in kept
        for each in dicts(tree_of(sql))
    )


OWN = "own"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_WHEN = "rows would depend on when it runs; take as_of of meta.release"
_BLIND = {"avg", "bool_and", "bool_or", "count", "count_star", "count_if", "max", "min", "sum"}  # to an order of rows
_CLOCK = {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}
_PERSONAL = {"order_id", "customer_key", "dispatch_note", "instructions", "confirmation_code", "tracking_url"}


@dataclass(frozen=True)
class Model:
    """A file of models: `own.<name>`, its select, what its head says, and its checks."""

    name: str
    sql: str
    head: TableHead
    reads: Reads
    checks: tuple[Check, ...] = ()

    @property
    def sha256(self) -> str:
        """A hash of its definition."""
        said = "\n".join([self.sql, *(f"{each.name} {each.sql}" for each in self.checks)])
        return hashlib.sha256(said.encode()).hexdigest()

    @property
    def is_personal(self) -> bool:
        """Whether its rows may lead to one person: it reads whole rows, or a column that does."""
        return bool(self.reads.stars or self.reads.names & _PERSONAL)


@dataclass(frozen=True)
class Models:
    """All of them: models in the order in which they are made, examples, problems by name, and a hash."""

    models: tuple[Model, ...] = ()
    examples: tuple[Example, ...] = ()
    wrong: dict[str, str] = field(default_factory=dict)
    digest: str = ""
    missing: str = ""  # the folder, if it is not there


def models_folder(settings: Settings) -> Path:
    """Return where the files are."""
    return (settings.file.parent / settings.models.dir).resolve()


def read_models(settings: Settings) -> Models:
    """Return the models in the files of [models] dir."""
    if not settings.models.dir:
        return Models()
    folder = models_folder(settings)
    if not folder.is_dir():
        return Models(missing=str(folder), digest=f"{folder} is missing")
    digest = hashlib.sha256()
    found: dict[str, Model] = {}
    examples: list[Example] = []
    wrong: dict[str, str] = {}
    for path in (each for sort in ("", "checks/", "examples/") for each in sorted(folder.glob(f"{sort}*.sql"))):
        name = f"{OWN}.{path.stem}" if path.parent == folder else f"{path.parent.name}/{path.stem}"
        try:
            text = unmarked(path.read_bytes()).decode()
            digest.update(repr((name, text)).encode())
            if name.startswith("checks/"):
                _add_check(found, path.stem, text)
            elif name.startswith("examples/"):
                examples.append(example_of(path.stem, text))
                _allowed(examples[-1].sql)
            else:
                found[name] = read_model(name, text)
        except CatalogueError as error:
            wrong[name] = str(error)
        except (OSError, UnicodeDecodeError) as error:
            wrong[name] = f"{path.name} cannot be read: {type(error).__name__}"
    return Models(tuple(_in_order(found, wrong)), tuple(examples), wrong, digest.hexdigest())


def read_model(table: str, text: str) -> Model:
    """Return a model; raise CatalogueError where its text may not be run, or its head says something else."""
    if not _NAME.fullmatch(table.partition(".")[2]):
        raise CatalogueError("the file's name is the table's: small letters, digits and underscores, .sql")
    head, sql = head_of(text), text.rstrip().rstrip(";")
    read = _allowed(sql)
    if wrong := set(head.facts) - {"key", "scope"}:
        raise CatalogueError(f"{min(wrong)} is not a fact of a model: there is only key")
    return Model(table, sql, head, read)


def _add_check(found: dict[str, Model], name: str, text: str) -> None:
    """Add a check to its model; raise CatalogueError where it may not run, or reads what its model does not."""
    about = f"{OWN}.{name.partition('__')[0]}"
    if about not in found:
        raise CatalogueError(f"is of {about}, which no file makes: its name is <model>__<claim>.sql")
    model, sql = found[about], text.rstrip().rstrip(";")
    check = check_of(name, sql, "all")
    known = {about, *model.reads.tables}
    if strange := [each for each in _allowed(sql).tables if each.startswith(f"{OWN}.") and each not in known]:
        raise CatalogueError(f"reads {strange[0]}, which {about} does not read")
    found[about] = replace(model, checks=(*model.checks, check))


def _in_order(found: dict[str, Model], wrong: dict[str, str]) -> Iterator[Model]:
    """Yield each model after those that it reads; models in a circle are wrong."""
    own = {name: {r for r in each.reads.tables if r.startswith(f"{OWN}.")} for name, each in found.items()}
    while True:
        try:
            order = list(graphlib.TopologicalSorter(own).static_order())
            break
        except graphlib.CycleError as error:
            circle = [str(name) for name in error.args[1]]
            for name in set(circle):
                wrong[name] = f"reads itself: {' < '.join(circle)}"
                del own[name]
    yield from (found[name] for name in order if name in own)


def _allowed(sql: str) -> Reads:
    """Return what a select reads; raise CatalogueError for more than tables of a release, or rows left to chance."""
    tree = tree_of(sql)
    nodes = list(dicts(tree))
    ctes = {str(each["key"]).lower() for n in nodes for each in (n.get("cte_map") or {}).get("map", [])}
    for node in nodes:
        if node.get("type") == "BASE_TABLE":
            name = f"{node['schema_name']}.{node['table_name']}"  # as it is written: inputs are noted by it
            if node.get("catalog_name") or not (name in readable() or name.startswith((f"{OWN}.", "."))):
                raise CatalogueError(f"reads {name.strip('.')}, which is not a table of core, mart, meta, ref or own")
            if name.startswith(".") and name[1:].lower() not in ctes:
                raise CatalogueError(f"reads {name[1:]}: write its schema, such as mart.{name[1:]}")
        elif node.get("type") == "SHOW_REF":
            raise CatalogueError("shows what there is: a model reads rows of tables")
        if why := _by_chance(node):
            raise CatalogueError(why)
    if called := of_engine(tree, TABLES):
        raise CatalogueError(f"calls {called}, which is about the engine or files")
    return reads(sql)


def _by_chance(node: dict[str, Any]) -> str:
    """Return why a part of a select may give other rows of the same data; "" if it does not."""
    steps = [str(each["type"]) for each in node.get("modifiers") or ()]
    if node.get("sample") or (any(each.startswith("LIMIT") for each in steps) and "ORDER_MODIFIER" not in steps):
        return "takes a sample, or a limit without an order: which rows they are depends on chance"
    if len(node.get("column_names", ())) == 1 and (name := str(node["column_names"][0]).lower()) in _CLOCK:
        return f"reads {name}: {_WHEN}"
    called = str(node.get("function_name") or "").lower()
    if called == "ago" or (called == "age" and len(node.get("children") or node.get("arguments") or ()) == 1):
        return f"calls {called}, which counts from now: {_WHEN}"
    of_the_moment = functions_of("stability <> 'CONSISTENT'") - functions_of("stability = 'CONSISTENT'")
    return f"calls {called}: {_WHEN}" if called in of_the_moment else ""  # time zones are those of the file


@functools.cache
def readable() -> dict[str, Table]:
    """Return the tables that models may read, besides each other, by name."""
    tables = (*catalogue.release_tables(), *META, *REFERENCE)
    return {t.name: t for t in tables if not t.name.startswith(("audit.", "workings.")) and t is not MODELS}


def new_model(settings: Settings, name: str) -> Path:
    """Write a model to begin with, or copy that of docs/models and its checks; raise SettingsError if there is one."""
    folder = models_folder(settings)
    path = folder / f"{name}.sql"
    if not _NAME.fullmatch(name):
        raise SettingsError(f"{name!r} cannot be the name of a table: small letters, digits and underscores")
    if path.exists():
        raise SettingsError(f"{path} exists: name another table, or edit it")
    shipped = resource("docs") / "models"
    copies = {folder / file.relative_to(shipped): file for file in shipped.glob(f"checks/{name}__*.sql")}
    begun = shipped / path.name
    copies[path] = begun if begun.exists() else shipped / "daily_totals.sql"
    for copy, file in copies.items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(file.read_text("utf-8"), encoding="utf-8")
    return path
