-- One row per thing that the interface does not show: the assumption, the evidence, and what depends on it.
--
-- Source: the settings, workings.daily_question_cases, workings.question_figures, audit.findings.
-- Caveats: supported is not proved: no case against it was seen. Orders of several questions overlap. `ordermart
-- questions --markdown` writes them as a letter to the partner.
--
-- key: question
--
-- rank BIGINT >= 1: Its place: most orders first, then most cases against what is assumed, then fewest for it. Amounts do not count: currencies cannot be compared.
-- section VARCHAR: The section of the interface that leaves it open.
-- undocumented VARCHAR: What is not shown, as in docs/ASSUMPTIONS.md.
-- assumption VARCHAR: What is assumed meanwhile: the settings with their values, or what is done without one.
-- partner_question VARCHAR: The question to the partner.
-- evidence VARCHAR null: What the data show, in a sentence; null if they show nothing.
-- evidence_status ENUM('contradicted', 'observed', 'supported', 'unknown'): contradicted: there is evidence against it. supported: cases for it, none against. observed: the evidence shows what occurs. unknown: the data show nothing.
-- supporting_count BIGINT >= 0: How many cases support it.
-- contradicting_count BIGINT >= 0: How many cases contradict it, or depend on the assumption alone.
-- affected_order_count BIGINT >= 0: How many orders depend on it: they would be shown differently.
-- affected_amount DECIMAL(38,4) null: Their total_price, added up; null for several currencies, or none.
-- example_ids: Up to three ids of documents in point, the lowest; orders where the question is about them.

-- orders for and against; amounts of two currencies do not add up
with of_orders as (
    select
        question,
        cast(coalesce(sum(order_count) filter (where is_against), 0) as bigint) as against,
        cast(coalesce(sum(order_count) filter (where not is_against), 0) as bigint) as agree,
        format(
            case question
                when 'sales' then 'Orders of a status that no list in [sales] names: {:,}; of one that is named: {:,}.'
                when 'currency' then 'Orders of stores without a currency: {:,}; of stores with one: {:,}.'
                when 'timezone' then 'Orders of stores without a timezone that exists: {:,}; of stores with one: {:,}.'
                when 'deleted' then 'Orders seen that are not found any more: {:,}; that still are: {:,}.'
                when 'business_day' then 'Orders asked for on another local day than they were created: {:,}; for the same: {:,}.'
                when 'total_formula' then 'Totals that differ from what their parts make, or have no rule in force: {:,}; equal to it: {:,}.'
                when 'subtotal_formula' then 'Subtotals that differ from what their lines make, or have no rule in force: {:,}; equal to it: {:,}.'
                when 'nulls' then 'Orders that lack an amount: {:,}; that have all: {:,}.'
                when 'decimals' then 'Accepted orders with an amount of more than two decimals: {:,}; without: {:,}.'
            end,
            against,
            agree
        ) as sentence,
        count(distinct currency) filter (where is_against) = 1
        and bool_and(currency is not null) filter (where is_against) as has_one_currency,
        if(has_one_currency, sum(total_price) filter (where is_against), null) as affected_amount,
        if(has_one_currency, any_value(currency) filter (where is_against), null) as currency,
        flatten(list(example_ids) filter (where is_against)) as example_ids,
    from workings.daily_question_cases group by question
),
-- what is found at each place
lines as (
    select
        question, place, lacking,
        concat_ws(': ', place, string_agg(said, ', ' order by figure desc, said)) as sentence,
        sum(agree) as agree, sum(against) as against,
        flatten(list(example_ids)) as example_ids,
    from workings.question_figures group by question, place, lacking
    union all by name
    select
        'product_ids' as question,
        format(
            'Product ids that name different products in different menus: {:,}.', count(distinct location)
        ) as sentence,
        count(*) as against,
        list(distinct entity_id) as example_ids,
    from audit.findings
    where check_name = 'core.products__have_one_name_across_menus'
    having count(*) > 0
),
told as (
    select
        question,
        string_agg(sentence, '; ' order by lacking desc, place) as evidence,
        sum(agree) as agree, sum(against) as against,
        flatten(list(example_ids)) as example_ids,
    from lines group by question
),
answered as (
    select
        asked.no, asked.question, asked.section, asked.undocumented, asked.assumption, asked.partner_question,
        nullif(concat_ws(' ', of_orders.sentence, told.evidence), '') as evidence,
        coalesce(of_orders.against, 0) as affected_order_count,
        cast(coalesce(of_orders.agree, 0) + coalesce(told.agree, 0) as bigint) as supporting_count,
        cast(affected_order_count + coalesce(told.against, 0) as bigint) as contradicting_count,
        of_orders.affected_amount, of_orders.currency,
        list_sort(list_distinct(coalesce(of_orders.example_ids, told.example_ids, []))) as example_ids,
    from raw.assumptions as asked left join of_orders using (question) left join told using (question)
)

select
    question,
    row_number() over (order by affected_order_count desc, contradicting_count desc, supporting_count, no) as rank,
    section, undocumented, assumption, partner_question, evidence,
    case
        when contradicting_count > 0 then 'contradicted'
        when supporting_count > 0 then 'supported'
        when evidence is not null then 'observed'
        else 'unknown'
    end as evidence_status,
    supporting_count, contradicting_count, affected_order_count, affected_amount, currency,
    example_ids[:3] as example_ids,
from answered
