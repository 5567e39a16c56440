-- share_of(amount, so_far, own, whole, unit): what of an amount falls to the own part of a whole:
-- amount * so_far / whole, less what fell to the parts before, each in whole units, rounded
-- towards zero; all of the amount where so_far is the whole. Exact, of whole numbers, for
-- 0 <= own <= so_far <= whole and whole above 0; those of 64 bits are several times faster.
if(so_far = whole, amount, amount * so_far // (whole * unit) * unit)
- if(so_far - own = whole, amount, amount * (so_far - own) // (whole * unit) * unit)
