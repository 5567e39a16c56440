"""Contracts of the formula evidence: the candidate rules, what orders say of them, and which is in force."""

from pipelines.warehouse.contracts.contract import (
    Amount,
    Contract,
    Count,
    Flag,
    Id,
    Ids,
    Share,
    Text,
    Texts,
    column,
)

PARTS = ("subtotal", "total")
SCOPES = ("all", "platform", "dispatch_method", "store", "month")

PART = "Which price the rule gives: subtotal (from lines) or total (from the parts)."
_SCOPE = "Which orders: all of them, or those of one platform, dispatch_method, store or month of business days."
_SCOPE_VALUE = (
    "The platform, dispatch method, store id or month (2026-10) as text, 'all' for all; null where not stated."
)
_FORM = "The arithmetic of the rule, numbered per part from the simplest: audit.formula_rules."
_ROUNDING = "The rounding of the rule, 1 for none: audit.formula_rules."
_RULE = "The rule's name, its form and its rounding; what [formula] total_rule and subtotal_rule take."
_TELLS = "What the orders hold that rules disagree about: tells of audit.{0}, without the decimals."
FIRST = "The three lowest order ids of them."


class FormulaRules(Contract, table="audit.formula_rules", scope="all", key=("part", "form_no", "rounding_no")):
    """One row per candidate rule: how lines could make the subtotal, and parts the total.

    Source: nothing but the file itself; the interface states no formula.
    Caveats: a candidate is a guess; what the data say of it is in audit.formula_evidence. Half up rounds away from
    zero.
    """

    part: Text = column(PART, isin=PARTS)
    form_no: Count = column(_FORM, ge=1, le=52)
    rounding_no: Count = column(_ROUNDING, ge=1, le=17)
    rule: Text = column(_RULE, unique=False)
    sentence: Text = column("The rule in plain words.")
    expression: Text = column(
        "The rule as SQL for the rows of one order: of a subtotal its lines in audit.order_line_sums with the "
        "discount, of a total its row in core.orders."
    )
    answers: Ids = column(
        "What it answers to each question, in the order of the bits of tells. Subtotal: price by quantity (0) or alone "
        "(1); modifiers not counted (0) or counted (1); per unit (0) or line (1); by their own quantity (0) or once "
        "(1); all added (0), only add (1), others subtracted (2); before (0) or after (1) the discount. Total: how "
        "often each of subtotal, delivery, tip, discount and loyalty counts. Null where a question does not arise."
    )
    kept_decimals: Count = column("Decimals that are kept; null where nothing is rounded.", nullable=True, ge=0, le=3)
    rounded_per: Text = column(
        "What is rounded: each line, or the order's sum once.", nullable=True, isin=("line", "order")
    )


class FormulaScopes(
    Contract,
    table="audit.formula_scopes",
    scope="all",
    key=("scope", "scope_value", "part", "tells", "fits"),
    is_released=False,
):
    """One row per scope, part of the price, what orders tell and which rules fit, over all days.

    A step: read audit.formula_evidence instead.
    Source: audit.monthly_formula_patterns.
    Caveats: masks; the same orders stand in several scopes: never add across them.
    """

    scope: Text = column(_SCOPE, isin=SCOPES)
    scope_value: Text = column(_SCOPE_VALUE, nullable=True)
    part: Text = column(PART, isin=PARTS)
    tells: Count = column(_TELLS.format("subtotal_fits or audit.total_fits"), ge=0, le=63)
    fits: Ids = column("A mask for each rounding_no: bit form_no - 1 stands where the rule gives their price.")
    orders: Count = column("How many orders.", ge=1)
    first_order_ids: Ids = column(FIRST)


class FormulaComparisons(
    Contract,
    table="audit.formula_comparisons",
    scope="all",
    key=("scope", "scope_value", "part", "form_no", "rounding_no"),
    is_released=False,
):
    """One row per scope and candidate rule, beside the leader of the scope.

    A step: read audit.formula_evidence instead.
    Source: audit.formula_scopes and audit.formula_rules. The leader is the rule that fits most orders, the simplest of
    equals.
    Caveats: counts alone; what they mean is in audit.formula_evidence.
    """

    scope: Text = column(_SCOPE, isin=SCOPES)
    scope_value: Text = column(_SCOPE_VALUE, nullable=True)
    part: Text = column(PART, isin=PARTS)
    form_no: Count = column(_FORM, ge=1)
    rounding_no: Count = column(_ROUNDING, ge=1)
    leader_form_no: Count = column("The leader's form_no.", ge=1)
    leader_rounding_no: Count = column("The leader's rounding_no.", ge=1)
    differs: Count = column(
        "The questions that the two answer differently: bits as in tells, 0 for rounding alone.", ge=0
    )
    orders: Count = column("How many orders of the scope a rule of this part can be tested on.", ge=1)
    fits: Count = column("How many of them the rule fits.", ge=0)
    leader_alone: Count = column("How many the leader fits and the rule does not.", ge=0)
    rule_alone: Count = column("How many the rule fits and the leader does not.", ge=0)
    neither: Count = column("How many neither fits though they hold what the two forms disagree about.", ge=0)


class FormulaEvidence(
    Contract, table="audit.formula_evidence", scope="all", key=("scope", "scope_value", "part", "rule")
):
    """One row per scope and candidate rule worth reading: what bears it out, and the verdict.

    Source: audit.formula_comparisons, audit.monthly_formula_residuals and [formula]. Here are all forms without
    rounding and with the leader's, all roundings of the leader's form, the closest rival, and a rule fixed by hand; the
    leader has been judged against the others too.
    Caveats: supported means that it holds here and that its rivals fail, not that the partner promised it. untold means
    that no order tells it from the leader: on these orders it gives the same amounts. Orders with an amount of ten
    billion and more, or ten thousand of one product, test no rule; they are reconciled by it like all others.
    """

    scope: Text = column(_SCOPE, isin=SCOPES)
    scope_value: Text = column(_SCOPE_VALUE, nullable=True)
    part: Text = column(PART, isin=PARTS)
    rule: Text = column(_RULE)
    sentence: Text = column("The rule in plain words.")
    is_fixed: Flag = column("Whether [formula] fixes this rule by hand; it is measured all the same.")
    verdict: Text = column(
        "supported: enough orders tell it from every rival, it holds in them and they fail; one rule a scope at most. "
        "refuted: it fails, on all orders or on those that tell it from the leader. untold: no order tells it from the "
        "leader. undecided: else; would_decide of the leader says what is lacking.",
        isin=("supported", "refuted", "untold", "undecided"),
    )
    reason: Text = column("Why, in one sentence, for the leader of the scope; null for the others.", nullable=True)
    would_decide: Texts = column(
        "Orders of this kind would decide what is still open; null for all but the leader of the scope.", nullable=True
    )
    orders: Count = column("How many orders of the scope a rule of this part can be tested on.", ge=1)
    fits: Count = column("How many of them the rule fits exactly.", ge=0)
    fit_rate: Share = column("fits as a share of orders.", ge=0, le=1)
    closest_rival: Text = column("The rule it is hardest to tell from, for the leader; the leader, for the others.")
    telling_orders: Count = column("How many orders tell it from that rule.", ge=0)
    telling_fits: Count = column("How many of those it fits.", ge=0)
    telling_fit_rate: Share = column(
        "telling_fits as a share of telling_orders; null where none.", nullable=True, ge=0, le=1
    )
    counterexamples: Ids = column("The three lowest ids of orders that it does not fit.")
    currency: Text = column(
        "What residual_sum is in, as in mart.orders; null where nothing says, or where there are several.",
        nullable=True,
    )
    residual_sum: Amount = column(
        "Stated prices less the rule's, summed over all orders, before any rounding; null where the orders are in "
        "several currencies, or some of them in none: those do not add.",
        nullable=True,
    )
    largest_residual: Amount = column(
        "The largest of those differences, without its sign, before any rounding, in whatever currency.", ge=0
    )


class FormulaRulesInForce(
    Contract, table="audit.formula_rules_in_force", scope="all", key=("part", "scope", "scope_value")
):
    """One row per scope in which a rule is in force, or in which the wider rule is not.

    Source: [formula], else audit.formula_evidence. An order looks for its platform first, then its dispatch method, its
    store, its month, then 'all'; the first row found holds.
    Caveats: no row, or a row without a rule, means that nothing is called by a name there.
    """

    part: Text = column(PART, isin=PARTS)
    scope: Text = column(_SCOPE, isin=SCOPES)
    scope_value: Text = column(_SCOPE_VALUE, nullable=True)
    rule: Text = column(
        "The rule; null where the wider or the assumed rule is refuted and no other is supported.", nullable=True
    )
    form_no: Id = column(_FORM, nullable=True)
    rounding_no: Id = column(_ROUNDING, nullable=True)
    answers: Ids = column("Its answers: audit.formula_rules.", nullable=True)
    kept_decimals: Count = column("Decimals that are kept; null where nothing is rounded.", nullable=True)
    rounded_per: Text = column(
        "What is rounded: each line, or the order's sum once.", nullable=True, isin=("line", "order")
    )
    source: Text = column(
        "setting: fixed by [formula]. evidence: supported by the orders.", isin=("setting", "evidence")
    )
    is_action_open: Flag = column(
        "Whether too few orders yet show what a priced modifier of another action than add does: no line amount there."
    )
