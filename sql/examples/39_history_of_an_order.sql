-- How did an order change, and when was that observed?
select
    changes.order_id,
    changes.version_no,
    versions.first_seen_at,
    changes.field,
    changes.old_value,
    changes.new_value,
from core.order_changes as changes
inner join core.order_versions as versions
    on changes.order_id = versions.order_id and changes.version_no = versions.version_no
order by changes.order_id, changes.version_no, changes.field
limit 20
