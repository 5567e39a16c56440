-- money_fingerprint(amounts): of an order's amounts, its lines', their currency and platform, which a day adds up
-- with bit_xor. Hashed twice because DuckDB combines column hashes with xor: equal changes
-- to two orders would otherwise cancel out.
hash(
    hash(
        amounts.order_id,
        amounts.currency,
        amounts.platform,
        amounts.$price,
        amounts.line_amount
    )
)
