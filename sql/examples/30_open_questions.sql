-- What does the interface leave open, and how much depends on it?
select
    rank,
    section,
    partner_question,
    assumption,
    evidence,
    affected_order_count,
    affected_amount,
    currency,
from audit.questions
order by rank
