"""`ordermart contract` and `ordermart questions` on a release of the real job: valid, whole, and without a secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.assets.conftest import Place

pytestmark = pytest.mark.slow


@pytest.mark.slow
def test_fields_are_those_of_the_release(published: Place) -> None:
    """Each field has a line with its types and counts; an undocumented one is marked, and no value is shown."""
    lines = published.command("contract").stdout.splitlines()
    fields = published.all("select kind, path, is_documented from audit.field_profile")
    assert len(lines) == len(fields) + 1
    for kind, path, is_documented in fields:
        start = f"{kind:7} {path}{'' if is_documented else ' (not documented)'}: "
        assert sum(line.startswith(start) for line in lines) == 1
    (status,) = (line for line in lines if line.startswith("orders  /status: "))
    ((nulls, documents),) = published.all(
        "select null_document_count, document_count from audit.field_profile where kind = 'orders' and path = '/status'"
    )
    assert status.startswith("orders  /status: string; ")
    assert f"null {nulls:,}, " in status
    assert status.endswith(f" of {documents:,}")


@pytest.mark.slow
def test_the_questions_are_a_letter(published: Place) -> None:
    """Each question is numbered and asks; assumptions and examples stand below it, credentials do not."""
    done = published.command("questions", "--markdown")
    assert done.returncode == 0, done.stderr
    titles = [line for line in done.stdout.splitlines() if line.startswith("## ")]
    asked = published.all("select partner_question from audit.questions order by rank")
    assert len(titles) == len(asked) > 30
    assert titles[0].startswith("## 1. ")
    assert all("?" in title for title in titles)
    assert "sandbox" not in done.stdout  # the client's id and secret in these tests
    assert "Examples by id:" in done.stdout
    plain = published.command("questions")
    assert "which statuses are sales (section 3): contradicted" in plain.stdout


@pytest.mark.slow
def test_a_reader_outside_understands_every_figure(published: Place) -> None:
    """No noun in the plural after a one, no empty words, no numbers of many decimals: neither in rows nor lines."""
    rows = published.all("select concat_ws(' ', undocumented || '.', assumption, evidence) from audit.questions")
    said = [row[0] for row in rows]
    for options in ((), ("--markdown",)):
        said += published.command("questions", *options).stdout.splitlines()
    wrong = r"\b1 (orders|documents|places|records|times|stores|menus)\b|\?\.$|\?\. |\(with \)|\d\.\d{4}"
    assert [line for line in said if re.search(wrong, line)] == []
    assert any("[partner.list_stores] query = {}" in line for line in said)


def test_without_a_release_both_say_what_to_do(place: Place) -> None:
    """Before the first run: exit code 1 and a sentence on standard error; `questions` names open answers."""
    for command in ("questions", "contract"):
        done = place.command(command)
        assert (done.returncode, "ordermart init" in done.stdout) == (1, command == "questions")
        assert "run `ordermart run` first" in done.stderr
