-- What changed since the release before?
select
    table_name,
    sum(added_row_count) as added_row_count,
    sum(removed_row_count) as removed_row_count,
    sum(changed_row_count) as changed_row_count,
from meta.changes
group by table_name
order by table_name
