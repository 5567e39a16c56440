"""Read ordermart.toml and the environment into frozen, typed settings.

Whatever the partner's interface does not show is a key here, with its default in `ordermart.toml`; an error names the
key.
"""

from pipelines.settings.reading import DEFAULT_FILE, given_keys, load_settings, settings_hash, without_secrets
from pipelines.settings.tables import Notify, Partner, Planner, Secret, Settings, SettingsError, Webhooks

__all__ = [
    "DEFAULT_FILE",
    "Notify",
    "Partner",
    "Planner",
    "Secret",
    "Settings",
    "SettingsError",
    "Webhooks",
    "given_keys",
    "load_settings",
    "settings_hash",
    "without_secrets",
]
