"""Find the files of tests that are nearest to a file, by their names and by what they name."""

from __future__ import annotations

import functools
import re
from collections import Counter
from pathlib import Path

BESIDES = {"finance": "closing", "evidence": "finance"}  # folders of tests that are about a package of another name
INCREMENTAL = ("building", "history", "increment", "rows")  # packages of an increment
OF_HISTORY = ("runs", "states", "states_of_single_observations")  # templates in which history is found
OF_INCREMENTS = ("one_change", "rebuild_equals_increments")
OF_TIES = "tests/sql/test_each_total_of_a_tie.py"
OF_CONTRACTS = ("tests/warehouse/test_dictionary.py", "tests/house/test_documents.py", "tests/warehouse/test_enums.py")


def nearest_tests(file: str, root: Path, most: int = 4) -> list[str]:
    """Return the files of tests nearest to a file: of its name, then those that name it, then those of its package."""
    path = Path(file)
    name = f"{path.parent.name}.{path.stem}" if path.suffix == ".sql" else ".".join(path.with_suffix("").parts)
    name = path.stem if path.parent.name in ("checks", "ties", "finance") else name  # checks: by their table already
    tests = sorted(root.glob("tests/*/test_*.py"), key=lambda test: (test.parent.name != path.parts[1], test))
    ranked = [test for test in tests if test.stem == f"test_{path.stem.rpartition('__')[0] or path.stem}"]
    ranked += [test for test in tests if f'"{name}' in (text := test.read_text("utf-8")) or f"{name} " in text]
    is_step = path.suffix == ".sql" and path.stem in OF_HISTORY
    if path.suffix == ".sql" and not ranked and not is_step:  # a function, a macro, a step: the tests of its users
        word = re.compile(rf"\b{path.stem}\b")
        ranked += [test for test in tests if word.search(test.read_text("utf-8"))]
        sources = sorted(root.glob("sql/*/*.sql")) + sorted(root.glob("pipelines/*/**/*.py"))
        users = [each for each in sources if each.stem != path.stem and word.search(each.read_text("utf-8"))]
        ranked += [root / test for user in users for test in nearest_tests(str(user.relative_to(root)), root)]
    if path.parent.name == "ties":
        ranked = [root / OF_TIES, *ranked]
    if path.stem == "contracts":  # documents are written from what they say
        ranked = [root / test for test in OF_CONTRACTS] + ranked
    if path.suffix == ".py" or is_step:
        package = "warehouse" if is_step else path.parts[1]
        if is_step or path.parent.name in INCREMENTAL:
            ranked += [root / "tests/warehouse" / f"test_{each}.py" for each in OF_INCREMENTS]
        folders = (BESIDES.get(path.parent.name), package, BESIDES.get(package))
        importing, further = _importing(path, root, tests) if path.suffix == ".py" else ([], set())
        near = [test for test in tests if test.parent.name in folders or test in further]
        ranked += importing + _by_words(path, root, near)
    return list(dict.fromkeys(str(test.relative_to(root)) for test in ranked if test.exists()))[:most]


def _by_words(path: Path, root: Path, tests: list[Path]) -> list[Path]:
    """Return tests by the words that they share with a file, most and rarest first."""
    words = {test: _words(test) for test in tests}
    frequency = Counter(word for found in words.values() for word in found)
    here = _words(root / path)
    return sorted(tests, key=lambda test: -sum(1 / frequency[word] for word in words[test] & here))


@functools.cache
def _words(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]{4,}", path.read_text("utf-8").lower()))


def _importing(path: Path, root: Path, tests: list[Path]) -> tuple[list[Path], set[Path]]:
    """Return the tests that import a module or whose names are alike, and those of its importers."""
    module = ".".join(path.with_suffix("").parts)
    package, _, stem = module.rpartition(".")
    users = [each for each in root.glob("pipelines/**/*.py") if _imports(package, stem).search(each.read_text("utf-8"))]
    modules = [".".join(user.relative_to(root).with_suffix("").parts).rpartition(".") for user in users]
    of_users = [_imports(package, stem) for package, _, stem in modules]
    texts = {test: test.read_text("utf-8") for test in tests}
    words = {word.rstrip("s") for word in stem.split("_")}
    alike = [test for test in tests if words < {word.rstrip("s") for word in test.stem.split("_")}]
    importing = [test for test in tests if _imports(package, stem).search(texts[test])]
    return importing + alike, {test for test in tests if any(each.search(texts[test]) for each in of_users)}


def _imports(package: str, stem: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(package)}\.{stem}\b|from {re.escape(package)} import [^\n]*\b{stem}\b")
