"""Read ordermart.toml and the environment into frozen, typed settings.

Knows nothing of what the settings are for. Everything that the partner's interface does not show is a key here,
with its default in `ordermart.toml`; an error names the key.
"""

from pipelines.settings.reading import DEFAULT_FILE, PREFIX, ROOT, load_settings, settings_hash
from pipelines.settings.tables import (
    OPEN_FIELDS,
    Authenticate,
    BusinessDay,
    Data,
    Endpoint,
    Formula,
    Landing,
    ListStores,
    Menus,
    Partner,
    Planner,
    Privacy,
    Sales,
    Schedule,
    Secret,
    Settings,
    SettingsError,
    StoreRecord,
    VaultSettings,
    Warehouse,
    Webhooks,
)

__all__ = [
    "DEFAULT_FILE",
    "OPEN_FIELDS",
    "PREFIX",
    "ROOT",
    "Authenticate",
    "BusinessDay",
    "Data",
    "Endpoint",
    "Formula",
    "Landing",
    "ListStores",
    "Menus",
    "Partner",
    "Planner",
    "Privacy",
    "Sales",
    "Schedule",
    "Secret",
    "Settings",
    "SettingsError",
    "StoreRecord",
    "VaultSettings",
    "Warehouse",
    "Webhooks",
    "load_settings",
    "settings_hash",
]
