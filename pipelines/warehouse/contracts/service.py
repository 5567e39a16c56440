"""Contract of how the service behaves, as far as its answers and webhooks show."""

from pipelines.warehouse.contracts.contract import Contract, Count, Instant, Share, Text, column

ASPECTS = (
    "status",
    "header",
    "rate_limit",
    "retry_after",
    "token_lifetime",
    "ms",
    "bytes",
    "error_body",
    "trouble",
    "deliveries",
    "lag_seconds",
    "loss",
)


class ServiceBehaviour(Contract, table="audit.service_behaviour", scope="all", key=("operation", "aspect", "name")):
    """One row per operation of the service, aspect of its behaviour, and what was met: what no document shows.

    Source: what the client counted of every answer, tries that failed included (a log of runs, kept below data/raw),
    and webhooks against what fetching found.
    Caveats: figures are of the place where we stand, with our pace. A lag is from created_at to the first delivery that
    named the order; a loss is the share of orders created, or of status changes found, while webhooks came, of which
    none of them told. Times and sizes are counted in six bounds a power of ten: a percentile is
    the bound above it, or the greatest figure.
    """

    operation: Text = column("orders, menus, stores, store list, authenticate, or webhooks.")
    aspect: Text = column(
        "status: codes met. header: names of headers met. rate_limit: headers of limits, with their numbers. "
        "retry_after: seconds asked for, by status. token_lifetime: claimed, the seconds that the service states; accepted "
        "and refused, the age at which a token was. ms: milliseconds of a try. bytes: of a body. error_body: status, "
        "and keys and types of the body. trouble: why a try failed. deliveries, lag_seconds, loss: of webhooks.",
        isin=ASPECTS,
    )
    name: Text = column("What was met, or which percentile; … stands for names that do not look like one.")
    times: Count = column("How often; of a percentile: how many figures it is of.", ge=0)
    figure: Share = column(
        "The percentile; of deliveries: how many an id; of loss: the share. Null for others.", nullable=True
    )
    least: Share = column("The lowest figure met; null where there are no figures.", nullable=True)
    greatest: Share = column("The highest figure met; null where there are no figures.", nullable=True)
    first_seen_at: Instant = column("When it was first met.", nullable=True)
    last_seen_at: Instant = column("When it was last met.", nullable=True)
