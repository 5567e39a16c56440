"""The documents answer each thing that the interface does not show, and the README stays short."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The keys of these tables are each an answer to a "not shown" of the interface.
ANSWERS = [
    "partner.authenticate",
    "partner.list_stores",
    "partner.store",
    "business_day",
    "sales",
    "menus",
]
# Single keys that are: sizes, patience, which free texts carry personal data, and the shape of webhooks.
SINGLE = [
    "partner.base_url",
    "partner.timeout_seconds",
    "partner.max_concurrency",
    "partner.max_attempts",
    "landing.max_bytes",
    "landing.excess_decimals",
    "landing.allowed_pointers",
    "privacy.plaintext_fields",
    "planner.final_statuses",
    "webhooks.topic_locations",
    "webhooks.id_locations",
    "webhooks.delivery_id_locations",
    "webhooks.signature",
    "webhooks.signature_header",
    "webhooks.signature_encoding",
    "webhooks.signature_prefix",
    "webhooks.signing_template",
    "webhooks.timestamp_header",
    "webhooks.tolerance_seconds",
]


def answers(project: Path) -> Iterator[tuple[str, str]]:
    """Give the settings that answer a "not shown", as (table, key)."""
    tree = tomllib.loads((project / "ordermart.toml").read_text(encoding="utf-8"))
    for table in ANSWERS:
        inner = tree
        for part in table.split("."):
            inner = inner[part]
        yield from ((table, key) for key in inner)
    yield from ((table, key) for table, _, key in (name.rpartition(".") for name in SINGLE))


def assumptions(readme: str) -> list[str]:
    """Return the rows of the table in the section about assumptions."""
    sections = re.split(r"^#+ ", readme, flags=re.MULTILINE)
    section = next((text for text in sections if "ssum" in text.partition("\n")[0]), "")
    return [line for line in section.splitlines() if line.startswith("|")]


def unnamed(rows: list[str], keys: list[tuple[str, str]]) -> list[str]:
    """Return the keys that no row names together with their table."""
    return [
        f"[{table}] {key}"
        for table, key in keys
        if not any(f"[{table}]" in row and re.search(rf"\b{key}\b", row) for row in rows)
    ]


@pytest.mark.promise(8)
def test_the_assumptions_name_every_setting_that_answers_a_question(project: Path) -> None:
    """Each "not shown" is one setting, and a row in the table of assumptions."""
    document = project / "docs" / "ASSUMPTIONS.md"
    if not document.exists():
        pytest.skip("docs/ASSUMPTIONS.md is not there")
    rows = assumptions(document.read_text(encoding="utf-8"))
    assert unnamed(rows, list(answers(project))) == []


def test_a_missing_row_is_found() -> None:
    """A key that is named only in the text, or beside another table, counts as missing."""
    rows = assumptions(
        "# x\n## Assumptions\nsales counted\n| which sell | `[sales] counted_statuses` | none |\n## y\n| z |"
    )
    assert unnamed(
        rows, [("sales", "counted_statuses"), ("sales", "excluded_statuses"), ("menus", "counted_statuses")]
    ) == [
        "[sales] excluded_statuses",
        "[menus] counted_statuses",
    ]


def test_the_readme_is_short_and_has_a_picture(project: Path) -> None:
    """At most 1,200 words; a picture of the morning page that is small enough to load."""
    readme, picture = project / "README.md", project / "docs" / "morning.png"
    text = readme.read_text(encoding="utf-8")
    assert len(text.split()) <= 1_200
    assert "](docs/morning.png)" in text
    assert picture.stat().st_size < 300_000


NOT_READ = {"CHANGELOG.md", "COMMANDS.md", "DICTIONARY.md", "QUESTIONS.md"}  # generated, or history


def test_documents_can_be_read_in_an_afternoon(project: Path) -> None:
    """README and docs that people wrote have 16,000 words at most, the history aside."""
    written = [project / "README.md", *(each for each in (project / "docs").glob("*.md") if each.name not in NOT_READ)]
    assert len(written) > 10
    assert sum(len(each.read_text("utf-8").split()) for each in written) <= 16_000
