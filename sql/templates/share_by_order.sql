-- How many orders of a population are off by exactly a share of a base, rounded for the order, or its bound.
select count(*)
from off_orders
where
    node = $node
    and residual = if($is_share, $unit * rounded(
        cast($share::decimal(9, 6) * ($base * 0.0001::decimal(5, 4)) as decimal(38, 8)),
        '$mode', cast(unit * 0.0001::decimal(5, 4) as decimal(5, 4))
    ), $bound)
