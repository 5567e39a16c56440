-- What was proven equal to a full rebuild, and when?
from audit.verifications
where is_latest
order by verified_at desc, part
