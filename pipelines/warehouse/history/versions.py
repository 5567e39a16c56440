"""Give sql/ the versions that its tables do not have yet: raw.order_versions, raw.order_edits and their like.

A full build gives all versions of its documents. An increment gives the new ones; where two versions are to be
compared, the last one that the tables have is put together again out of them, so no raw file of an earlier load is
read. An id with an observation earlier than one already folded is given whole, from raw.

Knows how versions are compared, not their use in tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.settings.kinds import WHOLE_KINDS
from pipelines.warehouse import inputs
from pipelines.warehouse.catalogue.generated_selects import HELD, filled
from pipelines.warehouse.history.states import create_runs, fold_runs
from pipelines.warehouse.inputs.landed import create_earlier_documents, present

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    import duckdb

    from pipelines.landing import RawFiles

RUNS = "touched.runs"


def find_all_runs(con: duckdb.DuckDBPyConnection) -> None:
    """Note every run of menus and stores, and of those orders that have more than one: the others are their state."""
    create_runs(con, RUNS)
    for these, least in (("kind <> 'orders'", 1), ("kind = 'orders'", 2)):  # apart: files of neither are not read
        only = f"(select kind, id from warehouse.build.states where {these} and versions >= {least})"
        if con.execute(f"select 1 from {only} limit 1").fetchone():
            fold_runs(con, f"(from raw.observations where {these})", "touched.nothing", only, RUNS)


def find_new_runs(con: duckdb.DuckDBPyConnection, observations: str, known: str, late: str | None) -> None:
    """Note the runs of `observations`, whose ids' stored states are `known`, and those of `late` ids whole; and ids."""
    create_runs(con, RUNS)
    fold_runs(con, observations, known, "raw.fresh_states", RUNS)
    if late:
        fold_runs(con, late, "touched.nothing", "touched.late", RUNS)
    for kind, entity in inputs.ENTITY.items():
        con.execute(
            f"""
            create or replace table touched.versioned_{kind} as
            select id as {entity} from {RUNS} where kind = '{kind}' and is_new
            union
            select id as {entity} from touched.late where kind = '{kind}' and id is not null
            """
        )


def create_new_versions(
    con: duckdb.DuckDBPyConnection, raw: Mapping[str, RawFiles], new: Mapping[str, list[str]]
) -> None:
    """Make the raw versions of every kind of an increment, after raw.latest_<kind>."""
    for kind, files in raw.items():
        fresh = [f for f in files.documents if set(f.load_ids) & set(new[kind])]
        older = [f for f in files.documents if f not in fresh]
        _create_earlier(con, kind, present(fresh), present(older))
    for kind in WHOLE_KINDS:
        create_versions(con, kind)
    is_new = f"""exists (
        select 1 from {RUNS} as r
        where r.kind = 'orders' and r.id = t.order_id and r.version_no = t.version_no and r.is_new
    )"""
    _show_order_versions(con, f"(from raw.latest_orders as t where {is_new})")
    con.execute(
        f"""
        create or replace view raw.order_sightings as
        select id as order_id, version_no, last_seen_at from {RUNS} where kind = 'orders' and not is_new
        """
    )
    _create_contents(con, "touched.versioned_orders")
    _reassemble_versions(con)
    _create_edits(con)


def create_all_versions(con: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> None:
    """Make the raw versions of the orders of a bucket, after raw.latest_orders, in a full build."""
    con.execute(
        """
        create or replace table touched.edited as
        select order_id, version_no from raw.latest_orders where version_no > 1
        """
    )
    at_hand = "exists (select 1 from touched.edited as e where e.order_id = r.id)"
    _create_earlier(con, "orders", paths, (), at_hand)
    _show_order_versions(con, "raw.latest_orders")
    con.execute("create or replace view raw.order_sightings as " + _nothing("raw.order_sightings"))
    _create_contents(con, "touched.edited")
    _create_edits(con)


def create_versions(con: duckdb.DuckDBPyConnection, kind: str, paths: Sequence[Path] | None = None) -> None:
    """Make raw.menu_versions or raw.store_versions; `paths` only in a full build, which has no stored versions."""
    entity = inputs.ENTITY[kind]
    if paths is not None:
        _create_earlier(con, kind, paths, ())
    stored = f"""
        union all
        select b.id, b.versions, b.fetched_at, greatest(b.last_good_at, r.last_seen_at), null, b.fetch_load_id, false
        from warehouse.build.states as b
        inner join touched.checked_{kind} as c on c.{entity} = b.id
        left join {RUNS} as r on r.kind = b.kind and r.id = b.id and r.version_no = b.versions
        where b.kind = '{kind}' and b.versions > 0
            and not exists (select 1 from touched.late as l where l.kind = b.kind and l.id = b.id)
    """
    con.execute(
        f"""
        create or replace table raw.{entity.removesuffix("_id")}_versions as
        select
            r.id as {entity}, r.version_no, r.first_seen_at, r.last_seen_at,
            coalesce(l.document, e.document) as document, r.load_id as _load_id, true as is_new
        from {RUNS} as r
        left join raw.latest_{kind} as l on l.{entity} = r.id and l._payload_sha256 = r.sha256
        left join raw.earlier_{kind} as e on e.id = r.id and e.sha256 = r.sha256
        where r.kind = '{kind}' and r.is_new
        {stored if paths is None else ""}
        """
    )


def _create_earlier(
    con: duckdb.DuckDBPyConnection, kind: str, paths: Sequence[Path], older: Sequence[Path], where: str = "true"
) -> None:
    """Type the documents of new runs that are not the latest document."""
    entity = inputs.ENTITY[kind]
    con.execute(
        f"""
        create or replace table touched.earlier as
        select r.id, r.version_no, r.first_seen_at, r.last_seen_at, r.load_id, r.sha256 from {RUNS} as r
        where r.kind = '{kind}' and r.is_new and {where}
            and not exists (
                select 1 from raw.latest_{kind} as l where l.{entity} = r.id and l.version_no = r.version_no
            )
        """
    )
    create_earlier_documents(con, kind, paths, "touched.earlier", older)
    if kind == "orders":
        con.execute("create or replace table touched.earlier_orders as from touched.earlier")


def _show_order_versions(con: duckdb.DuckDBPyConnection, latest: str) -> None:
    con.execute(
        f"""
        create or replace view raw.order_versions as
        select order_id, version_no, _fetched_at as first_seen_at, last_seen_at, document, _load_id, _payload_sha256
        from {latest}
        union all
        select r.id, r.version_no, r.first_seen_at, r.last_seen_at, e.document, r.load_id, r.sha256
        from touched.earlier_orders as r
        inner join raw.earlier_orders as e on e.id = r.id and e.sha256 = r.sha256
        """
    )


def _create_contents(con: duckdb.DuckDBPyConnection, orders: str) -> None:
    """Make touched.contents: of these orders, each version that is given, as versions are compared."""
    con.execute(
        f"""
        create or replace table touched.contents as
        select order_id, version_no, cast(null as bigint) as lines_version_no, {_content("document")} as content
        from raw.order_versions as t
        where exists (select 1 from {orders} as o where o.order_id = t.order_id)
        """
    )


def _reassemble_versions(con: duckdb.DuckDBPyConnection) -> None:
    """Add to touched.contents the last version that the tables have of each order with a new one."""
    con.execute(
        """
        create or replace table touched.grown as
        select order_id from touched.versioned_orders as v
        where not exists (select 1 from touched.late as l where l.kind = 'orders' and l.id = v.order_id)
        """
    )
    of_orders = HELD["orders"][""]
    fields = ", ".join(
        f'"{name}" := {_list(name) if isinstance(type_, list) else f"orders.{of_orders.column(name)}"}'
        for name, type_ in inputs.CONTENT.items()
    )
    con.execute(
        "insert into touched.contents "
        + filled(
            "stored_contents",
            fields=fields,
            items=_packed("items"),
            modifiers=_packed("items/modifiers"),
            deliveries=_packed("deliveries"),
        )
    )


def _create_edits(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "create or replace table raw.order_edits as "
        + filled("order_edits", changes=inputs.changes("p.before", "p.after", "r.changed_personal"))
    )
    con.execute("drop table touched.contents")  # whole documents: as large as all that follows


def _nothing(name: str) -> str:
    return f"select {', '.join(f'cast(null as {t}) as {c}' for c, t in inputs.RAW[name].items())} where false"


def _content(document: str) -> str:
    """Return the struct of inputs.CONTENT out of a typed document."""
    fields = []
    for name, type_ in inputs.CONTENT.items():
        value = f"{document}.{name}"
        if isinstance(type_, list):
            value = _normal(value, type_[0], name[0])
        elif type_ == inputs.INSTANT:
            value = f"cast({value} as timestamp with time zone)"
        fields.append(f'"{name}" := {value}')
    return f"struct_pack({', '.join(fields)})"


def _normal(value: str, shape: dict[str, Any], each: str) -> str:
    """Return an array's elements, none for an absent one; an element that is null is one with nothing in it."""
    fields = ", ".join(
        f'"{name}" := {_normal(f"{each}.{name}", type_[0], name[0]) if isinstance(type_, list) else f"{each}.{name}"}'
        for name, type_ in shape.items()
    )
    return f"list_transform(coalesce({value}, []), lambda {each}: struct_pack({fields}))"


def _list(name: str) -> str:
    element = inputs.sql_type(inputs.CONTENT[name])
    return f"coalesce({name}.{name}, [])".replace("items.items", "lines.items") + f"::{element}"


def _packed(path: str) -> str:
    """Return the struct of an array's element out of the columns of its table."""
    shape: Any = inputs.CONTENT
    for part in path.split("/"):
        shape = shape[part][0]
    held = HELD["orders"]["".join(f"/{part}/*" for part in path.split("/"))]
    fields = []
    for name, type_ in shape.items():
        value = str(held.column(name))
        if isinstance(type_, list):
            value = f"coalesce(m.{name}, [])"
        elif path == "items":
            value = f"l.{value}"
        fields.append(f'"{name}" := {value}')
    return f"struct_pack({', '.join(fields)})"
