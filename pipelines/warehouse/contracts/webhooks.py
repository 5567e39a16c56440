"""Contract of webhook notifications."""

from pipelines.settings.kinds import KINDS
from pipelines.warehouse.contracts.contract import Contract, Count, Day, Instant, Text, column


class DailyWebhooks(Contract, table="audit.daily_webhooks", scope="all", key=("received_date", "topic")):
    """One row per day and topic: webhook notifications that named an id.

    Source: the inbox. Undecodable deliveries are not here: `ordermart webhooks undecodable` lists them.
    Caveats: days are UTC; a day disappears when its deliveries are pruned ([webhooks] retention_days). A notification
    carries no data: the document it names is fetched. A delivery that never arrived leaves no trace here.
    """

    received_date: Day = column("The day they were received, UTC.")
    topic: Text = column("The topic, such as orders.update.")
    kind: Text = column("Kind of document: orders, menus or stores.", isin=KINDS)
    webhook_count: Count = column("Notifications that named an id.", ge=1)
    id_count: Count = column("Distinct ids named.", ge=1)
    fetched_id_count: Count = column("Ids answered after such a notification, found or not.", ge=0)
    first_received_at: Instant = column("When the first was received.")
    last_received_at: Instant = column("When the last was received.")
