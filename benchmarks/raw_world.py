"""Write raw Parquet as validation would leave it: orders, stores and menus of a shape, from a seed, by DuckDB alone.

Used by the benchmarks and by tests of builds that must not depend on the shape of the data.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from pathlib import Path

MODIFIERS = 60
CHOICES = 5  # modifiers below each product
PRODUCT_PRICE = "(500 + 37 * product % 1500)"  # on the menu and on nine of ten lines, in cents
MODIFIER_PRICE = "(50 + 7 * modifier)"
DAY_SECONDS = 86_400
LEAST_MEMORY = '[warehouse]\nmemory_limit = "850MB"\n'  # the least that the default gives, on any machine


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What the orders of a world are like; SQL expressions know `id`, `line_no` and `product`, and `pick(id, salt, n)`.

    `menus` is how many stores have one, None: each. `versions` is how often each order was seen, with another tip each
    time. `price` is that of a line.
    """

    stores: int = 200
    store: str = "pick(id, 6, 200)"
    days: int = 365
    products: int = 100  # on each menu
    menus: int | None = None
    product: str = "pick(id, 300 + line_no, 100) * pick(id, 350 + line_no, 100) // 100"
    product_name: str = "'Product number ' || product"
    price: str = f"if(pick(id, 450 + line_no, 10) = 0, cents(id, 200 + line_no, 2000), money({PRODUCT_PRICE}))"
    most_lines: int = 5
    lines: str = ""  # how many an order has; "": 1 to most_lines
    most_modifiers: int = 3  # of a line; half of that is common
    platform: str = "'web'"
    dispatch_method: str = "'store_delivery'"
    status: str = "case when pick(id, 7, 20) = 0 then 'cancelled' else 'delivered' end"
    versions: int = 1
    customer: str = "id % 100000"
    modifier: str = "(product + 11 * pick(id, 600 + 10 * line_no + modifier_no, 5)) % 60"  # knows modifier_no, too
    modifier_price: str = ""  # "": that of the menu, or near it
    extra: str = ""  # delivery price, tip and discount; "": each its own
    order_id: str = "id"  # the same for many: one order seen with other content each time
    failing: bool = False  # the service gives no document
    step: int = 0  # seconds between orders; 0: as many as spread them over the days


RANDOM_PRICE = "cents(id, 200 + line_no, 2000)"
KIND = Shape()
# What each shape tries: where memory and time could follow something else than the number of orders.
SHAPES = {
    "kind": KIND,
    "foreign": Shape(
        menus=0,
        price=RANDOM_PRICE,
        platform="['web', 'app', 'kiosk'][1 + pick(id, 8, 3)]",
        dispatch_method="['store_delivery', 'take_away', 'dine_in'][1 + pick(id, 9, 3)]",
    ),
    "one_store": Shape(stores=1, store="0"),
    "many_stores": Shape(stores=20_000, store="id % 20000", menus=0),
    "five_years": Shape(days=5 * 365),
    "line_counts": Shape(most_lines=200, lines="if(pick(id, 1, 100) = 0, 200, 1)"),
    "distinct": Shape(
        menus=0,
        price="money(100 + id * 7 + line_no)",
        product="(id * 1000 + line_no)",
        product_name="'Product ' || id || ' ' || line_no",
        platform="'platform ' || id",
        dispatch_method="'method ' || id",
        status="'status ' || id",
    ),
    "ten_versions": Shape(versions=10),
    "huge_menus": Shape(stores=20, store="pick(id, 6, 20)", products=10_000),
}
# One key has everything: what pairs rows of a key with one another takes four times as long for twice as many.
SKEWED = {
    "one_customer": Shape(stores=1, store="0", customer="1", step=120),
    "one_store": Shape(stores=1, store="0"),
    "one_product": Shape(product="1"),
    "one_minute": Shape(stores=1, store="0", days=1, step=1),
    "one_price": Shape(price="money(500)", product="1", lines="1", most_modifiers=1),
    "one_menu_with_all": Shape(stores=1, store="0", products=5_000),
    "one_order_seen_often": Shape(order_id="0", customer="1", stores=1, store="0"),
    "one_long_order": Shape(most_lines=900, lines="if(id = 0, 900, 1)"),
    "one_modifier": Shape(modifier="1"),
    "one_day": Shape(days=1),
    "one_amount": Shape(
        stores=1,
        store="0",
        product="1",
        price="money(500)",
        lines="1",
        modifier="1",
        modifier_price="money(57)",
        extra="money(100)",
    ),
    "all_failing": Shape(failing=True),
}

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
            {product} as product,
            {line_price} as price
        from range({first}, {last}) as t(id), range(1, {most_lines} + 1) as l(line_no)
        where line_no <= {lines}
    ),
    modifiers as (
        select id, line_no, modifier_no,
            {modifier} as modifier,
            {modifier_price} as price
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
                '{{"id":' || (id * {line_ids} + line_no) || ',"product_id":' || product || ',"quantity":' || quantity
                || ',"name":"' || {product_name} || '","has_instructions":' || (product % 5 = 0)
                || ',"price":"' || price || '","modifiers":[' || coalesce(m.text, '') || ']}}', ',' order by line_no
            ) as text
        from lines left join modifier_texts as m using (id, line_no) group by id
    ),
    parts as (
        select *, {delivery} as delivery, {tip} as tip, {discount} as discount,
            {first_day} + to_seconds(id * {step} + pick(id, 5, 3600)) as created
        from line_texts
    )
    select
        ({order_id})::bigint as id,
        sha256(id::varchar || '{seed}-{version}') as sha256,
        '{{"id":' || {order_id}
            || ',"has_user_phone":true,"has_user_email":true,"has_user_address":true,"has_user_name":true'
            || ',"has_apartment_details":false,"has_user_latitude":true,"has_user_longitude":true'
            || ',"has_dispatch_note":' || (id % 7 = 0) || ',"dispatch_method":"' || {dispatch_method} || '","store_id":'
            || {store} || ',"status":"' || {status} || '","platform":"' || {platform} || '","requested_time":"'
            || strftime(created, '%Y-%m-%dT%H:%M:%SZ')
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
        '{verdict}' as verdict, if('{verdict}' = 'failed', null, sha256) as sha256, 200::integer as http_status,
        load_id, if('{verdict}' = 'failed', 'timeout', null) as reason, null::varchar as pointer,
        substr(md5(({customer})::varchar), 1, 32) as customer_key,
        []::varchar[] as changed_personal, null::varchar as refused_ref
    from read_parquet('{documents}')
) to '{observations}' (format parquet, compression zstd);
"""

_NEAR_MENU = f"""if(
        pick(id, 700 + 10 * line_no + modifier_no, 10) = 0,
        cents(id, 500 + 10 * line_no + modifier_no, 300),
        money({MODIFIER_PRICE})
    )"""

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


def make_raw(data: Path, orders: int, seed: int = 1, per_load: int = 50_000, shape: Shape = KIND) -> None:
    """Write raw files of stores, menus and orders, in loads as a night would leave them."""
    with duckdb.connect() as con:
        con.execute("set timezone = 'UTC'")
        con.execute(
            _small(data, "stores", "20260101T000000000000-000001", _STORE, shape.stores, "1::integer as menu_ids")
        )
        menus = shape.stores if shape.menus is None else shape.menus
        if menus:
            gate = _menu_gate(shape.products)
            con.execute(_small(data, "menus", "20260101T000000000000-000002", _menu(shape.products), menus, gate))
        number = 0
        for version in range(shape.versions):
            for first in range(0, orders, per_load):
                load_id = f"20260601T{number:012d}-000003"
                last = min(first + per_load, orders)
                make_orders(con, data, first, last, load_id, orders, seed, shape, version)
                number += 1


def seconds_apart(orders: int, days: int = KIND.days) -> int:
    """Return how far apart orders are created, so that so many days hold so many."""
    return max(1, days * DAY_SECONDS // orders)


def make_orders(
    con: duckdb.DuckDBPyConnection,
    data: Path,
    first: int,
    last: int,
    load_id: str,
    orders: int,
    seed: int,
    shape: Shape = KIND,
    version: int = 0,
) -> None:
    """Write one load of the orders first … last - 1, of the days of a shape that hold `orders`."""
    documents, observations = _pair(data, "orders", load_id)
    status = f"if(id > {orders} - 500, 'preparing', {shape.status})" if shape is KIND else shape.status
    con.execute(
        _ORDERS.format(
            seed=seed,
            version=version,
            first=first,
            last=last,
            load_id=load_id,
            store=shape.store,
            product=shape.product,
            product_name=shape.product_name,
            line_price=shape.price,
            platform=shape.platform,
            dispatch_method=shape.dispatch_method,
            status=status,
            first_day=f"timestamp '2026-01-01' - interval {max(0, shape.days - 365)} days",
            most_lines=shape.most_lines,
            lines=shape.lines or f"1 + pick(id, 1, {shape.most_lines})",
            line_ids=10 if shape.most_lines < 10 else 1000,
            most_modifiers=shape.most_modifiers,
            modifier=shape.modifier,
            modifier_price=shape.modifier_price or _NEAR_MENU,
            delivery=shape.extra or "cents(id, 2, 500)",
            tip=shape.extra or f"cents(id, {3 + 1000 * version}, 300)",
            discount=shape.extra or "cents(id, 4, 100)",
            order_id=shape.order_id,
            verdict="failed" if shape.failing else "accepted",
            step=shape.step or seconds_apart(orders, shape.days),
            customer=shape.customer,
            documents=documents,
            observations=observations,
            observed_at=f"timestamptz '2026-06-01T00:00:00Z' + to_hours({seed + version})",
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


def _menu_gate(products: int) -> str:
    """Return the counts and sums that validation takes of the menu."""
    prices = sum(map(_product_cents, range(products)))
    references = sum(_modifier_cents(modifier) for product in range(products) for modifier in _choices(product))
    return f"""1::integer as price_groups, {products}::integer as prices, {products}::integer as products,
        {CHOICES * products}::integer as product_references, {MODIFIERS}::integer as modifiers,
        0::integer as child_references, {_money(prices)}::decimal(38, 4) as price_money,
        {_money(prices + 100 * products)}::decimal(38, 4) as delivery_price_money,
        {_money(references)}::decimal(38, 4) as reference_money"""


def _menu(products: int) -> str:
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
        for product in range(products)
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
            for product in range(products)
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
