"""The candidate forms of one rule target, and the patterns of orders: which parts they hold, which forms fit them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import duckdb

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_NOT_ASKED = -9  # no parameter has this value


@dataclass(frozen=True)
class Forms:
    """The forms of a rule target, by place (form_no - 1); parts by place (part_no - 1)."""

    target: str
    descriptions: list[str]
    parameters: list[list[int | None]]
    complexity: Ints
    parts: list[str]
    deciding_cases: list[str]
    is_tested: Bools
    differs: Bools
    """[form, form, part]: whether the two treat an order that holds the part differently."""
    answers: Ints
    """[form, part]: the form's treatment of the part."""


@dataclass(frozen=True)
class Patterns:
    """The distinct answers of orders: [pattern, form] whether it fits, [pattern, part] whether it is held."""

    fits: npt.NDArray[np.float32]
    holds: Bools


def read_forms(con: duckdb.DuckDBPyConnection, target: str) -> Forms:
    """Read the candidate forms and parts of a rule target from the catalogue tables."""
    forms = con.execute(
        "select form_description, rule_parameters, complexity from audit.formula_forms "
        "where rule_target = ? order by form_no",
        [target],
    ).fetchall()
    parts = con.execute(
        "select part, deciding_case, is_tested, parameter_no from audit.formula_parts "
        "where rule_target = ? order by part_no",
        [target],
    ).fetchall()
    answers = np.array([[_answer(form[1], part[3]) for part in parts] for form in forms], dtype=np.int64)
    asked = answers != _NOT_ASKED
    differs = (answers[:, None] != answers[None]) & asked[:, None] & asked[None]
    return Forms(
        target,
        [form[0] for form in forms],
        [form[1] for form in forms],
        np.array([form[2] for form in forms], dtype=np.int64),
        [part[0] for part in parts],
        [part[1] for part in parts],
        np.array([part[2] for part in parts], dtype=np.bool_),
        differs,
        answers,
    )


def _answer(parameters: list[int | None], place: int | None) -> int:
    value = None if place is None else parameters[place - 1]
    return _NOT_ASKED if value is None else value


def read_patterns(forms: Forms, rows: list[tuple[str, str]]) -> Patterns:
    """Return patterns from the texts `holds` and `fits` of the pattern tables, in their order."""
    fits = _ones([row[1] for row in rows], len(forms.descriptions)).astype(np.float32)
    return Patterns(fits, _ones([row[0] for row in rows], len(forms.parts)))


def _ones(texts: list[str], width: int) -> Any:
    return np.frombuffer("".join(texts).encode("ascii"), dtype=np.uint8).reshape(len(texts), width) == ord("1")
