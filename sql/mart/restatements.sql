-- One row per restatement: a recorded change to an order's measure on a closed day. Append-only.
--
-- Source: the ledger, to which a run appends restatements before it publishes its release.
-- Caveats: each row is a change to all rows before it: add restatement_amount, not current_amount. An order that moved
-- between closed days has rows on both, which net to zero (source_changed if an amount changed too); one that
-- moved to an unclosed day has a row on the closed day only. If a day is reopened, its rows stay unchanged but no
-- longer count: filter by is_close_active. The books of a period are what its days were closed with, plus what was
-- posted to it, less what was reversed in it.
--
-- key: restatement_no
--
-- restatement_no BIGINT >= 1: Number of the restatement, from 1, without gaps, never reused.
-- closed_business_date DATE: The closed business day.
-- sale_class: The sale class of the amount: counted, excluded, unmapped or deleted.
-- platform: Where the amount is booked; null where the order names none, and of older restatements.
-- prior_restated_amount: Sum of the restatements before this one.
-- current_amount: The order's amount here when this was recorded; zero if it had left.
-- cause ENUM('business_date_changed', 'currency_changed', 'deleted', 'late_arriving', 'lost_its_date', 'moved_to_another_store', 'pipeline_changed', 'platform_changed', 'released_from_quarantine', 'rule_changed', 'sale_class_changed', 'setting_changed', 'source_changed'): late_arriving: first seen after the close. released_from_quarantine: quarantined at close, accepted since. deleted: deleted at source. lost_its_date: its document no longer has the time that decides its day. moved_to_another_store: its document names another store. business_date_changed: its document, or its store's time zone, puts it on another day. sale_class_changed: its status changed and no amount did, or it is not deleted any more. currency_changed: in another currency and no amount changed; a row out of the old, one in. platform_changed: of another platform and no amount changed; a row out of the old, one in. source_changed: its document changed otherwise. setting_changed: same document, other [sales] or [business_day]. rule_changed: same document, other effective rule. pipeline_changed: only the pipeline's code differs. All rows of an order that one run records have the same: the first that applies, in the order of docs/DECISIONS.md.
-- current_business_date DATE null: The order's business day when this was recorded; null if it had none.
-- current_sale_class ENUM('counted', 'deleted', 'excluded', 'unmapped'): The order's sale class when this was recorded.
-- detected_at TIMESTAMPTZ: When it was found and recorded.
-- is_close_active BOOLEAN: Whether that close is active: false once its day was reopened.
-- posted_period VARCHAR null: The period it was posted to; null while unposted.
-- reversed_period VARCHAR null: The period in which its posting was reversed, when its day was reopened; else null.
select
    restated.restatement_no, restated.order_id, restated.store_id, restated.measure,
    restated.business_date as closed_business_date, restated.sale_class, restated.platform, restated.currency,
    restated.closed_amount, restated.prior_restated_amount, restated.current_amount,
    restated.restatement_amount, restated.cause, restated.current_business_date, restated.current_sale_class,
    restated.detected_at, restated.close_entry_no,
    coalesce(
        restated.close_entry_no = if(own.business_date is null, every_store.close_entry_no, own.close_entry_no), false
    ) as is_close_active,
    restated.posted_period, restated.reversed_period,
from raw.restated as restated
$closes_of restated
