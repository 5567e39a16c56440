"""Find rules that settings name and that are none of the candidates, before a build does.

Reads no data: the candidates follow from the code alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.warehouse.evidence.candidates import rule_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings import Settings


def unknown_rules(settings: Settings) -> Iterator[str]:
    """Yield one sentence for each rule of [formula] that does not exist; it starts with the key."""
    formula = settings.formula
    named = [("[formula] total_rule", "total", formula.total_rule)]
    named += [("[formula] subtotal_rule", "subtotal", formula.subtotal_rule)]
    named += [(f"[[formula.rule]] no. {no}", rule.rule_target, rule.rule) for no, rule in enumerate(formula.rule, 1)]
    named = [row for row in named if row[2]]
    if not named:
        return
    known = rule_names()
    for key, target, rule in named:
        if (target, rule) not in known:
            yield f"{key}: {rule!r} is not a {target} rule; audit.formula_rules of a release lists all"
