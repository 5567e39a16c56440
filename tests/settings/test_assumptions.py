"""What the interface does not show is listed once, in the code and in the README, with what the settings say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipelines.settings import load_settings
from pipelines.settings.assumptions import ASSUMPTIONS, assumptions

README = Path(__file__).resolve().parents[2] / "README.md"
INTERFACE = README.parents[1] / "shared" / "interface.md"


def _rows() -> set[str]:
    section = README.read_text(encoding="utf-8").partition("\n## Assumptions")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| .* \|$", section, re.MULTILINE)
    return {row for row in rows if row != "not shown"}


def test_every_row_of_the_readme_is_a_question() -> None:
    """The README's table of assumptions and the list of questions name the same things."""
    listed = {each.undocumented for each in ASSUMPTIONS}
    assert _rows() == listed


def test_every_section_that_leaves_something_open_has_a_question() -> None:
    """Wherever the interface says "not shown" or "not stated", a question names that section."""
    if not INTERFACE.exists():
        pytest.skip(f"no {INTERFACE}")
    section, is_open = "", set()
    for line in INTERFACE.read_text(encoding="utf-8").splitlines():
        heading = re.match(r"#{2,3} (\d+(?:\.\d+)?)", line)
        section = heading[1] if heading else section
        if "not shown" in line or "not stated" in line:
            is_open.add(section)
    assert len(is_open) > 10
    assert is_open <= {part for each in ASSUMPTIONS for part in each.section.split(" and ")}


def test_a_question_is_named_once() -> None:
    """No two questions share a name, and each asks something."""
    assert len({each.question for each in ASSUMPTIONS}) == len(ASSUMPTIONS)
    assert all(each.ask.rstrip(".").endswith("?") and (each.keys or each.assumed) for each in ASSUMPTIONS)


def test_settings_are_told_and_secrets_are_not(tmp_path: Path) -> None:
    """What is assumed names keys and values; a body of credentials only its names; an address without its user."""
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
    assert "service.example" in said["base_address"]
    assert "TOPSECRET" not in repr(said)
