"""The sentences in which audit.questions tells the data's answers: all its English, by code.

`sql/audit/question_figures.sql` and `sql/audit/questions.sql` name the codes and the figures.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# What a sentence may name, in the order in which questions.sql gives it: word by word, and once a place.
_OF_PARTS = ("word", "next_word", "figure", "other", "whole", "metric", "least", "greatest")
_OF_LINES = ("place", "parts")


class Sentence(NamedTuple):
    """The sentence of a code: `part` of each word that is found at a place, and `line` of all of them."""

    code: str
    part: str
    line: str = "{parts}"


_AT_PLACE = "{place}: {parts}"
SENTENCES = (
    # how many orders are against an assumption (figure), and how many for it (other)
    Sentence(
        "orders.sales",
        "{figure:,} orders have a status that no list in [sales] names; {other:,} have one that is named.",
    ),
    Sentence("orders.currency", "{figure:,} orders are of stores without a currency; {other:,} of stores with one."),
    Sentence(
        "orders.timezone",
        "{figure:,} orders are of stores without a timezone that exists; {other:,} of stores with one.",
    ),
    Sentence("orders.deleted", "{figure:,} orders that were seen are not found any more; {other:,} still are."),
    Sentence(
        "orders.business_day",
        "{figure:,} orders were asked for on another local day than they were created; {other:,} for the same.",
    ),
    Sentence(
        "orders.total_formula",
        "{figure:,} totals differ from what their parts make, or have no rule in force; {other:,} are equal to it.",
    ),
    Sentence(
        "orders.subtotal_formula",
        "{figure:,} subtotals differ from what their lines make, or have no rule in force; {other:,} are equal to it.",
    ),
    Sentence("orders.nulls", "{figure:,} orders lack an amount; {other:,} have all."),
    Sentence("orders.decimals", "{figure:,} orders have an amount of more than two decimals; {other:,} have none."),
    # how the service behaves
    Sentence("service", "{figure:,} times", _AT_PLACE),
    Sentence("service.metric", "{figure:,} times, {metric:.6g}", _AT_PLACE),
    Sentence("service.range", "{figure:,} times, from {least:.6g} to {greatest:.6g}", _AT_PLACE),
    Sentence("service.metric.range", "{figure:,} times, {metric:.6g}, from {least:.6g} to {greatest:.6g}", _AT_PLACE),
    # what fields hold
    Sentence("fields.nulls", "null in {figure:,}, absent from {other:,} of {whole:,}", _AT_PLACE),
    Sentence("fields.new_fields", "{word} in {figure:,} documents", _AT_PLACE),
    Sentence("fields.store_record", "{word} in {figure:,} of {whole:,} records", _AT_PLACE),
    Sentence("fields.store_personal", "kept encrypted in {figure:,} records", _AT_PLACE),
    Sentence("fields.decimals", "up to {figure} decimals", _AT_PLACE),
    Sentence("fields.free_texts", "not empty in {figure:,} of {whole:,} places", _AT_PLACE),
    Sentence("fields.ids", "{other} to {whole}", _AT_PLACE),
    # which values occur, and how they follow each other
    Sentence("values.values", "{word} ({figure})", _AT_PLACE),
    Sentence("values.final_statuses", "{word} ({figure})", "Orders stand at {parts}"),
    Sentence("values.followed", "{word} to {next_word} ({figure:,})", "seen to follow each other: {parts}"),
    # what populations of orders show of a rule, each with its scope
    Sentence("populations", "{word} for {figure:,} of {whole:,}"),
    Sentence("populations.scope", "{word} ({figure:,})", _AT_PLACE),
    # what tables show
    Sentence("stores.menus", "{figure:,} stores name {whole:,} menus between them, one store up to {other:,}."),
    Sentence("findings.products", "Product ids that name different products in different menus: {figure:,}."),
)


def sentences() -> list[tuple[str, str, str]]:
    """Return the rows of raw.question_sentences: names are replaced by the positions that DuckDB's format() knows."""
    return [(each.code, _numbered(each.part, _OF_PARTS), _numbered(each.line, _OF_LINES)) for each in SENTENCES]


def _numbered(text: str, names: tuple[str, ...]) -> str:
    return re.sub(r"\{(\w+)", lambda found: f"{{{names.index(found[1])}", text)
