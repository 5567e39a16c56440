-- What do the books of each period have?
select
    period,
    currency,
    sum(closed_amount) as closed_amount,
    sum(posted_amount) as posted_amount,
    sum(reversed_amount) as reversed_amount,
    sum(total_amount) as total_amount,
from mart.period_books
where measure = 'total_price' and sale_class = 'counted'
group by period, currency
order by period, currency
