"""The services themselves: each refuses who has no token, and counts what carries the secret."""

from __future__ import annotations

import httpx
import pytest

from tests.strangers.service import CLIENT_SECRET, PREFIX, Stranger
from tests.strangers.services import SERVICES


@pytest.mark.parametrize("kind", SERVICES, ids=lambda kind: kind.__name__)
def test_service_refuses_strangers_and_cites_its_habits(kind: type[Stranger]) -> None:
    """Stores, menus and orders need the token; an empty login is no refused one; two pages document the habits."""
    assert (kind.__doc__ or "").count("https://") >= 2
    with kind() as service, httpx.Client(base_url=service.base_url) as client:
        store = service.world.store_ids[0]
        for path in (service.list_path, f"{PREFIX}/menus/{service.world.menu_ids[0]}", f"{PREFIX}/orders/1"):
            assert client.get(path).status_code == 401, path
        assert client.get("/nothing/here").status_code == 404
        if service.login_path:
            assert client.get(service.login_path).status_code == 405
            assert "tok-" not in client.post(service.login_path).text
        client.get(service.list_path, headers={"authorization": f"Bearer {CLIENT_SECRET}"})
        assert (service.refused_logins, service.secrets_sent) == (0, 1)
        assert str(store) not in client.get(service.list_path).text
