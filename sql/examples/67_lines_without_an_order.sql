-- Which lines of statements settle none of our orders, and why?
select
    matches.platform,
    matches.match_state,
    lines.statement_ref,
    lines.source_row,
    lines.order_ref,
    lines.component,
    lines.currency,
    lines.amount,
from mart.settlement_lines as lines
inner join mart.settlement_matches as matches using (match_id)
where matches.match_state not in ('matched', 'group', 'no_order')
order by matches.platform, lines.entry_no, lines.source_row, lines.component
limit 100
