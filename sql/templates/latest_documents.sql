-- One row per state of this kind whose document is in the files: the typed document.
insert into raw.latest_$kind
select
    wanted.id,
    from_json(files.document, '$structure'),
    $customer
    wanted.$is_deleted as is_deleted,
    wanted.fetched_at, wanted.fetch_load_id, wanted.sha256, wanted.versions, wanted.last_good_at,
    files.absences, files.rounded,
    $validated
from $files as files
inner join $states as wanted on files.id = wanted.id and files.sha256 = wanted.sha256
where files.id between $low and $high -- lets whole row groups be skipped
