-- What changed in closed days, and why?
select
    restatement_no,
    order_id,
    closed_business_date,
    measure,
    restatement_amount,
    currency,
    cause,
    posted_period,
from mart.restatements
order by restatement_no desc
