-- One row per set of statuses that may count as sales: how many store-days it ties to control totals.
--
-- Source: mart.orders and the control totals of sales (class counted) in the ledger. A set is proposed if it ties all
-- but a tolerated share ([formula] max_violation_rate) of the store-days that distinguish it from each rival, and
-- there are at least min_distinguishing_orders such store-days. [sales] decides; a proposal is never applied.
-- Caveats: deleted orders are in no set. A store-day whose orders do not state the amount of the total is left out, as
-- is one with a sum of more than 17 digits. Without control totals there is no row; above 10 statuses sets are not
-- compared, and one row states that.
--
-- key: statuses
-- gathered from: raw.control_totals, raw.settings
-- gathered from mart.orders: store_id, business_date, status, is_deleted, subtotal_price
-- gathered from mart.orders: delivery_price, tip, discount, loyalty_discount, total_price
-- gathered from mart.orders: $optional
--
-- statuses VARCHAR[]: Statuses of the set, of those on such store-days; '(none)' if the service sent none.
-- is_configured BOOLEAN: Whether [sales] counts exactly these, of the statuses on such store-days.
-- verdict ENUM('indistinguishable', 'proposed', 'refuted', 'undecided'): proposed: every rival is refuted; at most one set. refuted: it fails against the best set. indistinguishable: on no store-day do its figures differ from those of the best set. undecided: otherwise.
-- reason: Why, in one sentence, for the best set; null for the others.
-- store_day_count BIGINT >= 0: Comparable store-days.
-- tied_store_day_count BIGINT >= 0: Store-days that the set ties.
-- distinguishing_day_count BIGINT >= 0: Store-days on which its figures differ from the best set's.
-- distinguishing_tied_count BIGINT >= 0: Distinguishing store-days that it ties.
select
    statuses,
    -- the verdict
    is_configured,
    verdict,
    reason,
    -- store-days
    store_day_count,
    tied_store_day_count,
    distinguishing_day_count,
    distinguishing_tied_count,
from raw.sales_sets
