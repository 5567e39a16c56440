"""The kinds of documents, defined once for every package.

Knows nothing of what a document of a kind holds: that is `landing/shape.py`.
"""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal["stores", "menus", "orders"]
KINDS: tuple[Kind, ...] = get_args(Kind)
