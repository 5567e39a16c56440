"""Read ordermart.toml and the environment into frozen, typed settings.

Whatever the partner's interface does not show is a key, with its default in `ordermart.toml`; an error names the key.
"""

from pipelines.settings.assumptions import ASSUMPTIONS, assumptions
from pipelines.settings.contradictions import read_conditions
from pipelines.settings.reading import DEFAULT_FILE, PREFIX, given_keys, load_settings, settings_hash, without_secrets
from pipelines.settings.setting_tables import (
    Daypart,
    FormulaComponent,
    FormulaRule,
    Notify,
    Partner,
    Planner,
    Secret,
    Settings,
    SettingsError,
    WebhookSettings,
)

__all__ = [
    "ASSUMPTIONS", "DEFAULT_FILE", "PREFIX", "Daypart", "FormulaComponent", "FormulaRule", "Notify", "Partner",
    "Planner", "Secret", "Settings", "SettingsError", "WebhookSettings", "assumptions", "given_keys",
    "load_settings", "read_conditions", "settings_hash", "without_secrets",
]  # fmt: skip
