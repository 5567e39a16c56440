"""The evidence of one population's orders: the forms that they do not refute, and which of these is supported.

How few fits are too few is a matter of exact binomial counts and of the lower bound of a share. Orders of one answer
are a pattern: which parts they hold, and which candidate forms fit them.

The candidate rules of a price: forms, how each may round, and what an order can hold that tells forms apart.

The interface states no formula, so that each rule is a guess; workings.formula_evidence says what orders show of it.
The rows made here are those of workings.formula_forms, audit.formula_rules and workings.formula_parts, in their column
order.

`unknown_rules` finds those that settings name and that are none of them, before a build does.
"""

import functools
import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from pipelines.landing.shape import PRICES
from pipelines.record import Verdict
from pipelines.settings import Settings
from pipelines.settings.contradictions import read_conditions
from pipelines.settings.setting_tables import Formula, OrderScope
from pipelines.warehouse.inputs.relations import fill

# name, description, what a line adds
_PRICES = (
    ("unit_price", "a line is its price by its quantity", "price * quantity"),
    ("line_price", "a line is its price, whatever its quantity", "price"),
)
# name, description; counted per unit (0) or per line (1), by own quantity (0) or once (1)
_MODIFIERS = (
    ("modifiers_per_unit_by_own", "modifiers count by their own quantity for each unit of the line", 0, 0),
    ("modifiers_per_unit", "modifiers count once for each unit of the line", 0, 1),
    ("modifiers_per_line_by_own", "modifiers count by their own quantity once a line", 1, 0),
    ("modifiers_per_line", "modifiers count once a line", 1, 1),
)
# name, description, the sum of modifiers; # is own or once
_ACTIONS = (
    ("all_add", ", whatever their action", "(add_# + other_#)"),
    ("only_add", ", only those with action add", "add_#"),
    ("others_subtract", ", subtracted unless their action is add", "(add_# - other_#)"),
)
# name, description, the addition for the order
_DISCOUNTS = (
    ("before_discount", "before the discount", ""),
    ("after_discount", "less the discount", " - any_value(discount)"),
    ("discount_added", "plus the discount", " + any_value(discount)"),
)
# the field, how often it counts in the order that was observed, names of the forms in which it counts 0 times, -1 times
_PARTS_OF_TOTAL = (
    ("subtotal_price", 1, "without_subtotal", "subtotal_subtracted"),
    ("delivery_price", 1, "without_delivery", "delivery_subtracted"),
    ("tip", 1, "without_tip", "tip_subtracted"),
    ("discount", -1, "without_discount", "discount_added"),
    ("loyalty_discount", -1, "without_loyalty", "loyalty_added"),
)
# forms that a person alone can put in force, and how often each counts the parts
_NAMED_ALONE = (
    ("zero", "zero", (0, 0, 0, 0, 0)),
    ("negated", "the negative of what its parts make", (-1, -1, -1, 1, 1)),
)
# that conditions of settings compare: those of sql/functions/number_of.sql and text_of.sql
NUMBERS = (*PRICES, "line_count", "unit_count", "store_id", "hour", "weekday")
TEXTS = ("platform", "dispatch_method", "status", "currency", "daypart", "delivery_type")
_MODES = ("half_up", "half_even", "down")
_UNITS = ("1.0", "0.1", "0.01", "0.001")  # by decimals kept
# rule target, part, which orders show what forms do with it, whether they refute forms, its place among the parameters
_PARTS = (
    ("subtotal", "quantity", "an order with a priced line of quantity other than 1", True, 1),
    ("subtotal", "modifiers", "an order with a priced modifier", True, 2),
    ("subtotal", "modifiers on quantity", "an order with quantity above 1 and a priced modifier", True, 3),
    ("subtotal", "modifier quantity", "an order with a priced modifier of quantity above 1", True, 4),
    ("subtotal", "other action", "an order with a priced modifier of another action than add", True, 5),
    ("subtotal", "discount", "an order with a discount", True, 6),
    ("subtotal", "stated zero", "an order with priced lines and subtotal 0", False, None),
    ("total", "delivery", "an order with a delivery charge", True, 2),
    ("total", "tip", "an order with a tip", True, 3),
    ("total", "discount", "an order with a discount", True, 4),
    ("total", "loyalty", "an order with a loyalty discount", True, 5),
    ("total", "subtotal", "an order with a subtotal", True, 1),
    ("total", "component", "an order with a component of the settings", True, None),
    ("total", "stated zero", "an order with a subtotal and total 0", False, None),
)

Row = dict[str, Any]


def create_candidates(con: duckdb.DuckDBPyConnection) -> None:
    """Make tables raw.formula_forms, raw.formula_rules and raw.formula_parts."""
    forms = _forms()
    fill(con, "raw.formula_forms", forms)
    fill(con, "raw.formula_rules", (rule for form in forms for rule in _rules(form)))
    fill(con, "raw.formula_parts", _parts())


def _forms() -> list[Row]:
    return [*_subtotal_forms(), *_total_forms()]


def _subtotal_forms() -> Iterator[Row]:
    """Yield the forms of a subtotal: those before the discount first, of these those by quantity."""
    modifiers = [None, *((action, place) for action in range(len(_ACTIONS)) for place in range(len(_MODIFIERS)))]
    choices = product(range(len(_DISCOUNTS)), range(len(_PRICES)), modifiers)
    for form_no, (discount, price, modifier) in enumerate(choices, 1):
        price_name, price_description, line = _PRICES[price]
        discount_name, discount_description, rest = _DISCOUNTS[discount]
        unit = "price" if price == 0 else None
        if modifier is None:
            names, description = ["no_modifiers", _ACTIONS[0][0]], "modifiers add nothing"
            parameters: list[int | None] = [0, None, None, None]
        else:
            action, place = modifier
            modifier_name, description, is_per_line, is_once = _MODIFIERS[place]
            action_name, which, sums = _ACTIONS[action]
            sums = sums.replace("#", "once" if is_once else "own")
            names, description = [modifier_name, action_name], description + which
            parameters = [1, is_per_line, is_once, action]
            line += f" + {'' if is_per_line else 'quantity * '}{sums}"
            unit = None if unit is None or is_per_line else f"{unit} + {sums}"  # nothing is counted once a line
        said = f"{price_description}; {description}; {discount_description}"
        form: Row = {"form": "/".join([price_name, *names, discount_name]), "form_description": said}
        form |= {"line_expression": line, "unit_expression": unit, "rest_expression": rest}
        complexity = price + discount + (0 if modifier is None else 1 + modifier[0])
        facts = {"rule_parameters": [price, *parameters, discount], "complexity": complexity, "is_found": True}
        yield {"rule_target": "subtotal", "form_no": form_no, **form, **facts}


def _total_forms() -> Iterator[Row]:
    """Yield the forms of a total: all signs of four parts, those of the observed order first, then of the subtotal.

    Then those that no order supports: an amount of zero, or a sign, shows no sum.
    """
    turns = [(0, *signs) for signs in product(range(3), repeat=4)] + [(1, 0, 0, 0, 0), (2, 0, 0, 0, 0)]
    forms: list[tuple[Any, ...]] = []
    for turned in turns:
        signs, differences, terms = [], [], []
        for turn, (part, observed, *names) in zip(turned, _PARTS_OF_TOTAL, strict=True):
            signs.append(observed * (1, 0, -1)[turn])
            differences += names[turn - 1 : turn] if turn else []
            terms += {1: ["+", part], -1: ["-", part]}.get(signs[-1], [])
        expression = " ".join(terms).removeprefix("+ ")
        said = expression.replace("_price", "").replace("_", " ")
        forms.append(("+".join(differences) or "observed", said, expression, signs, len(differences), True))
    for form, said, counted in _NAMED_ALONE:
        terms = [f"{'-' if sign < 0 else '+'} {part[0]}" for sign, part in zip(counted, _PARTS_OF_TOTAL, strict=True)]
        expression = " ".join(terms) if any(counted) else "0"
        forms.append((form, said, expression, [*counted], len(_PARTS_OF_TOTAL), False))
    facts = "form", "form_description", "rest_expression", "rule_parameters", "complexity", "is_found"
    for form_no, values in enumerate(forms, 1):
        yield {"rule_target": "total", "form_no": form_no, **dict(zip(facts, values, strict=True))}


def _rules(form: Row) -> Iterator[Row]:
    """Yield the rules of a form: unrounded, then rounded per order, line and unit, to 0 to 3 decimals, in each mode."""
    line, unit, rest = form.get("line_expression"), form.get("unit_expression"), form["rest_expression"]
    amount = f"sum({line}){rest}" if line else rest
    name, said = form["form"], form["form_description"]
    of_form = {fact: form[fact] for fact in ("rule_target", "form_no", "rule_parameters", "complexity")}
    unrounded = {"rounding_no": 1, "rule": f"{name}/unrounded", "rule_description": said, "expression": amount}
    yield of_form | unrounded
    bases = [(per, base) for per, base in (("order", amount), ("line", line), ("unit", unit)) if base is not None]
    roundings = product(bases, range(len(_UNITS)), _MODES)  # a total has no lines
    for rounding_no, ((per, base), digits, mode) in enumerate(roundings, 2):
        rounded = f"rounded({base}, '{mode}', {_UNITS[digits]})"
        made = {"order": rounded, "line": f"sum({rounded}){rest}", "unit": f"sum(quantity * {rounded}){rest}"}
        described = f"{said}; rounded {mode.replace('_', ' ')} to {digits} decimals per {per}"
        rule = {"rounding_no": rounding_no, "rule": f"{name}/{mode}_{digits}_per_{per}", "rule_description": described}
        rounds = {"kept_decimals": digits, "rounding_mode": mode, "rounded_per": per}
        yield of_form | rule | {"expression": made[per]} | rounds


def _parts() -> Iterator[tuple[Any, ...]]:
    """Yield what orders can hold; numbered by rule target."""
    for target in ("subtotal", "total"):
        for part_no, part in enumerate((each for each in _PARTS if each[0] == target), 1):
            yield (target, part_no, *part[1:])


def unknown_rules(settings: Settings) -> Iterator[str]:
    """Yield one sentence for each rule of [formula] that does not exist; it starts with the key."""
    formula = settings.formula
    yield from _unknown_fields(formula)
    named = [("[formula] total_rule", "total", formula.total_rule)]
    named += [("[formula] subtotal_rule", "subtotal", formula.subtotal_rule)]
    named += [(f"[[formula.rule]] no. {no}", rule.rule_target, rule.rule) for no, rule in enumerate(formula.rule, 1)]
    named = [row for row in named if row[2]]
    if not named:
        return
    known = {(rule["rule_target"], rule["rule"]) for form in _forms() for rule in _rules(form)}
    for key, target, rule in named:
        if (target, rule) not in known:
            yield f"{key}: {rule!r} is not a {target} rule; audit.formula_rules of a release lists all"


def _unknown_fields(formula: Formula) -> Iterator[str]:
    """Yield one sentence for each condition on something that is no field of orders, or not of that type."""
    limited: list[tuple[str, OrderScope]] = [
        *((f"[[formula.rule]] no. {no}", rule) for no, rule in enumerate(formula.rule, 1)),
        *((f"[[formula.component]] {component.name}", component) for component in formula.component),
    ]
    for key, setting in limited:
        for each in read_conditions(setting.when):
            fields = TEXTS if each["value"].startswith("'") else NUMBERS
            if each["field"] not in fields:
                yield f"{key}: when: {each['field']!r} is not a field to compare so; use one of {', '.join(fields)}"


REFUTES = 1 / 500  # a rule that holds shows so few fits less often than this
_EXACT_TO = 1_000  # beyond, the normal approximation, corrected for skew, is off by one order at most
_Z_REFUTES = 2.8782  # the normal quantile of REFUTES
_Z_LOWER = 1.96  # of a two-sided 95% interval


@functools.cache
def fewest_fits(orders: int, noise: float) -> int:
    """Return the fewest fits among so many orders that do not refute a rule which a share `noise` may break.

    At least half: of few orders chance alone would let a rule stand that most of them break.
    """
    return max(_fewest_by_chance(orders, noise), -(-orders // 2))


def _fewest_by_chance(orders: int, noise: float) -> int:
    if orders == 0 or noise <= 0:
        return orders
    if orders > _EXACT_TO:
        mean, deviation = orders * (1 - noise), math.sqrt(orders * noise * (1 - noise))
        skew = (_Z_REFUTES**2 - 1) / 6 * (1 - 2 * noise)
        return math.ceil(mean - _Z_REFUTES * deviation - skew - 0.5)
    below, fits = 0.0, -1
    while below < REFUTES:
        fits += 1
        ways = math.lgamma(orders + 1) - math.lgamma(fits + 1) - math.lgamma(orders - fits + 1)
        below += math.exp(ways + fits * math.log(1 - noise) + (orders - fits) * math.log(noise))
    return fits


def lower_bound(fits: int, orders: int) -> float:
    """Return Wilson's lower bound, at 95%, of the share of which `fits` of `orders` are a sample."""
    if orders == 0:
        return 0.0
    share, square = fits / orders, _Z_LOWER**2
    middle = share + square / (2 * orders)
    spread = _Z_LOWER * math.sqrt(share * (1 - share) / orders + square / (4 * orders**2))
    return max((middle - spread) / (1 + square / orders), 0.0)


def orders_needed(fits: int, orders: int, floor: float) -> int | None:
    """Return how many more orders, fitting in the same share, would lift the lower bound to `floor`; None: none do."""
    if orders == 0 or fits / orders <= floor:
        return None
    low, high = orders, 2 * orders
    while lower_bound(round(high * fits / orders), high) < floor:
        low, high = high, 2 * high
        if high > 10**9:
            return None
    found = range(low, high)
    return low - orders + bisect_left(found, x=True, key=lambda of: lower_bound(round(of * fits / orders), of) >= floor)


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_NOT_ASKED = -9  # no parameter has this value


@dataclass(frozen=True)
class Forms:
    """The forms of a rule target, by place (form_no - 1); parts by place (part_no - 1)."""

    target: str
    names: list[str]
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
    is_found: Bools
    """[form]: whether orders can support it; another is in force where settings name it."""


@dataclass(frozen=True)
class Patterns:
    """The distinct answers of orders: [pattern, form] whether it fits, [pattern, part] whether it is held."""

    fits: npt.NDArray[np.float32]
    holds: Bools


def read_forms(con: duckdb.DuckDBPyConnection, target: str) -> Forms:
    """Read the candidate forms and parts of a rule target from the catalogue tables."""
    query = "select form, form_description, rule_parameters, complexity, is_found from workings.formula_forms"
    forms = con.execute(f"{query} where rule_target = ? order by form_no", [target]).fetchall()
    query = "select part, deciding_case, is_tested, parameter_no from workings.formula_parts"
    parts = con.execute(f"{query} where rule_target = ? order by part_no", [target]).fetchall()
    names, said, parameters, complexity, is_found = map(list, zip(*forms, strict=True))
    held, cases, is_tested, places = map(list, zip(*parts, strict=True))
    asked_of = [[None if place is None else of[place - 1] for place in places] for of in parameters]
    answers = np.array([[_NOT_ASKED if each is None else each for each in row] for row in asked_of], dtype=np.int64)
    asked = answers != _NOT_ASKED
    differs = (answers[:, None] != answers[None]) & asked[:, None] & asked[None]
    of_form, tested = np.array(complexity, dtype=np.int64), np.array(is_tested, dtype=np.bool_)
    found = np.array(is_found, dtype=np.bool_)
    return Forms(target, names, said, parameters, of_form, held, cases, tested, differs, answers, found)


def ones(texts: list[str], width: int) -> Any:
    """Return [text, place] whether there is a 1, of texts as long as each other."""
    return np.frombuffer("".join(texts).encode("ascii"), dtype=np.uint8).reshape(len(texts), width) == ord("1")


SUPPORTED = "supported"  # one form holds, and its rivals fail
AGREED = "agreed"  # several remain, which differ only in what (nearly) no order holds
COMPATIBLE = "compatible"  # not refuted, but too few orders to clear the share that settings ask for
UNDECIDED = "undecided"  # several remain that differ in what many orders hold
NONE = "none"  # every form is refuted
NOT_TESTED = "not_tested"  # no order can be compared
_BY_CHANCE = 0.25  # a form that fits fewer, of orders that refute all, says nothing of them


@dataclass(frozen=True)
class EvidenceThresholds:
    """What settings ask for: so many orders that distinguish, and at most this share that breaks the rule."""

    orders: int
    noise: float


@dataclass
class Judgement:
    """The evidence of a population's orders. Forms and parts are places, from 0."""

    verdict: str
    leader: int
    orders: int
    fits: int
    held: Ints
    """[part]: how many orders hold it."""
    held_fits: Floats
    """[part, form]: how many of those each form fits."""
    all_fits: Floats
    """[form]: how many orders each form fits."""
    candidates: list[int]
    open_parts: list[int] = field(default_factory=list)
    borrowed: list[int] = field(default_factory=list)
    """Parts too rare here, answered as by all other populations."""

    def assess(self) -> Verdict:
        """Whether the orders support the leader: "supported" is said if it is good."""
        against = [] if self.verdict in (SUPPORTED, NONE) else [self.verdict]
        return Verdict({"orders": self.orders, "fit": self.fits}, [NONE] if self.verdict == NONE else [], against)


def judge(
    forms: Forms, patterns: Patterns, weights: Ints, thresholds: EvidenceThresholds, only: int | None = None
) -> Judgement:
    """Judge a population given how many of its orders follow each pattern; `only` is a form that settings name."""
    counts = weights.astype(np.float64)
    all_fits = counts @ patterns.fits
    held = np.rint(counts @ patterns.holds).astype(np.int64)
    held_fits = (patterns.holds * counts[:, None]).T @ patterns.fits
    orders = int(weights.sum())
    refuted = np.zeros(len(all_fits), dtype=np.bool_)
    if orders >= thresholds.orders:
        refuted |= all_fits < fewest_fits(orders, thresholds.noise)
    for part in np.flatnonzero(forms.is_tested & (held >= thresholds.orders)):
        refuted |= held_fits[part] < fewest_fits(int(held[part]), thresholds.noise)
    eligible = forms.is_found if only is None else np.arange(len(all_fits)) == only
    candidates = [int(form) for form in np.flatnonzero(~refuted & eligible)]
    leader = only if only is not None else best(forms, all_fits, candidates, orders)
    found = Judgement(NONE, leader, orders, round(float(all_fits[leader])), held, held_fits, all_fits, candidates)
    decide(forms, found, thresholds)
    return found


def best(forms: Forms, fits: Floats, among: list[int], orders: int) -> int:
    """Return the form that fits most, of equals the one nearest to the observed formula, then the first.

    Where none is left, and none fits more than chance would have it, that is the first one.
    """
    places = among or [int(form) for form in np.flatnonzero(forms.is_found)]
    if not among and fits[places].max(initial=0) < _BY_CHANCE * orders:
        return 0
    return min(places, key=lambda form: (-fits[form], forms.complexity[form], form))


def decide(forms: Forms, found: Judgement, thresholds: EvidenceThresholds) -> None:
    """Set verdict and open parts from the candidates that remain."""
    differing = forms.differs[found.leader, found.candidates].any(axis=0)
    found.open_parts = [int(part) for part in np.flatnonzero(differing & forms.is_tested)]
    if not found.orders:
        found.verdict, found.open_parts = NOT_TESTED, []
    elif not found.candidates:
        found.verdict, found.open_parts = NONE, []
    elif any(found.held[part] >= thresholds.orders for part in found.open_parts):
        found.verdict = UNDECIDED
    elif found.orders < thresholds.orders or lower_bound(found.fits, found.orders) < 1 - thresholds.noise:
        found.verdict = COMPATIBLE
    elif any(forms.parts[part] != "other action" for part in found.open_parts):  # most services never send another
        found.verdict = AGREED
    else:
        found.verdict = SUPPORTED


UNROUNDED = 1  # rounding_no of audit.formula_rules


@dataclass(frozen=True)
class PopulationRounding:
    """The rounding of a population: rounding_no, on how many orders it shows, and its rivals that remain."""

    rounding_no: int
    orders: int
    fits: int
    rivals: int
    near: int = 0
    """How many orders a form fits but for rounding."""


def judge_rounding(patterns: dict[tuple[int, ...], int], thresholds: EvidenceThresholds) -> PopulationRounding:
    """Judge the roundings given how many orders fit which of them; without one that holds, nothing is rounded."""
    orders = sum(patterns.values())
    fits: dict[int, int] = defaultdict(int)
    for fitting, number in patterns.items():
        for rounding in fitting:
            fits[rounding] += number
    least = fewest_fits(orders, thresholds.noise)
    leader = min(fits, key=lambda rounding: (-fits[rounding], rounding), default=UNROUNDED)
    if fits[UNROUNDED] >= least or fits[leader] < least:
        return PopulationRounding(UNROUNDED, orders, fits[UNROUNDED], 0)
    rivals = sum(not _is_beaten(patterns, leader, rival, thresholds) for rival in fits if rival != leader)
    return PopulationRounding(leader, orders, fits[leader], rivals)


def _is_beaten(patterns: dict[tuple[int, ...], int], leader: int, rival: int, thresholds: EvidenceThresholds) -> bool:
    won = sum(number for fitting, number in patterns.items() if leader in fitting and rival not in fitting)
    lost = sum(number for fitting, number in patterns.items() if rival in fitting and leader not in fitting)
    return won + lost >= thresholds.orders and won >= fewest_fits(won + lost, thresholds.noise)
