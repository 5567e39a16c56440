"""core.modifier_paths: the tree of modifiers below each product, written out, in bounded time and memory."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.landing.validate import paths_of_products
from pipelines.warehouse import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

    from tests.sql.conftest import Run

Graph = dict[tuple[str, int], list[int]]


def edges(graph: Graph, menu_id: int = 10) -> list[dict[str, Any]]:
    """Return the rows of core.modifier_edges of a graph: parent -> modifiers below it."""
    return [
        {
            "menu_id": menu_id,
            "parent_type": kind,
            "parent_id": parent,
            "edge_no": edge_no,
            "modifier_id": modifier,
            "price": f"{edge_no}.5",
            "_load_id": "L",
        }
        for (kind, parent), below in graph.items()
        for edge_no, modifier in enumerate(below, start=1)
    ]


def walked(run_table: Run, *rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the paths of these edges."""
    return run_table("core.modifier_paths", {"core.modifier_edges": [row for each in rows for row in each]})


def expected(graph: Graph) -> list[tuple[Any, ...]]:
    """Walk the same graph the plain way: depth first, in Python."""
    found: list[tuple[Any, ...]] = []

    def walk(product: int, path: list[int], above: list[int], below: list[int]) -> None:
        for edge_no, modifier in enumerate(below, start=1):
            children = graph.get(("modifier", modifier), [])
            is_cycle = modifier in above
            way = [*path, edge_no]
            found.append((product, way, [*above, modifier], not children, is_cycle))
            if not is_cycle:
                walk(product, way, [*above, modifier], children)

    for (kind, parent), below in graph.items():
        if kind == "product":
            walk(parent, [], [], below)
    return sorted(found)


@pytest.mark.duckdb2
def test_three_levels_and_a_shared_group(run_table: Run) -> None:
    """A group that two products share is written out below each, with the price of its place."""
    rows = walked(
        run_table,
        edges({("product", 5): [1], ("product", 6): [9, 1], ("modifier", 1): [2, 3], ("modifier", 3): [4]}),
    )
    assert [(r["product_id"], r["edge_nos"], r["modifier_ids"], r["depth"], r["is_leaf"]) for r in rows] == [
        (5, [1], [1], 1, False),
        (5, [1, 1], [1, 2], 2, True),
        (5, [1, 2], [1, 3], 2, False),
        (5, [1, 2, 1], [1, 3, 4], 3, True),
        (6, [1], [9], 1, True),
        (6, [2], [1], 1, False),
        (6, [2, 1], [1, 2], 2, True),
        (6, [2, 2], [1, 3], 2, False),
        (6, [2, 2, 1], [1, 3, 4], 3, True),
    ]
    assert [row["price"] for row in rows[:3]] == [Decimal("1.5"), Decimal("1.5"), Decimal("2.5")]


def test_a_cycle_ends(run_table: Run) -> None:
    """The walk shows the repeated modifier and goes no further."""
    rows = walked(run_table, edges({("product", 5): [1], ("modifier", 1): [2], ("modifier", 2): [1]}))
    assert [(row["modifier_ids"], row["is_cycle"], row["is_leaf"]) for row in rows] == [
        ([1], False, False),
        ([1, 2], False, False),
        ([1, 2, 1], True, False),
    ]


def test_menus_do_not_mix(run_table: Run) -> None:
    """The same numbers in another menu are other modifiers."""
    rows = walked(
        run_table, edges({("product", 5): [1], ("modifier", 1): [2]}), edges({("product", 5): [1]}, menu_id=11)
    )
    assert [(row["menu_id"], row["edge_nos"]) for row in rows] == [(10, [1]), (10, [1, 1]), (11, [1])]


def test_null_in_place_of_a_reference(run_table: Run) -> None:
    """A null reference is a leaf and no cycle."""
    nothing = edges({("product", 5): [1], ("modifier", 1): [1]})
    nothing[1]["modifier_id"] = None
    rows = walked(run_table, nothing)
    assert [(row["edge_nos"], row["modifier_id"], row["is_leaf"], row["is_cycle"]) for row in rows] == [
        ([1], 1, False, False),
        ([1, 1], None, True, False),
    ]


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["product", "modifier"]), st.integers(1, 5)),
        st.lists(st.integers(1, 6), min_size=1, max_size=3),
        max_size=7,
    )
)
def test_same_as_the_plain_walk(run_table: Run, graph: Graph) -> None:
    """Any small graph, cycles included, gives the paths of a plain depth-first walk, and as many as landing counts."""
    rows = walked(run_table, edges(graph))
    found = [(r["product_id"], r["edge_nos"], r["modifier_ids"], r["is_leaf"], r["is_cycle"]) for r in rows]
    assert found == expected(graph)
    menu: dict[str, dict[str, Any]] = {"products": {}, "modifiers": {}}
    for (kind, parent), below in graph.items():
        member = "modifiers" if kind == "product" else "children"
        menu[f"{kind}s"][str(parent)] = {member: [{"modifier_id": each} for each in below]}
    counts = Counter(row["product_id"] for row in rows)
    assert dict(paths_of_products(menu)) == counts


@pytest.fixture
def counted(con: duckdb.DuckDBPyConnection) -> Callable[[str], list[tuple[Any, ...]]]:
    """Give `counted(select of menu_id, parent_type, parent_id, edge_no, modifier_id)`: paths and depth by product."""

    def count(select: str) -> list[tuple[Any, ...]]:
        con.execute("set memory_limit = '512MB'")
        con.execute(
            "create table core.modifier_edges as "
            f"select *, null::decimal(18, 4) as price, 'L' as _load_id from ({select})"
        )
        walk = catalogue.table("core.modifier_paths").sql
        return con.sql(
            f"select product_id, count(*), max(depth) from ({walk}) group by product_id order by product_id"
        ).fetchall()

    return count


def test_thirty_shared_levels_are_cut(counted: Callable[[str], list[tuple[Any, ...]]]) -> None:
    """Thirty levels of two shared children are 2 ** 31 paths: 10,000 are kept; another product keeps all of its own."""
    found = counted("""
        select 10 as menu_id, 'modifier' as parent_type, level as parent_id, edge_no, level + 1 as modifier_id
        from range(1, 31) as levels(level), range(1, 3) as edges(edge_no)
        union all select 10, 'product', 5, 1, 1
        union all select 10, 'product', 6, 1, 99
    """)
    assert [(product, paths) for product, paths, _ in found] == [(5, 10_000), (6, 1)]


def test_everything_below_everything_is_cut(counted: Callable[[str], list[tuple[Any, ...]]]) -> None:
    """A thousand modifiers below each of a hundred others cost no more than the kept paths."""
    found = counted("""
        select 10 as menu_id, 'modifier' as parent_type, parent as parent_id, edge_no, edge_no as modifier_id
        from range(1, 101) as parents(parent), range(1, 1001) as edges(edge_no)
        union all select 10, 'product', product, 1, 1 from range(5) as products(product)
    """)
    assert found == [(product, 10_000, 3) for product in range(5)]


def test_a_long_chain_is_cut(counted: Callable[[str], list[tuple[Any, ...]]]) -> None:
    """A chain of 20,000 modifiers is followed 32 deep."""
    found = counted("""
        select 10 as menu_id, 'modifier' as parent_type, level as parent_id, 1 as edge_no, level + 1 as modifier_id
        from range(1, 20001) as levels(level)
        union all select 10, 'product', 5, 1, 1
    """)
    assert found == [(5, 32, 32)]


@pytest.mark.slow
def test_a_menu_has_a_cap_too(counted: Callable[[str], list[tuple[Any, ...]]]) -> None:
    """Eighty thousand products over one hostile tree keep 500,000 paths together, the top of each product first."""
    found = counted("""
        select 10 as menu_id, 'modifier' as parent_type, level as parent_id, edge_no, level + 1 as modifier_id
        from range(1, 31) as levels(level), range(1, 3) as edges(edge_no)
        union all select 10, 'product', product, 1, 1 from range(80000) as products(product)
    """)
    assert len(found) == 80_000
    assert sum(paths for _, paths, _ in found) == 500_000
