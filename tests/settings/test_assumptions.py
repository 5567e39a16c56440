"""Assumptions about the interface's gaps are listed once, in code and documents, with their settings."""

from __future__ import annotations

import re
from pathlib import Path

from pipelines.settings import ASSUMPTIONS, assumptions, load_settings

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "ASSUMPTIONS.md"
# Sections of the partner's interface document in which something is "not shown" or "not stated".
OPEN_SECTIONS = set("1 2 2.1 2.2 2.3 3 4.1 4.2 4.3 4.4 4.5 5 6 7 8 9".split())


def _rows() -> set[str]:
    rows = re.findall(r"^\| (.+?) \| .* \|$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    return {row for row in rows if row != "not shown"}


def test_every_row_of_the_table_is_a_question() -> None:
    """The table of assumptions and the list of questions name the same things."""
    listed = {each.undocumented for each in ASSUMPTIONS}
    assert _rows() == listed


def test_every_open_section_has_a_question() -> None:
    """Each section of the interface document that says "not shown" or "not stated" is named by a question."""
    assert {part for row in ASSUMPTIONS for part in row.section.split(" and ")} >= OPEN_SECTIONS


def test_a_question_is_named_once() -> None:
    """No two questions share a name, and each asks something."""
    assert len({each.question for each in ASSUMPTIONS}) == len(ASSUMPTIONS)
    assert all(each.undocumented[-1] not in ".?" for each in ASSUMPTIONS), "the letter ends the sentence"
    assert all(each.ask.rstrip(".").endswith("?") and (each.keys or each.assumed) for each in ASSUMPTIONS)


def test_assumptions_name_settings_without_secrets(tmp_path: Path) -> None:
    """An assumption names keys and values; a body of credentials only its names; an address without its user."""
    file = tmp_path / "ordermart.toml"
    file.write_text(
        '[sales]\ncounted_statuses = ["done"]\n'
        '[partner]\nbase_url = "https://service.example"\n'
        '[partner.authenticate]\nbody = { key = "TOPSECRET" }\n',
        encoding="utf-8",
    )
    environ = {"ORDERMART_PARTNER__CLIENT_SECRET": "TOPSECRET", "ORDERMART_WEBHOOKS__SECRET": "TOPSECRET"}
    said = {each.question: text for _, each, text in assumptions(load_settings(file, environ))}
    assert said["sales"] == '[sales] counted_statuses = ["done"]; [sales] excluded_statuses = []'
    assert "(with key)" in said["authenticate"]
    assert "[partner.list_stores] query = {};" in said["store_pages"], "nothing to hide"
    assert "service.example" in said["base_address"]
    assert "TOPSECRET" not in repr(said)
