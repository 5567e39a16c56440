"""Documents name files that exist, and the drawing of the packages is complete and current."""

from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(f"docs/{name}.md" for name in "ARCHITECTURE ASSUMPTIONS COMMANDS DECISIONS FINANCE".split()),
    *(f"docs/{name}.md" for name in "GLOSSARY OPERATIONS PERFORMANCE SCALE TABLES".split()),
)
TOPS = ("pipelines", "sql", "tests", "docs", "benchmarks", ".ci")
# Named in examples of how to add something.
MADE_UP = re.compile(r"new_table|opening_hours|[<{*…]")


def missing(project: Path, text: str) -> list[str]:
    """Return the files and folders of the repository that a text names and that are not there."""
    named = re.findall(rf"`((?:{'|'.join(map(re.escape, TOPS))})/[^`\s]*)`", text)
    linked = re.findall(r"\]\((?:\.\./)?((?:docs/)?[\w.]+\.(?:md|svg|png|toml))\)", text)
    lost = [name for name in linked if not any((project / top / name).exists() for top in (".", "docs"))]
    gone = [name for name in named if not MADE_UP.search(name) and not (project / name).exists()]
    return sorted({*lost, *gone})


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_name_files_that_exist(project: Path, name: str) -> None:
    """Every file of the repository that a document names is there."""
    assert missing(project, (project / name).read_text("utf-8")) == []


def test_a_missing_file_is_found(tmp_path: Path) -> None:
    """A moved file and a broken link are named; paths of the user and examples are not."""
    (tmp_path / "sql").mkdir()
    text = "`sql/` `sql/core/gone.sql` `data/raw/` `sql/mart/new_table.sql` [x](GONE.md) `pipelines/<package>/`"
    assert missing(tmp_path, text) == ["GONE.md", "sql/core/gone.sql"]


@pytest.fixture(scope="module")
def draw(project: Path) -> Any:
    """Return docs/draw.py as a module."""
    spec = importlib.util.spec_from_file_location("draw", project / "docs" / "draw.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unnamed(section: str, project: Path) -> set[str]:
    """Return the packages, and modules at the top of pipelines/, that a section does not name."""
    found = {path.stem for path in (project / "pipelines").iterdir() if (path / "__init__.py").exists()}
    found |= {path.stem for path in (project / "pipelines").glob("[a-z]*.py")}
    return found - set(re.findall(r"`(\w+)`", section))


def test_every_package_is_named(project: Path) -> None:
    """The section on packages names each one of pipelines/."""
    section = (
        (project / "docs" / "ARCHITECTURE.md").read_text("utf-8").partition("## Packages")[2].partition("\n## ")[0]
    )
    assert unnamed(section, project) == set()
    assert unnamed(section.replace("`privacy`", ""), project) == {"privacy"}


def test_picture_is_current(project: Path, draw: Any) -> None:
    """docs/architecture.svg was made of the Mermaid block as it is, is well-formed and needs nothing else."""
    block = draw.read((project / "docs" / "ARCHITECTURE.md").read_text("utf-8"))
    picture = (project / "docs" / "architecture.svg").read_text("utf-8")
    assert picture.startswith(draw.mark(block)), "run python docs/draw.py"
    shown = "".join("".join(ET.fromstring(picture).itertext()).split())  # noqa: S314 -- a file of ours
    assert [label for label in re.findall(r"\|(.+?)\|", block) if "".join(label.split()) not in shown] == []
    assert re.findall(r"<script|<foreignObject|href=|url\(http", picture) == []


def promises(text: str) -> list[tuple[str, list[str]]]:
    """Return the promises of SECURITY.md, each with the files that its commands run."""
    section = text.partition("## Promises")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return [(row[0], re.findall(r"(?:tests|benchmarks)[\w/.]*", row[1])) for row in rows if row[0] != "promise"]


def _is_there(project: Path, name: str) -> bool:
    """Return whether a file, folder or module is there."""
    module = project / name.replace(".", "/")
    return any(path.exists() for path in (project / name, module, module.with_name(module.name + ".py")))


def unshown(project: Path, text: str) -> list[str]:
    """Return the promises that name no test, or one that is not there."""
    return [
        promise for promise, named in promises(text) if not named or not all(_is_there(project, each) for each in named)
    ]


def test_each_promise_names_the_test_that_shows_it(project: Path) -> None:
    """SECURITY.md has no promise without a test, and none whose test is gone; a planted one is found."""
    text = (project / "SECURITY.md").read_text("utf-8")
    assert len(promises(text)) > 20
    assert unshown(project, text) == []
    planted = text.replace("tests/privacy/test_undocumented.py", "tests/privacy/test_gone.py")
    assert len(unshown(project, planted)) == 1
    assert len(unshown(project, text.replace("`python -m tests.fuzz --minutes 10`", "us"))) == 1


def test_functions_that_make_verdicts_exist(project: Path) -> None:
    """The list of verdicts in ARCHITECTURE names functions and properties of these files, once each."""
    text = (project / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| [^|]+ \| `(pipelines/[^`]+\.py)` `(?:\w+\.)?(\w+)` \|", text, re.MULTILINE)
    assert len(listed) == len(set(listed)) >= 11
    gone = [name for file, name in listed if f"def {name}(" not in (project / file).read_text(encoding="utf-8")]
    assert gone == []
