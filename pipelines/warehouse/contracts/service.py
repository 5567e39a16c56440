"""Contract of the observed behaviour of the service."""

from pipelines.warehouse.contracts.contract import Contract, Count, Instant, Share, Text, column

ASPECTS = (
    "status",
    "header",
    "rate_limit",
    "retry_after",
    "token_lifetime",
    "duration_ms",
    "response_bytes",
    "error_body",
    "request_error",
    "deliveries",
    "lag_seconds",
    "loss",
)


class ServiceBehaviour(Contract, table="audit.service_behaviour", scope="all", key=("operation", "aspect", "name")):
    """One row per operation of the service, aspect of its behaviour, and observed name.

    Source: the client's counts of every response and failed attempt (a log of runs below data/raw), and webhook
    notifications compared with what fetching found.
    Caveats: the figures depend on this client's location and request rate. A lag is from created_at to the first
    notification that named the order; a loss is the share of orders created, or of status changes found, without a
    notification while webhooks were received. Durations and sizes are counted in six buckets per power of ten: a
    percentile is the upper bound of its bucket, or the maximum.
    """

    operation: Text = column("orders, menus, stores, store list, authenticate, or webhooks.")
    aspect: Text = column(
        "status: HTTP codes. header: names of headers. rate_limit: rate-limit headers with their numbers. retry_after: "
        "requested seconds, by status. token_lifetime: claimed, the seconds that the service states; accepted and "
        "refused, the age of a token when it was. duration_ms: of an attempt. response_bytes: of a body. error_body: "
        "status, and keys and types of the body. request_error: why an attempt failed. deliveries, lag_seconds, loss: "
        "of webhooks.",
        isin=ASPECTS,
    )
    name: Text = column("The observed value, or which percentile; … replaces text that is not a plain name.")
    occurrence_count: Count = column("How often it occurred; for a percentile: the number of measurements.", ge=0)
    metric_value: Share = column(
        "The percentile; of deliveries: how many per id; of loss: the share. Null for others.", nullable=True
    )
    min_value: Share = column("Smallest measurement; null if nothing was measured.", nullable=True)
    max_value: Share = column("Largest measurement; null if nothing was measured.", nullable=True)
    first_seen_at: Instant = column("When it was first observed.", nullable=True)
    last_seen_at: Instant = column("When it was last observed.", nullable=True)
