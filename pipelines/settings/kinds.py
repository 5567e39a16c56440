"""The kinds of documents, defined once for every package."""

from typing import Literal, get_args

Kind = Literal["stores", "menus", "orders"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# The entity of a kind's documents: <entity>_id is its id in tables, raw.<entity>_versions has its versions.
ENTITIES: dict[str, str] = {"stores": "store", "menus": "menu", "orders": "order"}
# The kinds of which a build reads all documents at once; orders come in ranges.
WHOLE_KINDS: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind != "orders")
