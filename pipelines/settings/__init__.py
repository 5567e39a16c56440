"""Read ordermart.toml and the environment into frozen, typed settings.

Whatever the partner's interface does not show is a key here, with its default in `ordermart.toml`; an error names the
key. Knows nothing of what the settings are for.
"""

from pipelines.settings.reading import DEFAULT_FILE, PREFIX, load_settings, settings_hash, without_secrets
from pipelines.settings.tables import (
    PLAINTEXT_FIELDS,
    Authenticate,
    BusinessDay,
    Closing,
    Data,
    Endpoint,
    Formula,
    Landing,
    ListStores,
    Menus,
    Notify,
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
    "PLAINTEXT_FIELDS",
    "PREFIX",
    "Authenticate",
    "BusinessDay",
    "Closing",
    "Data",
    "Endpoint",
    "Formula",
    "Landing",
    "ListStores",
    "Menus",
    "Notify",
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
    "without_secrets",
]
