"""Contracts of the formula evidence: candidate rules, populations of orders, and what these show of the rules."""

from pipelines.warehouse.contracts.contract import (
    Contract,
    Count,
    Flag,
    Id,
    Ids,
    Money,
    Share,
    Text,
    Texts,
    column,
)

RULE_TARGETS = ("subtotal", "total")
VERDICTS = ("supported", "agreed", "compatible", "undecided", "none")

RULE_TARGET = "Which price the rule gives: subtotal (from lines) or total (from the parts)."
HOLDS = "What the order holds: character part_no of audit.formula_parts is 1 where it holds that part, else 0."
FITS = "Which forms fit: character form_no of audit.formula_forms is 1 where that form gives the price stated, else 0."
SETTING = "The rule of the settings: its place among [[formula.rule]], from 1; the two plain ones come first."
_FORM = "The form: audit.formula_forms."
_RULE = "The rule's name, its form and its rounding; what [[formula.rule]] takes."
_POPULATION = "The population, numbered from 0 by rule target; below 0: orders for which settings name a rule."


class FormulaForms(Contract, table="audit.formula_forms", scope="all", key=("rule_target", "form_no")):
    """One row per candidate form: how lines could make the subtotal, and parts the total.

    Source: none: the interface states no formula. The candidates are listed in evidence/candidates.py.
    Caveats: a candidate is a guess; what the data show of it is in audit.formula_evidence.
    """

    rule_target: Text = column(RULE_TARGET, isin=RULE_TARGETS)
    form_no: Count = column("Its number by rule target; 1 is the formula of the observed order.", ge=1, le=83)
    form: Text = column("Its name.")
    form_description: Text = column("The form in plain words.")
    line_expression: Text = column("What a line adds, in SQL; null for the total.", nullable=True)
    unit_expression: Text = column(
        "What a unit of a line adds, in SQL; null where something is counted once a line.", nullable=True
    )
    rest_expression: Text = column("What is added for the order, in SQL.")
    rule_parameters: Ids = column(
        "Subtotal: price by quantity (0) or alone (1); modifiers not counted (0) or counted (1); per unit (0) or line "
        "(1); by their own quantity (0) or once (1); all added (0), only add (1), others subtracted (2); before (0), "
        "less (1) or plus (2) the discount. Total: how often each of subtotal, delivery, tip, discount and loyalty "
        "counts. Null where a question does not arise."
    )
    complexity: Count = column("In how many things it differs from the first form.", ge=0)


class FormulaRules(Contract, table="audit.formula_rules", scope="all", key=("rule_target", "form_no", "rounding_no")):
    """One row per candidate rule: a form, and how its amounts are rounded.

    Source: audit.formula_forms. Half up rounds away from zero, down towards zero.
    Caveats: rounded() is a macro of the build: sql/functions/rounded.sql.
    """

    rule_target: Text = column(RULE_TARGET, isin=RULE_TARGETS)
    form_no: Count = column(_FORM, ge=1, le=83)
    rounding_no: Count = column("The rounding, 1 for none.", ge=1, le=37)
    rule: Text = column(_RULE)
    rule_description: Text = column("The rule in plain words.")
    expression: Text = column(
        "The rule as SQL for the rows of one order: of a subtotal its lines in audit.order_line_sums with the "
        "discount, of a total its row in core.orders."
    )
    rule_parameters: Ids = column("As in audit.formula_forms.")
    complexity: Count = column("As in audit.formula_forms.", ge=0)
    kept_decimals: Count = column("Decimals that are kept; null where nothing is rounded.", nullable=True, ge=0, le=3)
    rounding_mode: Text = column(
        "How: half_up, half_even or down; null for not at all.", nullable=True, isin=("half_up", "half_even", "down")
    )
    rounded_per: Text = column(
        "What is rounded: each unit, each line, or the order's sum.", nullable=True, isin=("unit", "line", "order")
    )


class FormulaParts(Contract, table="audit.formula_parts", scope="all", key=("rule_target", "part_no")):
    """One row per thing that an order can hold and that candidate forms treat differently.

    Source: none; listed in evidence/candidates.py.
    """

    rule_target: Text = column(RULE_TARGET, isin=RULE_TARGETS)
    part_no: Count = column("Its place in holds of audit.order_rules.", ge=1, le=7)
    part: Text = column("Its name.")
    deciding_case: Text = column("Which orders show what forms do with it.")
    is_tested: Flag = column("Whether orders that hold it refute forms; else it only divides orders.")
    parameter_no: Id = column("Its place in rule_parameters of audit.formula_forms; null without one.", nullable=True)


class FormulaPopulations(
    Contract, table="audit.formula_populations", scope="all", key=("rule_target", "population_no")
):
    """One row per population of orders and rule target: what its orders show of its rule.

    Source: audit.subtotal_patterns, audit.total_patterns, mart.orders and [formula]. Orders that one form does not
    explain are divided by where they come from, their days or what they hold, as long as that explains more.
    Caveats: supported means that the rule holds here and that its rivals fail, not that the partner promised it.
    """

    rule_target: Text = column(RULE_TARGET, isin=RULE_TARGETS)
    population_no: Id = column(_POPULATION)
    scope: Text = column("Which orders, in words.")
    verdict: Text = column(
        "supported: the rule fits a share of orders that is surely as high as settings ask for, and its rivals fail. "
        "agreed: the same, but rivals remain which differ in what hardly any order holds. compatible: not refuted, "
        "but the share is not sure yet. undecided: rivals remain which differ in what many orders hold. none: every "
        "candidate is refuted.",
        isin=VERDICTS,
    )
    rule: Text = column(_RULE + " Null where none holds.", nullable=True)
    sentence: Text = column("The verdict in one sentence.")
    form_no: Count = column("The form that fits best: audit.formula_forms.", ge=1)
    rounding_no: Count = column("Its rounding: audit.formula_rules.", ge=1)
    rule_setting_no: Id = column(SETTING + " Null where the orders decide.", nullable=True)
    is_assumable: Flag = column("Whether so few orders can be judged that the observed total is assumed.")
    open_parts: Ids = column("part_no of what the candidates that remain treat differently: audit.formula_parts.")
    candidate_forms: Ids = column("form_no of the candidates that remain.")
    order_count: Count = column("How many orders can be judged.", ge=0)
    fit_count: Count = column("How many of them the form fits.", ge=0)
    min_fit_rate: Share = column("The lower bound, at 95%, of the share that fits.", ge=0, le=1)
    candidate_count: Count = column("How many forms are not refuted.", ge=0)
    needed_order_count: Count = column(
        "How many more orders, fitting at the same rate, would support it; null where that is not what is lacking.",
        nullable=True,
        ge=0,
    )
    nearest_rival: Text = column("The form that is hardest to refute beside it.", nullable=True)
    distinguishing_order_count: Count = column("How many orders tell the two apart.", ge=0)
    distinguishing_fit_count: Count = column("How many of those the form fits.", ge=0)
    deciding_cases: Texts = column("Which orders would decide what is open.")
    residual_pattern: Text = column("What the orders that the form does not fit have in common.", nullable=True)
    residual_kind: Text = column(
        "zero: they state zero. constant, share, step: they are off by one amount, by a share of a base, by less than "
        "the step that their prices are multiples of.",
        nullable=True,
        isin=("zero", "constant", "share", "step"),
    )
    residual_value: Money = column("That amount, share or step.", nullable=True)
    residual_base: Text = column("The base of a share.", nullable=True)


class FormulaDivisions(
    Contract, table="audit.formula_divisions", scope="all", key=("rule_target", "node_no", "is_rest", "value")
):
    """One row per value by which orders are divided, and one for the rest, of each division.

    Source: the division of audit.formula_populations. All orders start at node 0.
    """

    rule_target: Text = column(RULE_TARGET, isin=RULE_TARGETS)
    node_no: Id = column("What is divided.")
    is_rest: Flag = column("Whether the row is about all values that have no row.")
    value: Text = column(
        "The value as text, 1 or 0 for a part held or not; null for none, and for the rest.", nullable=True
    )
    dimension: Text = column("By what: a column of mart.orders, or a part of audit.formula_parts.")
    part_no: Id = column("The part; null for a column.", nullable=True)
    child_no: Id = column("The node or population that the orders belong to.")


class FormulaEvidence(
    Contract,
    table="audit.formula_evidence",
    scope="all",
    key=("rule_target", "population_no", "form_no", "part_no"),
):
    """One row per population, candidate form and part that orders hold: how many orders it fits.

    Source: audit.formula_populations. Of the forms: those that remain, the first, and those that fit most.
    Caveats: the orders behind a figure are one join away: `from audit.formula_evidence as e join audit.order_rules as o
    on o.total_population_no = e.population_no and (e.part_no is null or o.total_holds[e.part_no] = '1')` are all of
    them, and `o.total_fits[e.form_no] = '0'` are those that do not fit; for the subtotal likewise.
    """

    rule_target: Text = column(RULE_TARGET, isin=RULE_TARGETS)
    population_no: Id = column(_POPULATION)
    form_no: Count = column(_FORM, ge=1)
    part_no: Id = column("The part that the orders hold: audit.formula_parts; null for all orders.", nullable=True)
    scope: Text = column("Which orders, in words.")
    form: Text = column("The form's name.")
    form_description: Text = column("The form in plain words.")
    part: Text = column("The part's name; null for all orders.", nullable=True)
    is_leader: Flag = column("Whether it is the population's rule.")
    is_refuted: Flag = column("Whether it fits too few orders, of all or of those that hold some part.")
    order_count: Count = column("How many orders.", ge=0)
    fit_count: Count = column("How many of them it fits.", ge=0)
    min_fit_count: Count = column("With fewer it is refuted; null where orders are too few to refute.", nullable=True)
