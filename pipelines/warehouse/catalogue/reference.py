"""The tables of schema `ref`: the user's own CSV files, named in [reference].

Declares their columns.
"""

from __future__ import annotations

from pipelines.warehouse.catalogue.meta import MetaTable

STORES = MetaTable(
    "ref.stores",
    "One row per store in the file of [reference] stores; empty without one.",
    ("store_id",),
    (
        ("store_id", "BIGINT", "The store's id."),
        ("own_code", "VARCHAR", "Your own code of the store."),
        ("legal_entity", "VARCHAR", "The company that runs it."),
        ("region", "VARCHAR", "Its region."),
        ("timezone", "VARCHAR", "Its time zone by your records; business days follow the store record and settings."),
        ("currency", "VARCHAR", "Its currency by your records; amounts follow the store record and settings."),
        ("opened_on", "DATE", "When it opened."),
        ("closed_on", "DATE", "When it closed for good."),
    ),
)
PRODUCTS = MetaTable(
    "ref.products",
    "One row per product in the file of [reference] products; empty without one.",
    ("product_id",),
    (
        ("product_id", "BIGINT", "The product's id."),
        ("plu", "VARCHAR", "Your own number of the product."),
        ("category", "VARCHAR", "Its category."),
        ("is_combo", "BOOLEAN", "Whether it combines other products."),
    ),
)
PLATFORMS = MetaTable(
    "ref.platforms",
    "One row per platform in the file of [reference] platforms; empty without one.",
    ("platform",),
    (
        ("platform", "VARCHAR", "The platform, as orders state it."),
        ("platform_name", "VARCHAR", "Your own name of it."),
        ("platform_group", "VARCHAR", "The group that it belongs to, such as own or marketplace."),
    ),
)
UNMATCHED = MetaTable(
    "ref.unmatched",
    "One row per id that a file of [reference] and the data do not both have.",
    ("reference_table", "id", "problem"),
    (
        ("reference_table", "VARCHAR", "The table of schema ref."),
        ("id", "VARCHAR", "The store, product or platform, as a text."),
        ("problem", "VARCHAR", "not_in_data: only the file has it. not_in_file: only the data have it."),
    ),
)
FILES = {"stores": STORES, "products": PRODUCTS, "platforms": PLATFORMS}
REFERENCE = (*FILES.values(), UNMATCHED)
