"""Contracts of what webhooks named."""

from pipelines.warehouse.contracts.contract import Contract, Count, Day, Instant, Text, column


class DailyWebhooks(Contract, table="audit.daily_webhooks", scope="all", key=("received_date", "topic")):
    """One row per day and topic: deliveries of webhooks that named an id.

    Source: the inbox. Deliveries that nobody could read are not here: `ordermart webhooks undecodable` lists them.
    Caveats: days are UTC; a day is forgotten with its deliveries, [webhooks] says when. A hint is no data: what it
    named is fetched, and a delivery that never came leaves no trace here.
    """

    received_date: Day = column("The day on which they were received, UTC.")
    topic: Text = column("The topic, such as orders.update.")
    kind: Text = column(
        "What kind of document they named: orders, menus or stores.", isin=("orders", "menus", "stores")
    )
    deliveries: Count = column("How many deliveries named an id.", ge=1)
    ids: Count = column("How many different ids they named.", ge=1)
    fetched_id_count: Count = column("How many of these ids were answered after such a delivery, found or not.", ge=0)
    first_received_at: Instant = column("When the first was received.")
    last_received_at: Instant = column("When the last was received.")
