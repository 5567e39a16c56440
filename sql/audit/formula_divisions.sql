-- One row per value by which orders are divided, and one for the rest, of each division.
--
-- gathered from: audit.formula_populations
select
    -- keys
    rule_target,
    node_no,
    is_rest,
    value,
    -- by what, and into which
    dimension,
    part_no,
    child_no,
from raw.formula_divisions
