"""Contracts of the open questions: what the interface does not show, what is assumed, and what the data show."""

from pipelines.warehouse.contracts.contract import Amount, Contract, Count, Day, Flag, Ids, Share, Text, column

ABOUT_ORDERS = (
    "sales",
    "currency",
    "timezone",
    "deleted",
    "business_day",
    "total_formula",
    "subtotal_formula",
    "nulls",
    "decimals",
)

_QUESTION = "A short name of the question."
_CURRENCY = "The currency of the amount, from the stores' records."


class DailyQuestionCases(
    Contract,
    table="audit.daily_question_cases",
    scope="day",
    key=("business_date", "question", "is_against", "currency"),
    is_released=False,
):
    """One row per business day, open question about orders, whether they support the assumption, and currency.

    A step: read audit.questions instead.
    Source: mart.orders and mart.order_reconciliation: what audit.questions adds up, kept by day.
    Caveats: an order is counted under every question that it can answer; do not add questions up.
    """

    business_date: Day = column(
        "The business day of the orders, see mart.orders; null for orders without a time.", nullable=True
    )
    question: Text = column(_QUESTION, isin=ABOUT_ORDERS)
    is_against: Flag = column("Whether the orders are cases against what is assumed, or cases that depend on it.")
    currency: Text = column(_CURRENCY, nullable=True)
    order_count: Count = column("How many orders.", ge=1)
    total_price: Amount = column("The sum of their total_price, as sent.", nullable=True)
    example_ids: Ids = column("The three lowest order ids.")


class QuestionFigures(
    Contract,
    table="audit.question_figures",
    scope="all",
    key=("question", "code", "place", "word", "next_word"),
    is_released=False,
):
    """One row per open question, sentence about it, place that the sentence names, and words.

    A step: read audit.questions instead.

    Source: audit.service_behaviour, audit.field_profile, audit.vocabulary, audit.status_transitions, core.store_menus.
    Caveats: what a figure counts follows from the code: pipelines/warehouse/inputs/sentences.py.
    """

    question: Text = column(_QUESTION)
    code: Text = column("Which sentence says it.")
    place: Text = column("What the figures are about: a field, or an operation of the service.", nullable=True)
    word: Text = column("A value or types that are found there.", nullable=True)
    next_word: Text = column("A value that was seen to follow it.", nullable=True)
    figure: Count = column("The first figure of the sentence.", nullable=True)
    other: Count = column("The second.", nullable=True)
    whole: Count = column("The third: mostly of how many.", nullable=True)
    metric: Share = column("A measured value.", nullable=True)
    least: Share = column("The least that was measured.", nullable=True)
    greatest: Share = column("The greatest that was measured.", nullable=True)
    agree: Count = column("How many cases support what is assumed.", nullable=True)
    against: Count = column("How many cases contradict it.", nullable=True)
    example_ids: Ids = column("Up to three ids of documents in point.")


class Questions(Contract, table="audit.questions", scope="all", key=("question",)):
    """One row per thing that the interface does not show: the assumption, the evidence, and what depends on it.

    Source: the settings, audit.daily_question_cases, audit.question_figures, audit.findings.
    Caveats: supported is not proved: no case against it was seen. Orders of several questions overlap. `ordermart
    questions --markdown` writes them as a letter to the partner.
    """

    question: Text = column(_QUESTION)
    rank: Count = column(
        "Its place: most orders first, then most cases against what is assumed, then fewest for it. Amounts do not "
        "count: currencies cannot be compared.",
        ge=1,
    )
    section: Text = column("The section of the interface that leaves it open.")
    undocumented: Text = column("What is not shown, as in docs/ASSUMPTIONS.md.")
    assumption: Text = column("What is assumed meanwhile: the settings with their values, or what is done without one.")
    partner_question: Text = column("The question to the partner.")
    evidence: Text = column("What the data show, in a sentence; null if they show nothing.", nullable=True)
    evidence_status: Text = column(
        "contradicted: there is evidence against it. supported: cases for it, none against. observed: the evidence "
        "shows what occurs. unknown: the data show nothing.",
        isin=("contradicted", "supported", "observed", "unknown"),
    )
    supporting_count: Count = column("How many cases support it.", ge=0)
    contradicting_count: Count = column("How many cases contradict it, or depend on the assumption alone.", ge=0)
    affected_order_count: Count = column("How many orders depend on it: they would be shown differently.", ge=0)
    affected_amount: Amount = column(
        "Their total_price, added up; null for several currencies, or none.", nullable=True
    )
    currency: Text = column(_CURRENCY, nullable=True)
    example_ids: Ids = column(
        "Up to three ids of documents in point, the lowest; orders where the question is about them."
    )
