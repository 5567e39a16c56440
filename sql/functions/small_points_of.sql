-- small_points_of(amount): the amount in ten thousandths, a whole number that is fast to add and
-- to divide; null from a hundred thousand on.
cast(try_cast(amount as decimal(9, 4)) * 10000 as bigint)
