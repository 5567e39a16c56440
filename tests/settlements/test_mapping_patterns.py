"""Patterns of mappings: the group is what Python finds, and no pattern takes longer than its text is long."""

from __future__ import annotations

import re
import time

import pytest

from pipelines.settlements.mapping import first_groups

PATTERNS = [r"PO-(\d+)", r"\((\d+)\)", r"(?:A|B)([0-9]+)", r"[(](\w+)[)]", r"[^]()]x(.)", r"\\(.)", r"(?i)po(.*)$"]
TEXTS = ["PO-12", "(7)", "B5 A6", "(ab)", "]x1 ax2", "\\z", "po rest", ""]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_group_is_what_python_finds(pattern: str) -> None:
    """Whatever comes before the group: escapes, classes, other brackets."""
    wanted = [found and found[1] for found in (re.search(pattern, text, re.ASCII) for text in TEXTS)]
    assert first_groups(pattern, TEXTS) == wanted
    assert any(wanted)


@pytest.mark.parametrize("pattern", [r"^((?:a+)+)$", r"((?:a|aa)+)b", r"((?:.*,){20})P"])
def test_pattern_that_would_hang_ends(pattern: str) -> None:
    """In Python each takes longer than anybody waits."""
    began = time.process_time()
    first_groups(pattern, ["a" * 50_000 + "!", "a," * 20_000])
    assert time.process_time() - began < 5
