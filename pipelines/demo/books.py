"""What accountants do in the demo: import control totals, and close a day whose orders still change."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from pipelines.demo.place import folder
from pipelines.finance import closing
from pipelines.finance.periods import one_day
from pipelines.finance.released import released
from pipelines.ingest.lock import run_lock
from pipelines.ledger import Ledger, import_totals
from pipelines.ledger.decisions import current_user

if TYPE_CHECKING:
    from pipelines.settings import Settings

_TOTALS = """
    select business_date, store_id, sum(order_count), sum(total_price) from mart.daily_store_sales
    where sale_class = 'counted' and business_date < ? group by all order by 3 desc, 1, 2 limit 3
"""
_LAST_DAY = "select max(business_date) from mart.orders where sale_class = 'counted' and business_date < ?"


def close_the_books(settings: Settings, now: dt.datetime) -> None:
    """Import control totals, the last of them wrong by one, and close the last day before `now`."""
    with released(settings) as release:
        totals = release.con.execute(_TOTALS, [now.date() - dt.timedelta(days=2)]).fetchall()
        found = release.con.execute(_LAST_DAY, [now.date()]).fetchone()
    if totals:
        rows = ["business_date,store_id,order_count,amount,amount_field,sale_classes"]
        for place, (day, store, count, amount) in enumerate(totals, 1):
            rows.append(f"{day},{store},{count},{amount + (place == len(totals))},total_price,counted")
        file = folder(settings) / "control_totals.csv"
        file.write_text("\n".join(rows) + "\n", encoding="utf-8")
        import_totals(Ledger(settings.data_dir / "ledger"), file)
    if found and found[0]:
        with run_lock(settings.data_dir, "ordermart demo"):
            reason = "the demo closes a day whose orders still change"
            closing.close(settings, one_day(str(found[0])), None, exceptions=reason, user=current_user(""))
