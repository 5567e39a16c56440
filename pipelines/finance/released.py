"""The current release as finance reads it: one file, opened read-only, resolved once.

Knows nothing of what is asked of it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import msgspec

from pipelines.warehouse.release.manifest import Manifest, read_manifest
from pipelines.warehouse.release.release import DATABASE, current_release
from pipelines.warehouse.rows.session import fingerprint_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipelines.settings import Settings

# The tables of settings that say where an order is counted: another one moves orders, whatever their documents say.
PLACING = ("business_day", "sales")


class FinanceError(Exception):
    """What was asked for cannot be done; the message says why, and what to do."""


@dataclass(frozen=True)
class Released:
    """A release that is open: its folder, its manifest and a connection, in UTC."""

    path: Path
    manifest: Manifest
    con: duckdb.DuckDBPyConnection

    def has(self, table: str) -> bool:
        """Tell whether the release holds a table (`schema.name`)."""
        schema, _, name = table.partition(".")
        found = self.con.execute(
            "select 1 from information_schema.tables where table_schema = ? and table_name = ?", [schema, name]
        )
        return found.fetchone() is not None


@contextmanager
def released(settings: Settings) -> Iterator[Released]:
    """Open the current release; raise FinanceError where there is none, or where it was made by other settings."""
    path = current_release(settings.data_dir / "published")
    manifest = read_manifest(path) if path else None
    if path is None or manifest is None:
        raise FinanceError(f"there is no release in {settings.data_dir / 'published'}: run `ordermart run` first")
    with duckdb.connect(str(path / DATABASE), read_only=True) as con:
        con.execute("set timezone = 'UTC'")
        yield Released(path, manifest, con)


def check_release_settings(settings: Settings, manifest: Manifest) -> None:
    """Raise FinanceError where the settings that shape tables are not those that the release was made by."""
    if manifest.fingerprint.get("the settings") != fingerprint_of(settings)["the settings"]:
        raise FinanceError(
            f"release {manifest.id} was made by other settings than those in force: run `ordermart build`, then close"
        )


def circumstances(
    settings: Settings, con: duckdb.DuckDBPyConnection, release: str | None, code: dict[str, str]
) -> dict[str, Any]:
    """Return what an act keeps of the settings, the rules in force, the code and the release it was made in."""
    rules = con.execute(
        "select rule_target, scope, rule, verdict, rule_setting_no is not null as is_configured "
        "from audit.formula_populations order by all"
    )
    names = [column[0] for column in rules.description or ()]
    return {
        "release": release,
        "settings": settings_in_force(settings),
        "rules": [dict(zip(names, row, strict=True)) for row in rules.fetchall()],
        "code": code,
    }


def settings_in_force(settings: Settings) -> dict[str, Any]:
    """Return the settings that decide where an order is counted and which rules hold; none of them is a secret."""
    kept = {name: getattr(settings, name) for name in (*PLACING, "menus", "formula", "closing")}
    return {name: msgspec.to_builtins(value) for name, value in kept.items()}
