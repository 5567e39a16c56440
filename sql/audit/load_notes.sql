-- One row per load and way in which its new documents deviate from the documentation.
select
    -- keys
    load_id,
    note,
    -- how often
    any_value(kind) as kind, -- a load is of one kind
    count(*) as document_count,
    list_sort(min(id, 3)) as example_ids,
from raw.document_notes
group by load_id, note
