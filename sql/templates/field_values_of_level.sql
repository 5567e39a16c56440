-- The fields of one level of a document: of $table. Joined where it lies: keeping the rows
-- first takes longer than all the joins.
fields_$number as not materialized (
    select
        $documents_by
        documents.$entity as example_id,
        documents._fetched_at,
        $values,
    from $table as facts inner join documents on facts.$entity = documents.$entity where $where
),
measured_$number as (
    select
        $by
        {
            'parent_count': count(*),
            'present_count': count(columns('/')),
            'zeros': count(if(columns('/') = 0, 1, null)),
            'max_decimals': max(
                case
                    when typeof(columns('/')) = 'BIGINT' then if(columns('/') is null, null, 0)
                    when columns('/') % 1 = 0 then 0
                    when columns('/') % 0.1 = 0 then 1
                    when columns('/') % 0.01 = 0 then 2
                    when columns('/') % 0.001 = 0 then 3
                    when columns('/') is not null then 4
                end
            ),
            'min_value': cast(min(columns('/')) as decimal(38, 4)),
            'max_value': cast(max(columns('/')) as decimal(38, 4)),
            'first_seen_at': min(if(columns('/') is null, null, _fetched_at)),
            'last_seen_at': max(if(columns('/') is null, null, _fetched_at)),
            'example_id': min(if(columns('/') is null, null, example_id)),
        } as "\0",
    from fields_$number
    $group
),

