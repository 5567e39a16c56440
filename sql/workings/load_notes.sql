-- One row per load and issue of its new documents.
--
-- A step: read audit.schema_drift instead.
-- Source: validation of every document of the load, whether or not later ones replaced it.
--
-- key: load_id, note
-- scope: load
--
-- load_id: The load.
-- document_count: New documents with this note.
-- example_ids: The three lowest ids of such documents.
select
    load_id, note,
    any_value(kind) as kind, -- a load is of one kind
    count(*) as document_count,
    list_sort(min(id, 3)) as example_ids,
from raw.document_notes
group by load_id, note
