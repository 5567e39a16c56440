-- One row per part of the warehouse that was verified: what was proven, and when.
--
-- Source: the log of `ordermart verify` and of the nights, beside the warehouse. A rebuild keeps it.
-- Caveats: a verification follows the release that it compares, so each is in the next release. A part proves the
-- tables that have rows for its orders (and its day); tables over all orders are proven by part all alone.
--
-- key: verification_no
--
-- verification_no BIGINT >= 1: The number of the verification, from 1.
-- part ENUM('all', 'day', 'entities', 'orders'): orders: tables by order, for a range of ids. day: the same and tables by day, for the orders of a business day. entities: tables by store and menu. all: every table.
-- first_order_id BIGINT null: The first id of the range; null unless part is orders.
-- last_order_id BIGINT null: The last id of the range, itself included; null unless part is orders.
-- business_date: The business day; null unless part is day.
-- order_count >= 0: How many orders were built again and compared.
-- table_count BIGINT >= 0: How many tables were compared.
-- is_proven BOOLEAN: Whether every row was the same.
-- difference_count BIGINT >= 0: In how many tables and places (warehouse, release) a row differed.
-- first_difference VARCHAR null: Table, key and column of the first difference; null without one.
-- is_latest BOOLEAN: Whether it is the latest verification that starts at this id, or is of this day.
-- verified_at TIMESTAMPTZ: When it ended.
-- duration_ms: Milliseconds that it took.
-- release_id VARCHAR null: The release that was compared too; null where only the warehouse was.
select
    verification_no, part, first_order_id, last_order_id, business_date, order_count, table_count,
    difference_count = 0 as is_proven,
    difference_count, first_difference,
    -- a part is proven again each time the rotation reaches it
    row_number() over (
        partition by part, first_order_id, business_date
        order by verified_at desc, verification_no desc
    ) = 1 as is_latest,
    verified_at, duration_ms, release_id,
from raw.verifications
