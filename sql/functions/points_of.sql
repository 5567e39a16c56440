-- points_of(amount): the amount in ten thousandths, a whole number.
cast(cast(amount as decimal(38, 4)) * 10000 as hugeint)
