-- sums_differ(sums): whether any of the stated_sums of the rows of a group is left, added up.
sum(sums[1]) <> 0
or sum(sums[2]) <> 0
or sum(sums[3]) <> 0
or sum(sums[4]) <> 0
or sum(sums[5]) <> 0
or sum(sums[6]) <> 0
