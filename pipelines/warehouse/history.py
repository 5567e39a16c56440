"""Fold observations into a state per (kind, id), and give sql/ the versions that its tables do not have yet.

Observations are ordered by (observed_at nulls first, source, load_id, seq), never by time of loading. A version is a
run of equal hashes among the good verdicts (accepted, unchanged), numbered from 1. A quarantined body changes nothing
but when and how the id was last seen.

    observations of order 7: accepted A, unchanged A, accepted B, quarantined
    its state: hash B, two versions, last seen as quarantined; a later load with A makes a third version

The fold continues from a known state if all new observations are later than those of the state. An id with an earlier
one is folded again from all its observations, so increments give what a rebuild gives. The first run of equal hashes
that `fold_runs` finds may be the state's own, seen again. A full build gives all versions. An increment gives the new
ones; to compare the first of them with the one before, that one is rebuilt from the tables, and no raw file of an
earlier load is read.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from pipelines.landing.raw_folder import RawFiles
from pipelines.settings.kinds import WHOLE_KINDS
from pipelines.warehouse.catalogue.selects import HELD, filled
from pipelines.warehouse.inputs import relations
from pipelines.warehouse.inputs.relations import add_documents, by_loads, columns_of, create_earlier_documents
from pipelines.warehouse.storage import count_of, spelled

STATE = columns_of(
    "kind VARCHAR, id BIGINT, "
    # how many versions there are; the latest one: its hash, and the observation that its run starts with
    "versions BIGINT, sha256 VARCHAR, fetched_at TIMESTAMPTZ, fetch_load_id VARCHAR, customer_key VARCHAR, "
    # 404s since the last good one, each at least an hour after the one counted before
    "last_good_at TIMESTAMPTZ, misses BIGINT, missed_at TIMESTAMPTZ, "
    # the last observation of all
    "last_observed_at TIMESTAMPTZ, last_source VARCHAR, last_load_id VARCHAR, last_seq BIGINT, last_verdict VARCHAR, "
    "last_checked_at TIMESTAMPTZ"
)
_COLUMNS = ", ".join(STATE)
STATES = "raw.states_to_be"
_KEY = "row(coalesce({0}observed_at, '-infinity'::timestamptz), {0}source, {0}load_id, {0}seq)"


def create_states(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Create an empty table of states."""
    con.execute(f"create or replace table {name} ({spelled(STATE.items())})")


def fold(con: duckdb.DuckDBPyConnection, observations: str, before: str, into: str) -> None:
    """Add to `into`, an empty table of states, the state after `observations` of each id in them.

    `before` is a table of states that hold for ids all of whose `observations` are later.
    """
    con.execute(f"""
        create or replace table touched.repeated as
        select kind, id from {observations} where id is not null group by kind, id having count(*) > 1
        union
        select b.kind, b.id from {before} as b
        where exists (select 1 from {observations} as o where o.kind = b.kind and o.id = b.id)
    """)
    con.execute(f"create or replace view touched.observations as from {observations}")
    con.execute(f"create or replace view touched.before as from {before}")
    for name in ("states_of_single_observations", "states"):
        con.execute(f"insert into {into} ({_COLUMNS}) {filled(name)}")


def fold_all(con: duckdb.DuckDBPyConnection) -> None:
    """Fold raw.observations into the states of the attached draft, show these, and note the runs of versions."""
    create_states(con, "touched.nothing")
    fold(con, "raw.observations", "touched.nothing", "warehouse.build.states")
    find_all_runs(con)
    con.execute(f"create or replace view {STATES} as from warehouse.build.states")


def create_late(con: duckdb.DuckDBPyConnection, observations: str, before: str, into: str) -> None:
    """Make `into` the (kind, id) with an observation earlier than one already folded."""
    con.execute(f"""
        create or replace table {into} as
        select distinct observations.kind, observations.id from {observations} as observations
        inner join {before} as before on observations.kind = before.kind and observations.id = before.id
        where {_KEY.format("observations.")} <= {_KEY.format("before.last_")}
    """)


RUNS = "touched.runs"
# Of the observation that a run starts with: first_seen_at, load_id and changed_personal; null for one that went on.
RUN = columns_of(
    "kind VARCHAR, id BIGINT, version_no BIGINT, sha256 VARCHAR, first_seen_at TIMESTAMPTZ, load_id VARCHAR, "
    "changed_personal VARCHAR[], customer_key VARCHAR, last_seen_at TIMESTAMPTZ, is_new BOOLEAN"
)


def _create_runs(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"create or replace table {RUNS} ({', '.join(f'{c} {t}' for c, t in RUN.items())})")


def fold_runs(con: duckdb.DuckDBPyConnection, observations: str, before: str, only: str) -> None:
    """Add to touched.runs the runs of `observations` for the (kind, id) of the relation `only`; `before` as in fold."""
    for name, relation in (("observations", observations), ("before", before), ("wanted", only)):
        con.execute(f"create or replace view touched.{name} as from {relation}")
    con.execute(f"insert into {RUNS} ({', '.join(RUN)}) {filled('runs')}")


def find_all_runs(con: duckdb.DuckDBPyConnection) -> None:
    """Note every run of menus and stores, and of those orders that have more than one: the others are their state."""
    _create_runs(con)
    for these, least in (("kind <> 'orders'", 1), ("kind = 'orders'", 2)):  # apart: files of neither are not read
        only = f"(select kind, id from warehouse.build.states where {these} and versions >= {least})"
        if con.execute(f"select 1 from {only} limit 1").fetchone():
            fold_runs(con, f"(from raw.observations where {these})", "touched.nothing", only)


def find_new_runs(con: duckdb.DuckDBPyConnection, observations: str, known: str, late: str | None) -> None:
    """Note the runs of `observations`, whose ids' stored states are `known`, and those of `late` ids whole; and ids."""
    _create_runs(con)
    fold_runs(con, observations, known, "raw.fresh_states")
    if late:
        fold_runs(con, late, "touched.nothing", "touched.late")
    for kind, entity in relations.ENTITY.items():
        con.execute(f"""
            create or replace table touched.versioned_{kind} as
            select id as {entity} from {RUNS} where kind = '{kind}' and is_new
            union select id from touched.late where kind = '{kind}' and id is not null
        """)


def create_new_versions(
    con: duckdb.DuckDBPyConnection, raw: Mapping[str, RawFiles], new: Mapping[str, list[str]]
) -> None:
    """Make the raw versions of every kind of an increment, after raw.latest_<kind>."""
    for kind, files in raw.items():
        _create_earlier(con, kind, *by_loads(files.documents, new[kind]))
    for kind in WHOLE_KINDS:
        create_versions(con, kind)
    is_new = f"""exists (
        select 1 from {RUNS} as r
        where r.kind = 'orders' and r.id = t.order_id and r.version_no = t.version_no and r.is_new
    )"""
    _show_order_versions(con, f"(from raw.latest_orders as t where {is_new})")
    sightings = f"select id as order_id, version_no, last_seen_at from {RUNS} where kind = 'orders' and not is_new"
    con.execute(f"create or replace view raw.order_sightings as {sightings}")
    _create_contents(con, "touched.versioned_orders")
    _reassemble_versions(con)
    _create_edits(con)
    _hold_replaced(con, "raw.changed_states", *by_loads(raw["orders"].documents, new["orders"]))


def create_all_versions(con: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> None:
    """Make the raw versions of the orders of a bucket, after raw.latest_orders, in a full build."""
    edited = "select order_id, version_no from raw.latest_orders where version_no > 1"
    con.execute(f"create or replace table touched.edited as {edited}")
    at_hand = "exists (select 1 from touched.edited as e where e.order_id = r.id)"
    _create_earlier(con, "orders", paths, (), at_hand)
    _show_order_versions(con, "raw.latest_orders")
    nobody = relations.nothing(relations.RAW["raw.order_sightings"])
    con.execute(f"create or replace view raw.order_sightings as {nobody}")
    _create_contents(con, "touched.edited")
    _create_edits(con)
    _hold_replaced(con, "touched.bucket_states", paths)


def create_versions(con: duckdb.DuckDBPyConnection, kind: str, paths: Sequence[Path] | None = None) -> None:
    """Make raw.menu_versions or raw.store_versions; `paths` only in a full build, which has no stored versions."""
    entity = relations.ENTITY[kind]
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
    con.execute(f"""
        create or replace table raw.{entity.removesuffix("_id")}_versions as
        select
            r.id as {entity}, r.version_no, r.first_seen_at, r.last_seen_at,
            coalesce(l.document, e.document) as document, r.load_id as _load_id, true as is_new
        from {RUNS} as r
        left join raw.latest_{kind} as l on l.{entity} = r.id and l._payload_sha256 = r.sha256
        left join raw.earlier_{kind} as e on e.id = r.id and e.sha256 = r.sha256
        where r.kind = '{kind}' and r.is_new
        {stored if paths is None else ""}
    """)


def _create_earlier(
    con: duckdb.DuckDBPyConnection, kind: str, paths: Sequence[Path], older: Sequence[Path], where: str = "true"
) -> None:
    """Type the documents of new runs that are not the latest document."""
    entity = relations.ENTITY[kind]
    con.execute(f"""
        create or replace table touched.earlier as
        select r.id, r.version_no, r.first_seen_at, r.last_seen_at, r.load_id, r.sha256 from {RUNS} as r
        where r.kind = '{kind}' and r.is_new and {where}
            and not exists (
                select 1 from raw.latest_{kind} as l where l.{entity} = r.id and l.version_no = r.version_no
            )
    """)
    create_earlier_documents(con, kind, paths, "touched.earlier", older)
    if kind == "orders":
        con.execute("create or replace table touched.earlier_orders as from touched.earlier")


def _show_order_versions(con: duckdb.DuckDBPyConnection, latest: str) -> None:
    con.execute(f"""
        create or replace view raw.order_versions as
        select order_id, version_no, _fetched_at as first_seen_at, last_seen_at, document, _load_id, _payload_sha256
        from {latest}
        union all
        select r.id, r.version_no, r.first_seen_at, r.last_seen_at, e.document, r.load_id, r.sha256
        from touched.earlier_orders as r inner join raw.earlier_orders as e on e.id = r.id and e.sha256 = r.sha256
    """)


def _create_contents(con: duckdb.DuckDBPyConnection, orders: str) -> None:
    """Make touched.contents: of these orders, each version that is given, as versions are compared."""
    con.execute(f"""
        create or replace table touched.contents as
        select order_id, version_no, cast(null as bigint) as lines_version_no, {_content("document")} as content
        from raw.order_versions as t cross join raw.settings as s
        where exists (select 1 from {orders} as o where o.order_id = t.order_id)
    """)


def _reassemble_versions(con: duckdb.DuckDBPyConnection) -> None:
    """Add to touched.contents the last version that the tables have of each order with a new one."""
    con.execute("""
        create or replace table touched.grown as
        select order_id from touched.versioned_orders as v
        where not exists (select 1 from touched.late as l where l.kind = 'orders' and l.id = v.order_id)
    """)
    of_orders = HELD["orders"][""]
    fields = ", ".join(
        f'"{name}" := {_list(name) if isinstance(type_, list) else f"orders.{of_orders.column(name)}"}'
        for name, type_ in relations.CONTENT.items()
    )
    arrays = {path.rpartition("/")[2]: _packed(path) for path in ("items", "items/modifiers", "deliveries")}
    con.execute(f"insert into touched.contents {filled('stored_contents', fields=fields, **arrays)}")


def _create_edits(con: duckdb.DuckDBPyConnection) -> None:
    edits = filled("order_edits", changes=relations.changes("p.before", "p.after", "r.changed_personal"))
    con.execute(f"create or replace table raw.order_edits as {edits}")
    con.execute("drop table touched.contents")  # whole documents: as large as all that follows


def _hold_replaced(
    con: duckdb.DuckDBPyConnection, states: str, paths: Sequence[Path], older: Sequence[Path] = ()
) -> None:
    """Put into raw.latest_orders what orders were before their id came back for another, for which no person decided.

    The versions stay what they are: the latest one changes places with an earlier one.
    """
    con.execute(f"create or replace table touched.held as {filled('held_states', states=states)}")
    if count_of(con.execute("select count(*) from touched.held")):
        con.execute("""
            delete from touched.earlier_orders as e
            where exists (select 1 from touched.held as h where h.id = e.id and h.versions = e.version_no);
            insert into touched.earlier_orders
            select order_id, version_no, _fetched_at, last_seen_at, _load_id, _payload_sha256
            from raw.latest_orders where order_id in (select id from touched.held);
            insert into raw.earlier_orders
            select order_id, _payload_sha256, document from raw.latest_orders as l
            where order_id in (select id from touched.held)
                and not exists (from raw.earlier_orders as e where e.id = l.order_id and e.sha256 = l._payload_sha256);
            delete from raw.latest_orders where order_id in (select id from touched.held);
        """)
        add_documents(con, "orders", paths, "touched.held", older)


def _content(document: str) -> str:
    """Return the struct of relations.CONTENT out of a typed document."""
    fields = []
    for name, type_ in relations.CONTENT.items():
        value = f"{document}.{name}"
        if isinstance(type_, list):
            value = _normal(value, type_[0], name[0])
        elif type_ == relations.INSTANT:
            value = f"instant_within_range({value}, s.business_day_from, s.business_day_until)"
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
    element = relations.sql_type(relations.CONTENT[name])
    return f"coalesce({name}.{name}, [])".replace("items.items", "lines.items") + f"::{element}"


def _packed(path: str) -> str:
    """Return the struct of an array's element out of the columns of its table."""
    shape: Any = relations.CONTENT
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
