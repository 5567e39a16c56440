-- One row per value by which orders are divided, and one for the rest, of each division.
--
-- Source: the division of audit.formula_populations. All orders start at node 0.
--
-- key: rule_target, node_no, is_rest, value
-- gathered from: audit.formula_populations
--
-- node_no BIGINT: What is divided.
-- is_rest BOOLEAN: Whether the row is about all values that have no row.
-- value null: The value as text, 1 or 0 for a part held or not; null for none, and for the rest.
-- dimension VARCHAR: By what: a column of mart.orders, or a part of audit.formula_parts.
-- part_no: The part; null for a column.
-- child_no BIGINT: The node or population that the orders belong to.
select
    rule_target,
    node_no,
    is_rest,
    value,
    -- by what, and into which
    dimension,
    part_no,
    child_no,
from raw.formula_divisions
