"""The joins that analysts may rely on, and those that multiply rows: listed in the dictionary, and proved by tests.

A join keeps the rows of its left table, one for one, because its columns hold the whole key of the right one. Facts are
joined to what they are about, never to each other: an order's money beside its lines adds up to too much.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Join:
    """A left join: every row of `left` with what `right` says of it."""

    left: str
    right: str
    on: tuple[str, ...]
    so_that: str


KEEPING = (
    Join("mart.orders", "core.stores", ("store_id",), "an order has its store's attributes"),
    Join("mart.order_reconciliation", "mart.orders", ("order_id",), "a residual has its order"),
    Join("mart.product_mix", "mart.store_products", ("store_id", "product_id"), "a product sold has its name on menus"),
    Join(
        "mart.product_mix",
        "mart.daily_store_sales",
        ("store_id", "business_date", "sale_class"),
        "a product sold has the totals of its day; null stores and days find nothing",
    ),
    Join(
        "core.order_lines",
        "mart.orders",
        ("order_id",),
        "a line has its order; the order's money repeats: do not sum it",
    ),
    Join(
        "mart.order_line_modifiers",
        "mart.order_lines",
        ("order_id", "line_no"),
        "a modifier has its line; line_amount includes modifier_amount, and repeats: do not sum it",
    ),
    Join("mart.order_lines", "mart.products", ("product_id",), "a line has its product's names and menus"),
    Join("mart.product_mix", "mart.products", ("product_id",), "a product sold has all its names and menus"),
    Join(
        "mart.hourly_store_sales",
        "mart.calendar",
        ("store_id", "business_date"),
        "an hour has its day; the day's amounts repeat: do not sum them",
    ),
    Join("mart.calendar", "core.stores", ("store_id",), "a day has its store's attributes"),
    Join(
        "core.order_line_modifiers",
        "core.order_lines",
        ("order_id", "line_no"),
        "a modifier has its line; the line's quantity and price repeat: do not sum them",
    ),
    Join(
        "core.order_line_modifiers",
        "mart.orders",
        ("order_id",),
        "a modifier has its order; the order's money repeats: do not sum it",
    ),
    Join(
        "core.order_deliveries",
        "mart.orders",
        ("order_id",),
        "a delivery record has its order; the order's money repeats: do not sum it",
    ),
    Join("core.store_menus", "core.stores", ("store_id",), "a menu that a store names has the store"),
    Join(
        "core.store_menus", "core.menus", ("menu_id",), "a menu that a store names has its name, where it was observed"
    ),
    Join("core.price_groups", "core.menus", ("menu_id",), "a price group has its menu"),
    Join("core.menu_prices", "core.price_groups", ("menu_id", "group_no"), "a price has its group"),
    Join("core.menu_prices", "core.products", ("menu_id", "product_id"), "a price has its product"),
    Join("core.products", "core.menus", ("menu_id",), "a product has its menu"),
    Join("core.modifier_edges", "core.modifiers", ("menu_id", "modifier_id"), "a reference has the modifier it names"),
    Join("core.modifier_paths", "core.products", ("menu_id", "product_id"), "a path has the product at its top"),
    Join("core.modifier_paths", "core.modifiers", ("menu_id", "modifier_id"), "a path has the modifier at its end"),
    Join(
        "core.order_changes",
        "core.order_versions",
        ("order_id", "version_no"),
        "a change has its version; the version's money repeats: do not sum it",
    ),
    Join(
        "core.order_versions", "mart.orders", ("order_id",), "a version has its order; its money repeats: do not sum it"
    ),
    Join(
        "core.order_line_modifier_versions",
        "core.order_line_versions",
        ("order_id", "lines_version_no", "line_no"),
        "a modifier has its line as it was",
    ),
    Join("mart.order_amendments", "core.order_versions", ("order_id", "version_no"), "an amendment has its version"),
    Join("mart.order_amendments", "core.stores", ("store_id",), "an amendment has its store's attributes"),
    Join("core.menu_price_versions", "core.menus", ("menu_id",), "a price observed has its menu"),
    Join("core.store_versions", "core.stores", ("store_id",), "a record observed has the store as it is now"),
    Join("audit.quarantine", "audit.loads", ("load_id",), "a rejected body has its load"),
    Join("audit.personal_data_changes", "audit.loads", ("load_id",), "a change has its load"),
    Join("audit.order_field_issues", "mart.orders", ("order_id",), "an issue has its order"),
)

MULTIPLYING = (
    Join(
        "core.order_lines",
        "core.products",
        ("product_id",),
        "a product is in several menus: use mart.orders, then mart.store_products",
    ),
    Join(
        "core.order_lines",
        "core.menu_prices",
        ("product_id",),
        "a product has several prices: in several groups, channels and menus",
    ),
    Join("core.order_line_modifiers", "core.modifier_edges", ("modifier_id",), "a modifier is in several places"),
    Join(
        "core.order_line_modifiers", "core.modifier_paths", ("modifier_id",), "a modifier is reached by several paths"
    ),
    Join("mart.orders", "core.store_menus", ("store_id",), "a store has several menus"),
    Join(
        "core.order_versions",
        "core.order_line_versions",
        ("order_id", "lines_version_no"),
        "a version has several lines, and several versions share them",
    ),
    Join("mart.order_lines", "mart.order_line_modifiers", ("order_id", "line_no"), "a line has several modifiers"),
    Join("mart.orders", "core.order_lines", ("order_id",), "an order has several lines: its money multiplies"),
    Join("mart.orders", "core.order_deliveries", ("order_id",), "an order may have several delivery records"),
)


def joins_of(table: str) -> tuple[Join, ...]:
    """Return the joins with this table on the left that keep its rows."""
    return tuple(join for join in KEEPING if join.left == table)
