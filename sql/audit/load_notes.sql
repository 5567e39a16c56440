-- One row per load and way in which its new documents are not as documented.
select
    -- keys
    load_id,
    note,
    -- how often
    any_value(kind) as kind, -- a load is of one kind
    count(*) as documents,
    list_sort(min(id, 3)) as example_ids,
from raw.document_notes
group by load_id, note
