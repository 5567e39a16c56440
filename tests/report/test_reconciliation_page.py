"""The page of a reconciliation, read by an HTML parser."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from pipelines.finance.reconciliation import reconciliation
from pipelines.finance.released import released
from pipelines.finance.selection import Selection
from pipelines.report.reconciliation_page import page_lines

if TYPE_CHECKING:
    from conftest import World

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """Reads a page: its tags with their attributes, its cells by table, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        """Check a closing tag against the open one."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note the text of a cell."""
        if self.open and self.open[-1] in {"td", "th"}:
            self.tables[-1][-1][-1] += data


def text_of(world: World, most_rows: int = 2_000) -> str:
    """Return the page of the whole world."""
    with released(world.settings) as release:
        return "\n".join(page_lines(reconciliation(release, Selection()), most_rows))


@pytest.fixture(scope="module")
def text(world: World) -> str:
    """Return the page of the whole world."""
    return text_of(world)


def test_page_is_well_formed_and_self_contained(text: str) -> None:
    """Every tag is closed; no scripts, images or external links, and a policy that forbids them."""
    page = Page(text)
    assert page.open == []
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "form"}
    assert {tag for tag, attributes in page.tags if "src" in attributes} == set()
    links = [attributes["href"] for _, attributes in page.tags if "href" in attributes]
    assert all(link is not None and link.startswith("#") for link in links)
    assert ("default-src 'none'; style-src 'unsafe-inline'") in [
        attributes.get("content") for tag, attributes in page.tags if tag == "meta"
    ]
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


def test_untrusted_text_is_escaped(text: str) -> None:
    """A store name that looks like a script is shown as text."""
    assert "<script" not in text
    cells = {cell for table in Page(text).tables for row in table for cell in row}
    assert "<script>alert(1)</script>&\"'" in cells


def test_figures_equal_those_of_the_tables(world: World, text: str) -> None:
    """Summary, days and breaks are those of the tables, each amount exact."""
    summary, days, breaks = Page(text).tables[:3]
    assert [row[:3] for row in summary[1:]] == [
        [">0", "unmapped", "1"],
        ["EUR", "counted", "2"],
        ["USD", "counted", "7"],
        ["USD", "excluded", "1"],
    ]
    assert "98,765,432,110,021.5569" in summary[3]
    assert len(days) - 1 == world.all("select count(*) from mart.daily_reconciliations")[0][0]
    assert [row[0] for row in breaks[1:]] == ["13", "14", "51", "22"]
    assert "27.4999" in breaks[3]


def test_page_has_no_personal_data(text: str, canaries: tuple[str, ...]) -> None:
    """The page has no personal value."""
    assert [canary for canary in canaries if canary in text] == []


def test_long_tables_are_cut_with_a_note(world: World) -> None:
    """A table beyond the limit is cut, with a note on where to find the rest."""
    text = text_of(world, most_rows=1)
    assert "First 1 of 4 rows" in text
    assert len(Page(text).tables[2]) == 2
