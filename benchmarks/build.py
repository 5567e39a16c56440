"""Measure build and publication against a floor: DuckDB alone reading, summing and writing the same rows.

    python benchmarks/build.py [--orders 100000 1000000] [--folder FOLDER] [--keep]

The input is raw Parquet as validation writes it, generated from a seed with DuckDB SQL. The floor, with the same
number of threads: read the landed JSON and sum its amounts, then write the finished tables once to a DuckDB file and
once to Parquet. It is measured twice: with DuckDB's defaults, and with the faster write settings of the build. The
build runs in its own process, whose peak memory is printed.

Finance tables (thousands of price rules tested on every order, every price compared with its menu) are reported
separately, against writing them once to DuckDB. On a busy machine compare CPU times.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    from collections.abc import Iterator

Seconds = dict[str, tuple[float, ...]]

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

FINANCE = (
    "audit.formula",
    "audit.monthly_formula",
    "audit.order_formula_amounts",
    "audit.order_line_sums",
    "audit.order_residual",
    "audit.rounded_",
    "audit.subtotal_",
    "audit.total_",
)
RECONCILED = (
    "audit.menu_offers",
    "audit.order_rules",
    "mart.order_lines",
    "mart.order_reconciliation",
    "mart.daily_price_matches",
    "mart.price_variances",
    "mart.daily_reconciliations",
)
STORES = 200
PRODUCTS = 100
MODIFIERS = 60
CHOICES = 5  # modifiers below each product
MOST_LINES = 5  # of an order
MOST_MODIFIERS = 3  # of a line
PRODUCT_PRICE = "(500 + 37 * product % 1500)"  # on the menu and on nine of ten lines, in cents
MODIFIER_PRICE = "(50 + 7 * modifier)"

# One order as canonical JSON; hash() of (id, salt) is the only chance there is.
_ORDERS = """
create or replace macro pick(id, salt, n) as cast(hash(id, salt, {seed}) % n as bigint);
create or replace macro money(n) as cast(cast(n as decimal(18, 2)) / 100 as decimal(18, 2));
create or replace macro cents(id, salt, n) as money(pick(id, salt, n));

copy (
    with
    lines as (
        select id, line_no, 1 + pick(id, 100 + line_no, 3) as quantity,
            pick(id, 400 + line_no, {most_modifiers} + 1) as modifiers,
            pick(id, 300 + line_no, {products}) * pick(id, 350 + line_no, {products}) // {products} as product,
            if(
                pick(id, 450 + line_no, 10) = 0, cents(id, 200 + line_no, 2000), money({product_price})
            ) as price
        from range({first}, {last}) as t(id), range(1, {most_lines} + 1) as l(line_no)
        where line_no <= 1 + pick(id, 1, {most_lines})
    ),
    modifiers as (
        select id, line_no, modifier_no,
            (product + 11 * pick(id, 600 + 10 * line_no + modifier_no, {choices})) % {modifiers} as modifier,
            if(
                pick(id, 700 + 10 * line_no + modifier_no, 10) = 0,
                cents(id, 500 + 10 * line_no + modifier_no, 300),
                money({modifier_price})
            ) as price
        from lines, range(1, {most_modifiers} + 1) as m(modifier_no)
        where modifier_no <= modifiers
    ),
    modifier_texts as (
        select id, line_no, count(*) as n, sum(price) as money,
            string_agg(
                '{{"id":' || modifier || ',"name":"Modifier ' || modifier || '","price":"' || price
                || '","action":"add","quantity":' || (1 + modifier % 2) || '}}', ',' order by modifier_no
            ) as text
        from modifiers group by id, line_no
    ),
    line_texts as (
        select id, count(*) as n, coalesce(sum(m.n), 0) as modifiers, sum(price * quantity) as subtotal,
            sum(price) as money, coalesce(sum(m.money), 0) as modifier_money,
            string_agg(
                '{{"id":' || (id * 10 + line_no) || ',"product_id":' || product || ',"quantity":' || quantity
                || ',"name":"Product number ' || product || '","has_instructions":' || (product % 5 = 0)
                || ',"price":"' || price || '","modifiers":[' || coalesce(m.text, '') || ']}}', ',' order by line_no
            ) as text
        from lines left join modifier_texts as m using (id, line_no) group by id
    ),
    parts as (
        select *, cents(id, 2, 500) as delivery, cents(id, 3, 300) as tip, cents(id, 4, 100) as discount,
            timestamp '2026-01-01' + to_seconds(id * {step} + pick(id, 5, 3600)) as created
        from line_texts
    )
    select
        id,
        sha256(id::varchar || '{seed}') as sha256,
        '{{"id":' || id || ',"has_user_phone":true,"has_user_email":true,"has_user_address":true,"has_user_name":true'
            || ',"has_apartment_details":false,"has_user_latitude":true,"has_user_longitude":true'
            || ',"has_dispatch_note":' || (id % 7 = 0) || ',"dispatch_method":"store_delivery","store_id":'
            || pick(id, 6, {stores}) || ',"status":"'
            || if(pick(id, 7, 20) = 0, 'cancelled', if(id > {orders} - 500, 'preparing', 'delivered'))
            || '","platform":"web","requested_time":"' || strftime(created, '%Y-%m-%dT%H:%M:%SZ')
            || '","promised_delivery_time":"' || strftime(created + interval 40 minutes, '%Y-%m-%dT%H:%M:%SZ')
            || '","promised_pick_up_time":null,"created_at":"' || strftime(created, '%Y-%m-%dT%H:%M:%SZ')
            || '","subtotal_price":"' || subtotal || '","delivery_price":"' || delivery || '","tip":"' || tip
            || '","discount":"' || discount || '","loyalty_discount":"0","total_price":"'
            || (subtotal + delivery + tip - discount) || '","items":[' || text || '],"deliveries":['
            || if(id % 4 = 0, '', '{{"id":' || id || ',"type":"own_delivery","has_confirmation_code":true,"status":'
                || '"confirmed","has_tracking_url":true}}') || ']}}' as document,
        '{load_id}' as load_id,
        1800::integer as bytes,
        ['promised_pick_up_time=null'] as absences,
        0::integer as rounded,
        false as has_unknown,
        n::integer as lines,
        modifiers::integer as modifiers,
        if(id % 4 = 0, 0, 1)::integer as deliveries,
        (subtotal + delivery + tip + discount + subtotal + delivery + tip - discount)::decimal(38, 4) as order_money,
        money::decimal(38, 4) as line_money,
        modifier_money::decimal(38, 4) as modifier_money
    from parts
    order by hash(id)
) to '{documents}' (format parquet, compression zstd, row_group_size 32768);

copy (
    select
        'orders' as kind, id, row_number() over () - 1 as seq, {observed_at} as observed_at, 'live' as source,
        'accepted' as verdict, sha256, 200::integer as http_status, load_id, null::varchar as reason,
        null::varchar as pointer, substr(md5((id % 100000)::varchar), 1, 32) as customer_key,
        []::varchar[] as changed_personal, null::varchar as refused_ref
    from read_parquet('{documents}')
) to '{observations}' (format parquet, compression zstd);
"""

_SMALL = """
copy (
    select id, sha256(id::varchar || '{kind}') as sha256, {document} as document, '{load_id}' as load_id,
        100::integer as bytes, []::varchar[] as absences, 0::integer as rounded, false as has_unknown, {gate}
    from range({rows}) as t(id)
) to '{documents}' (format parquet, compression zstd);
copy (
    select '{kind}' as kind, id, id as seq, timestamptz '2025-12-31T00:00:00Z' as observed_at, 'live' as source,
        'accepted' as verdict, sha256, 200::integer as http_status, load_id, null::varchar as reason,
        null::varchar as pointer, null::varchar as customer_key, []::varchar[] as changed_personal,
        null::varchar as refused_ref
    from read_parquet('{documents}')
) to '{observations}' (format parquet, compression zstd);
"""


def make_raw(
    data: Path, orders: int, seed: int = 1, per_load: int = 50_000, most: tuple[int, int] = (MOST_LINES, MOST_MODIFIERS)
) -> None:
    """Write raw files of stores, one menu each, and orders, in loads as a night would leave them.

    `most` is how many lines an order has at most, and modifiers a line; half of that is common.
    """
    with duckdb.connect() as con:
        con.execute("set timezone = 'UTC'")
        con.execute(_small(data, "stores", "20260101T000000000000-000001", _STORE, STORES, "1::integer as menu_ids"))
        con.execute(_small(data, "menus", "20260101T000000000000-000002", _menu(), STORES, _menu_gate()))
        for n, first in enumerate(range(0, orders, per_load)):
            make_orders(
                con, data, first, min(first + per_load, orders), f"20260601T{n:012d}-000003", orders, seed, most
            )


def seconds_apart(orders: int) -> int:
    """Return how far apart orders are created, so that about a year holds so many."""
    return max(1, 365 * 86400 // orders)


def make_orders(
    con: duckdb.DuckDBPyConnection,
    data: Path,
    first: int,
    last: int,
    load_id: str,
    orders: int,
    seed: int,
    most: tuple[int, int] = (MOST_LINES, MOST_MODIFIERS),
) -> None:
    """Write one load of the orders first … last - 1, of a year that holds `orders`."""
    documents, observations = _pair(data, "orders", load_id)
    con.execute(
        _ORDERS.format(
            seed=seed,
            first=first,
            last=last,
            load_id=load_id,
            stores=STORES,
            products=PRODUCTS,
            modifiers=MODIFIERS,
            choices=CHOICES,
            most_lines=most[0],
            most_modifiers=most[1],
            product_price=PRODUCT_PRICE,
            modifier_price=MODIFIER_PRICE,
            orders=orders,
            step=seconds_apart(orders),
            documents=documents,
            observations=observations,
            observed_at=f"timestamptz '2026-06-01T00:00:00Z' + to_hours({seed})",
        )
    )


_STORE = (
    '\'{"id":\' || id || \',"name":"Store \' || id || \'","timezone":"Europe/Berlin","currency":"EUR",'
    '"menu_ids":[\' || id || \'],"attributes":{}}\''
)


def _product_cents(product: int) -> int:
    """Return what PRODUCT_PRICE is."""
    return 500 + 37 * product % 1500


def _choices(product: int) -> list[int]:
    return [(product + 11 * choice) % MODIFIERS for choice in range(CHOICES)]


def _modifier_cents(modifier: int) -> int:
    """Return what MODIFIER_PRICE is."""
    return 50 + 7 * modifier


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def _menu_gate() -> str:
    """Return the counts and sums that validation takes of the menu."""
    prices = sum(map(_product_cents, range(PRODUCTS)))
    references = sum(_modifier_cents(modifier) for product in range(PRODUCTS) for modifier in _choices(product))
    return f"""1::integer as price_groups, {PRODUCTS}::integer as prices, {PRODUCTS}::integer as products,
        {CHOICES * PRODUCTS}::integer as product_references, {MODIFIERS}::integer as modifiers,
        0::integer as child_references, {_money(prices)}::decimal(38, 4) as price_money,
        {_money(prices + 100 * PRODUCTS)}::decimal(38, 4) as delivery_price_money,
        {_money(references)}::decimal(38, 4) as reference_money"""


def _menu() -> str:
    """Return the SQL expression of the menu as JSON; what is delivered costs one unit more."""
    prices = [
        {
            "price_id": product,
            "product_id": product,
            "position": product + 1,
            "channel": "both",
            "price": _money(_product_cents(product)),
            "delivery_price": _money(_product_cents(product) + 100),
        }
        for product in range(PRODUCTS)
    ]
    menu = {
        "products": {
            str(product): {
                "name": f"Product number {product}",
                "description": "",
                "dispatch_method": "both",
                "modifiers": [
                    {"modifier_id": modifier, "position": place, "price": _money(_modifier_cents(modifier))}
                    for place, modifier in enumerate(_choices(product), 1)
                ],
            }
            for product in range(PRODUCTS)
        },
        "modifiers": {
            str(modifier): {"name": f"Modifier {modifier}", "description": "", "children": []}
            for modifier in range(MODIFIERS)
        },
    }
    head = {"name": "Menu", "price_groups": [{"id": 1, "name": "All", "position": 1, "prices": prices}]}
    rest = json.dumps(head, separators=(",", ":"))[1:]
    return f"""'{{"menu":{{"id":' || id || ',{rest},{json.dumps(menu, separators=(",", ":"))[1:]}'"""


def _pair(data: Path, kind: str, load_id: str) -> tuple[Path, Path]:
    paths = [data / "raw" / area / kind / f"{load_id}.parquet" for area in ("documents", "observations")]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    return paths[0], paths[1]


def _small(data: Path, kind: str, load_id: str, document: str, rows: int, gate: str) -> str:
    documents, observations = _pair(data, kind, load_id)
    return _SMALL.format(
        kind=kind,
        load_id=load_id,
        document=document,
        rows=rows,
        gate=gate,
        documents=documents,
        observations=observations,
    )


_SUM = """
select
    sum(o.subtotal_price), sum(o.delivery_price), sum(o.tip), sum(o.discount), sum(o.loyalty_discount),
    sum(o.total_price), sum(list_sum(list_transform(o.items, lambda i: i.price))),
    sum(list_sum(list_transform(flatten(list_transform(o.items, lambda i: i.modifiers)), lambda m: m.price)))
from (
    select from_json(document, '{"subtotal_price":"DECIMAL(18,4)","delivery_price":"DECIMAL(18,4)",
        "tip":"DECIMAL(18,4)","discount":"DECIMAL(18,4)","loyalty_discount":"DECIMAL(18,4)",
        "total_price":"DECIMAL(18,4)",
        "items":[{"price":"DECIMAL(18,4)","modifiers":[{"price":"DECIMAL(18,4)"}]}]}') as o
"""


def is_evidence(table: str) -> bool:
    """Return whether a table is finance's: what its sums, rules, reconciliation and price variances are made of."""
    return table.startswith(FINANCE) or table in RECONCILED


@contextmanager
def _timed(seconds: Seconds, part: str) -> Iterator[None]:
    """Add to a part how long the block took: on the clock, and on the processors."""
    clock, cpu = time.perf_counter(), time.process_time()
    yield
    before = seconds.get(part, (0.0, 0.0))
    seconds[part] = (before[0] + time.perf_counter() - clock, before[1] + time.process_time() - cpu)


def floor(folder: Path, data: Path, *, as_built: bool) -> Seconds:
    """Time what no build can do without, as DuckDB does it by itself or as it is set for builds; seconds per part."""
    from pipelines.warehouse import storage  # noqa: PLC0415 - most of what uses this file needs no more than its input

    release = data / "published" / "current" / "ordermart.duckdb"
    config, options = (storage.SESSION, storage.DRAFT) if as_built else ({}, "")
    seconds: Seconds = {}
    (folder / "floor.duckdb").unlink(missing_ok=True)
    with duckdb.connect(config=config) as con:
        con.execute(f"attach '{release}' as release (read_only)")
        names = [
            f"{s}.{t}"
            for s, t in con.execute(
                "select schema_name, table_name from duckdb_tables() where database_name = 'release'"
            ).fetchall()
        ]
        with _timed(seconds, "read and add up"):
            con.execute(f"{_SUM} from read_parquet('{data}/raw/documents/orders/*.parquet'))").fetchall()
        con.execute(f"attach '{folder / 'floor.duckdb'}' as flat {options}")
        for schema in ("core", "mart", "audit"):
            con.execute(f"create schema flat.{schema}")
        for name in names:
            columns = con.execute(f"select column_name, column_type from (describe release.{name})").fetchall()
            plain = ", ".join(f'"{column}" {kind}' for column, kind in columns)
            con.execute(f"create table flat.{name} ({storage.spelled(columns) if as_built else plain})")
        for part, wanted in (("tables, to DuckDB", False), ("finance's, to DuckDB", True)):
            with _timed(seconds, part):
                for name in names:
                    if is_evidence(name) is wanted:
                        con.execute(f"insert into flat.{name} from release.{name}")
                con.execute("checkpoint flat")
        with _timed(seconds, "all, to Parquet"):
            for name in names:
                con.execute(f"copy release.{name} to '{folder / name}.parquet' (format parquet, compression zstd)")
    return seconds


def _work(data: Path) -> None:
    """Build and publish, then print seconds and the peak memory of this process."""
    from pipelines.settings import load_settings  # noqa: PLC0415 - imports are not what is measured
    from pipelines.warehouse import build, publish, tables  # noqa: PLC0415
    from pipelines.warehouse.rows.making import Making  # noqa: PLC0415

    tables()
    settings = load_settings(data.parent / "ordermart.toml", {})
    seconds: Seconds = {}
    evidence: Seconds = {}
    plain = {"make": Making.make, "look": Making.look}

    def make(self: Making, table: Any, keys: str | None) -> None:
        with _timed(evidence if is_evidence(table.name) else {}, "evidence"):
            plain["make"](self, table, keys)

    def look(self: Making, check: Any, keys: str | None) -> None:
        with _timed(evidence if is_evidence(check.table) else {}, "evidence"):
            plain["look"](self, check, keys)

    Making.make, Making.look = make, look  # type: ignore[method-assign]
    with _timed(seconds, "build"):
        result = build(settings)
    with _timed(seconds, "publish"):
        publish(settings, result)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    blocked = sum(each.violations for each in result.checks if each.severity == "blocking")
    rows = sum(result.rows.values())
    print(json.dumps({"seconds": seconds | evidence, "peak_mb": peak, "rows": rows, "blocked": blocked}))


def measure(orders: int, folder: Path) -> None:
    """Print what building and publishing so many orders took, as ratios to the floor."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ordermart.toml").write_text("", encoding="utf-8")
    data = folder / "data"
    started = time.perf_counter()
    make_raw(data, orders)
    print(f"{orders:,} orders, input made in {time.perf_counter() - started:.1f} s")
    done = subprocess.run([sys.executable, __file__, "--work", str(data)], capture_output=True, text=True, check=True)
    work = json.loads(done.stdout.splitlines()[-1])
    made = work["seconds"]
    for name in ("build", "publish"):
        _print(name, made[name])
    whole = _sum({name: made[name] for name in ("build", "publish")})
    for words, as_built in (("as DuckDB writes", False), ("as the build writes", True)):
        parts = floor(folder, data, as_built=as_built)
        print(f"  {words}:")
        for name, taken in parts.items():
            _print(f"  floor: {name}", taken)
        _print("  build and publish", whole, _sum(parts))
        _print("  finance's tables, built", made["evidence"], parts["finance's, to DuckDB"])
    print(f"  peak memory {work['peak_mb']:,.0f} MiB; {work['rows']:,} rows; {work['blocked']} violations that block")


def _sum(parts: Seconds) -> tuple[float, ...]:
    return sum(clock for clock, _ in parts.values()), sum(cpu for _, cpu in parts.values())


def _print(what: str, taken: tuple[float, ...], bottom: tuple[float, ...] | None = None) -> None:
    clock, cpu = taken
    ratios = ("", "") if bottom is None else (f"{clock / bottom[0]:6.2f}", f"{cpu / bottom[1]:6.2f}")
    print(f"  {what:32} {clock:7.2f} s {ratios[0]:6}   CPU {cpu:7.2f} s {ratios[1]:6}")


def main() -> None:
    """Measure the requested sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--orders", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--keep", action="store_true", help="leave the folder")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        _work(arguments.work)
        return
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="ordermart-"))
    for orders in arguments.orders:
        measure(orders, folder / str(orders))
        if not arguments.keep:
            shutil.rmtree(folder / str(orders))


if __name__ == "__main__":
    main()
