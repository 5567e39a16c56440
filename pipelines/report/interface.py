"""Show the partner's interface: its open questions and its fields, as the release shows them; and the tables for dbt.

Questions come with assumptions, as the settings are now, and the evidence of audit.questions: for a terminal, or as a
letter. Settings that may carry a secret are shown by their keys alone. Reads a release: no personal value can get in,
since a release holds none.
"""

from collections.abc import Iterator
from shlex import quote
from typing import Any

from pipelines.finance.released import ReadLimits, money_of, open_release, records
from pipelines.report.text import counted
from pipelines.settings import DEFAULT_FILE, Settings, given_keys
from pipelines.settings.assumptions import ASSUMPTIONS, assumptions
from pipelines.warehouse.catalogue.descriptions import dbt_sources


def dbt(settings: Settings) -> str:
    """Return sources.yml of dbt: the tables of the current release."""
    with open_release(settings) as release:
        own = [each.table() for each in release.manifest.own]
        parquet = settings.data_dir / "published" / "current" / "parquet"
        return dbt_sources(str(parquet), round(settings.notify.max_age_hours), own)


def fields(settings: Settings) -> str:
    """Return a line for each field that was observed; raise FinanceError before the first release."""
    with open_release(settings) as release:
        found = records(release.con, "from audit.field_profile order by kind desc, path")
    lines = ["kind    field: types; in how many places; documents in which it is null or absent"]
    for row in found:
        mark = "" if row["is_documented"] else " (not documented)"
        places = "" if row["present_count"] is None else f"; {row['present_count']:,}"
        if row["parent_count"] is not None:
            places += f" of {row['parent_count']:,}"
        lines.append(
            f"{row['kind']:7} {row['path']}{mark}: {', '.join(row['types']) or 'never seen'}{places}; "
            f"null {row['null_document_count']:,}, absent {row['absent_document_count']:,} of {row['document_count']:,}"
        )
    return "\n".join(lines)


_LETTER = """\
# Questions about the Orders and Menus interface

Dear colleagues,

we read stores, menus and orders through your Partner Ordering Service Interface. The document leaves some things open.
Below is each of them, those first on which most orders depend, with what we assume meanwhile and what we see in
the data, so that a short answer is enough. Thank you for your help.
"""
_FOUND_BY_INIT = ("partner.base_url", "partner.authenticate.", "partner.list_stores.", "partner.store.")
_KEPT_PRIVATE = "partner.store.allowed_pointers"  # a decision, which nothing proves
_WORDS = {"contradicted": "the data do not all agree", "supported": "the data agree so far"}
_WORDS |= {"observed": "this is what we have seen so far", "unknown": "the data do not show"}


def questions(settings: Settings, *, markdown: bool = False, limits: ReadLimits | None = None) -> str:
    """Return open questions as lines, or a Markdown letter; raise FinanceError without a release, or beyond limits."""
    assumed = {each.question: text for _, each, text in assumptions(settings)}
    with open_release(settings, limits) as release:
        found = records(release.con, "from audit.questions order by rank")
        orders = release.con.execute("select count(*) from mart.orders").fetchone()
        select = "select rule_target || '_formula', settlement from audit.formula_populations"
        proposed = release.con.execute(f"{select} where settlement is not null order by population_no").fetchall()
    for row in found:
        row["proposed"] = [text for question, text in proposed if question == row["question"]]
        row["assumption"] = assumed.get(row["question"], row["assumption"])
    total = orders[0] if orders else 0
    return "\n".join(_letter(found, total) if markdown else _lines(found, total))


def open_answers(settings: Settings) -> list[str]:
    """Return the answers of [partner] that nobody gave, each with the command that finds it; none for the demo."""
    how = settings.partner.authenticate
    if settings.file.name == "demo.toml":
        return []
    given = given_keys(settings.file)
    found = [
        each
        for each in ASSUMPTIONS
        if each.keys and each.keys[0].startswith(_FOUND_BY_INIT) and each.keys[0] not in {*given, _KEPT_PRIVATE}
        if how.encoding != "none" or not each.keys[0].startswith("partner.authenticate")
    ]
    if not found:
        return []
    name = settings.file.name if settings.file != DEFAULT_FILE else "shop.toml"
    init = f"ordermart init {quote(name)}"
    more = {"store_record": " --order-id ID, if stores have several numbers"}
    rows = [f"  {each.keys[0]}: {each.undocumented}. `{init}`{more.get(each.question, '')}" for each in found]
    return [f"{len(found)} answers of [partner] are the defaults, which fit the sandbox; each is found by:", *rows]


def _lines(found: list[dict[str, Any]], total: int) -> Iterator[str]:
    yield f"{len(found)} things are not shown by the interface; {counted(total, 'order is', 'orders are')} known."
    for row in found:
        yield f"{row['rank']:3}. {row['undocumented']} (section {row['section']}): {row['evidence_status']}"
        yield f"     assumed: {row['assumption']}"
        if row["evidence"]:
            yield f"     evidence: {row['evidence']}"
        if row["affected_order_count"]:
            yield f"     depends on it: {_depends(row)}"
        if row["proposed"]:
            yield "     would settle it, if you know that it is so; in the settings:"
            yield from (f"       {line}" for text in row["proposed"] for line in text.splitlines())
    yield "As a letter to the partner: ordermart questions --markdown"


def _letter(found: list[dict[str, Any]], total: int) -> Iterator[str]:
    yield _LETTER
    yield f"So far we have seen {counted(total, 'order', 'orders')}."
    for number, row in enumerate(found, 1):
        yield f"\n## {number}. {_plain(row['partner_question'])}\n"
        yield f"- Section {row['section']} of the document does not show: {_plain(row['undocumented'])}."
        yield f"- We assume meanwhile: {_plain(row['assumption'])}"
        yield f"- We see ({_WORDS[row['evidence_status']]}): {_plain(row['evidence'] or 'nothing yet')}"
        if row["affected_order_count"]:
            yield f"- It matters for {_depends(row)}."
        if row["example_ids"]:
            yield f"- Examples by id: {', '.join(map(str, row['example_ids']))}."
    yield "\nKind regards"


def _depends(row: dict[str, Any]) -> str:
    orders = counted(row["affected_order_count"], "order", "orders")
    amount = row["affected_amount"]
    return orders if amount is None else f"{orders}, {money_of(amount, row['currency'])} in total"


def _plain(text: str) -> str:
    """Keep what came from the service from being read as markup."""
    return "".join("\\" + letter if letter in "\\<>*_#|" else letter for letter in text.replace("\n", " "))
