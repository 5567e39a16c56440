"""The pages in a real browser: nothing overflows, nothing is requested, and axe-core finds nothing serious."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from pipelines.record import save
from pipelines.report.page.morning import write_morning_page
from tests.recorded import recorded
from tests.report.browser import PROGRAM, Browser, Tab
from tests.report.conftest import World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(shutil.which(PROGRAM) is None, reason="chromium is not installed"),
]
NOW = dt.datetime(2026, 11, 2, 3, 20, tzinfo=dt.UTC)
A4 = 703  # CSS pixels of a sheet less its margins
LOOKS = [
    (390, "light", "screen"),
    (390, "dark", "screen"),
    (1280, "light", "screen"),
    (1280, "dark", "screen"),
    (1920, "light", "screen"),
    (1920, "dark", "screen"),
    (A4, "light", "print"),
    (A4, "dark", "print"),
]


@pytest.fixture(scope="module")
def pages(settled_world: World, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the files of a morning page with thirty nights and statements, and of a reconciliation."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(settled_world.folder, folder / "world", symlinks=True)
    copy = World.at(folder / "world")
    for day in range(29, 0, -1):
        at = NOW - dt.timedelta(days=day)
        why = {"stores": ["no list"]} if day % 9 == 0 else {}
        save(
            copy.settings.data_dir,
            recorded(at, seconds=20 + day % 7, incomplete=why, errors=("no",) * (day == 9)),
        )
    landed = {"orders": {"accepted": 10, "unchanged": 3, "quarantined": 1, "not_found": 2, "failed": 1}}
    assert write_morning_page(copy.settings, recorded(NOW, landed=landed), NOW) == ""
    reconciliation = folder / "reconciliation.html"
    done = copy.command("reconcile", "--html", str(reconciliation))
    assert done.returncode == 3, done.stderr
    return {"morning": copy.settings.data_dir / "published" / "morning.html", "reconciliation": reconciliation}


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """Start the browser once."""
    with Browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("name", ["morning", "reconciliation"])
def test_page_fits_and_is_quiet_in_every_look(pages: dict[str, Path], tab: Tab, name: str) -> None:
    """At each width, light, dark and printed: the console is empty, no request leaves, nothing overflows."""
    found = {}
    for width, scheme, media in LOOKS:
        tab.open(pages[name], width, scheme, media)
        found[width, scheme, media] = [*tab.complaints(), *tab.overflowing()]
        tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        found[width, scheme, media] += tab.overflowing()
        background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        is_dark = (scheme, media) == ("dark", "screen")
        assert background == ("rgb(17, 22, 29)" if is_dark else "rgb(255, 255, 255)")
    assert {look: complaints for look, complaints in found.items() if complaints} == {}


_CUT = """
[...document.querySelectorAll('#restatements .frame, #restatements td')].filter(each => {
    if (each.matches('.frame')) return each.scrollWidth > each.clientWidth + 1;
    return [...each.childNodes].filter(part => part.data).some(part => [...part.data.matchAll(/\\S+/g)].some(word => {
        const place = document.createRange();
        place.setStart(part, word.index);
        place.setEnd(part, word.index + word[0].length);
        return place.getClientRects().length > 1;
    }));
}).map(each => each.textContent)
"""


@pytest.mark.slow
def test_restatements_are_read_without_scrolling(closed_world: World, tab: Tab, tmp_path: Path) -> None:
    """No column is cut and no word broken, at a desk and on a phone, in long words and ids of six digits."""
    assert write_morning_page(closed_world.settings, recorded(NOW), NOW) == ""
    morning, reconciliation = closed_world.settings.data_dir / "published" / "morning.html", tmp_path / "page.html"
    assert closed_world.command("reconcile", "--html", str(reconciliation)).returncode == 3
    for page in (morning, reconciliation):
        text = page.read_text("utf-8").replace("source changed", "released from quarantine")
        file = tmp_path / "long.html"
        file.write_text(text.replace('<td class="n id">', '<td class="n id">24742'), encoding="utf-8")
        for width in (390, 1200):
            tab.open(file, width)
            assert tab.evaluate("document.querySelectorAll('#restatements td').length") > 0
            assert tab.evaluate(_CUT) == []


@pytest.mark.slow
def test_faults_are_found(pages: dict[str, Path], tab: Tab, tmp_path: Path) -> None:
    """A script, a style, an image and a wide word, planted into the page, are each noticed: the policy blocks three."""
    text = pages["morning"].read_text(encoding="utf-8")
    planted = (
        '<script>1</script><p style="color:red">x</p><img src="http://127.0.0.1:9/x.png"><h2>' + "w" * 300 + "</h2>"
    )
    file = tmp_path / "planted.html"
    file.write_text(text.replace("</h2>", f"</h2>{planted}", 1), encoding="utf-8")
    tab.open(file, 390)
    complaints = " ".join(tab.complaints())
    assert complaints.count("Content Security Policy") >= 3
    assert any(each.startswith("H2") for each in tab.overflowing())


@pytest.mark.slow
def test_charts_have_names_and_the_keyboard_reaches_what_scrolls(pages: dict[str, Path], tab: Tab) -> None:
    """Each chart is an image with a title and a description; what scrolls can be focused, and shows it."""
    tab.open(pages["morning"], 390)
    images = """[...document.querySelectorAll('svg')].map(each => [each.getAttribute('role'),
        each.querySelector('title')?.textContent, each.querySelector('desc')?.textContent])"""
    found = tab.evaluate(images)
    assert len(found) >= 5
    assert all(role == "img" and title and description for role, title, description in found)
    tab.evaluate("document.querySelector('.frame').focus()")
    assert tab.evaluate("document.activeElement.className") == "frame"
    landmarks = tab.evaluate("['header', 'main', 'footer', 'nav'].map(tag => document.querySelectorAll(tag).length)")
    assert landmarks == [1, 1, 1, 1]
    assert tab.evaluate("document.querySelectorAll('thead th:not([scope=col])').length") == 0


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Fetch axe-core with npm; skip where that is not possible."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: axe-core cannot be fetched")
    folder = tmp_path_factory.mktemp("axe")
    try:
        pack = ["npm", "pack", "--silent", "--fetch-retries=0", "--fetch-timeout=20000", "axe-core@4"]
        done = subprocess.run(pack, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
        shutil.unpack_archive(folder / done.stdout.strip().splitlines()[-1], folder)
    except (subprocess.SubprocessError, OSError, IndexError):
        pytest.skip("the npm registry cannot be reached: axe-core cannot be fetched")
    return (folder / "package" / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["morning", "reconciliation"])
def test_axe_finds_nothing_serious(pages: dict[str, Path], tab: Tab, axe: str, name: str) -> None:
    """Neither light nor dark, on a phone or a desk, has a serious or critical violation; a planted one is found."""
    found = {}
    for width, scheme in ((390, "light"), (1280, "dark")):
        tab.open(pages[name], width, scheme)
        tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        tab.evaluate(axe + ";0")
        found[width, scheme] = serious(tab)
    assert {look: wrong for look, wrong in found.items() if wrong} == {}
    tab.evaluate("document.documentElement.removeAttribute('lang')")
    assert serious(tab) != []


def serious(tab: Tab) -> list[str]:
    """Return the serious violations that axe-core finds."""
    found = json.loads(tab.evaluate("axe.run().then(done => JSON.stringify(done.violations))"))
    return [
        f"{each['id']}: {node['html'][:150]}"
        for each in found
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"]
    ]
