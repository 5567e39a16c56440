-- One row per violation of a check that warns.
--
-- Source: the selects of sql/checks/ with severity warning, kept up to date with the rows that they are about.
-- Caveats: the rows are published as the partner sent them; a finding corrects nothing. One check may list an
-- entity several times, once per location.
--
-- key: none
-- scope: check
--
-- check_name VARCHAR: The claim that does not hold: its file in sql/checks/ without .sql.
-- table_name VARCHAR: The table that the claim is about.
-- entity_id: The order, menu or store (see the table) in which it does not hold; null where it is about none of them.
-- location VARCHAR null: Where in that entity, such as 'line 2, modifier 1'.
-- residual null: By how much an amount is off; null where no amount is.
-- detail VARCHAR null: Codes and ids that help to find the cause.
select
    check_name,
    table_name,
    entity_id,
    location,
    residual,
    detail,
from raw.findings
