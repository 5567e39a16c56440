"""`ordermart init` and a first night on services of strangers: at most six typed answers, and no edit of [partner]."""

from __future__ import annotations

import os
import re
import tomllib
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from tests.forked import ordermart
from tests.strangers.service import ATTEMPTS, CLIENT_ID, CLIENT_SECRET, Stranger
from tests.strangers.services import (
    SERVICES,
    Cashfree,
    Deliverect,
    Lightspeed,
    Shopify,
    Stripe,
    Toast,
    UberEats,
)

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

SALES = "sales.counted_statuses=delivered,picked_up"
# What a person types besides address, client_id and secret.
TYPED: dict[type[Stranger], tuple[str, ...]] = {
    Toast: ("authenticate.body.userAccessType=TOAST_MACHINE_CLIENT",),
    UberEats: ("list_stores.path=/v1/eats/stores", "authenticate.body.scope=eats.store"),
    Deliverect: ("authenticate.body.audience=https://api.deliverect.example",),
    Lightspeed: ("list_stores.path=/f/data/businesses",),
    Shopify: ("list_stores.path=/api/2026-10/locations.json", "authenticate.header=X-Shopify-Access-Token"),
    Stripe: ("authenticate.encoding=none",),
    Cashfree: ("authenticate.path=/payout/v1/authorize", "list_stores.path=/payout/v1/stores"),
}


def init(
    folder: Path, service: Stranger, *typed: str, orders: bool = True, options: tuple[str, ...] = (), **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run `ordermart init shop.toml` without a terminal, with these answers; the credentials are right."""
    ids = folder / "ids"
    ids.write_text("\n".join(map(str, service.world.order_ids)))
    sets = [word for each in typed for word in ("--set", each)]
    return ordermart(
        (
            *("init", str(folder / "shop.toml"), "--base-url", service.base_url + service.prefix),
            *("--client-id", CLIENT_ID, *sets),
            *(("--order-ids", str(ids)) if orders else ()),
            *options,
        ),
        {**os.environ, "ORDERMART_PARTNER__CLIENT_SECRET": CLIENT_SECRET, **environ},
        timeout=60,
    )


def written(folder: Path) -> dict[str, Any]:
    """Return [partner] of the settings file."""
    partner: dict[str, Any] = tomllib.loads((folder / "shop.toml").read_text(encoding="utf-8"))["partner"]
    return partner


@pytest.mark.slow
@pytest.mark.parametrize("kind", SERVICES, ids=lambda kind: kind.__name__)
def test_stranger_reaches_a_good_first_release(kind: type[Stranger], tmp_path: Path) -> None:
    """Each store, menu and order is in the release, with zones, currencies and sales, and the night is good."""
    typed = (*TYPED.get(kind, ()), SALES)
    assert 3 + len(typed) <= 6
    with kind() as service:
        done = init(tmp_path, service, *typed)
        assert done.returncode == 0, done.stdout + done.stderr
        sent = re.search(r"(\d+) of at most 160 requests were sent, the secret (\d) of at most 4 times", done.stdout)
        assert sent is not None
        assert int(sent[1]) == len(service.asked)
        assert service.secrets_sent == int(sent[2]) or "then as the token" in done.stdout
        assert service.refused_logins < ATTEMPTS
        assert CLIENT_SECRET not in done.stdout + (tmp_path / "shop.toml").read_text()
        environ = {
            **os.environ,
            "ORDERMART_PARTNER__CLIENT_ID": CLIENT_ID,
            "ORDERMART_PARTNER__CLIENT_SECRET_FILE": str(tmp_path / "shop-client-secret"),
            "ORDERMART_CONFIG": str(tmp_path / "shop.toml"),
        }
        night = ordermart(("run", "--order-ids", str(tmp_path / "ids")), environ, timeout=120)
        assert night.returncode == 0, night.stdout + night.stderr
        assert len(night.stdout.strip().splitlines()) <= 15
    file = tmp_path / "shop-data" / "published" / "current" / "ordermart.duckdb"
    with duckdb.connect(str(file), read_only=True) as con:
        stores = con.execute("select store_id, name, timezone, currency from core.stores order by all").fetchall()
        records = sorted(service.stores(), key=lambda each: each["id"])
        assert stores == [(each["id"], each["name"], each["timezone"], each["currency"]) for each in records]
        sales = con.execute("select sale_class, count(*) from mart.orders group by all").fetchall()
        assert sales == [("counted", len(service.world.order_ids))]
        menus = {menu for each in records for menu in each["menu_ids"][: 1 if kind.__name__ == "Uphold" else None]}
        assert {row[0] for row in con.execute("select menu_id from core.menus").fetchall()} == menus
