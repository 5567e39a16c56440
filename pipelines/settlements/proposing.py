"""Propose a mapping from the first rows of a file, for a person to correct; comments say what it could not tell."""

import datetime as dt
import re
from collections.abc import Iterator
from decimal import Decimal

from pipelines.settlements.lines import CellRef, Records, SettlementError, amount_reader
from pipelines.settlements.mapping import COSTS

_ROWS = 200
_KEY = re.compile(r"([_ ](id|ref|no|number|date)|Id|ID)$")
_FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")
_AMOUNT_SEPARATORS = ((".", ""), (",", ""), (".", ","), (",", "."), (",", " "), (".", "'"), (",", "'"))
_WORDS = {  # of names of columns, the more particular first
    "net": "net|payout amount|paid|auszahlung|liquido|líquido",
    "commission_tax": "(tax|vat|iva|mwst|gst|imposto).*(comm?iss|fee)|(comm?iss|fee).*(tax|vat|iva|mwst|gst)",
    "commission": "commission|comiss|provision",
    "marketing": "marketing|advert",
    "refund": "refund|reembolso|erstattung",
    "adjustment": "adjust|correct|ajuste|korrektur",
    "promotion": "promo|discount|rabatt|desconto|voucher",
    "delivery": "deliver|entrega|liefer",
    "tip": "tip|gorjeta|trinkgeld|propina",
    "items": "subtotal|items|goods|waren",
    "fee": "fee|gebühr|taxa",
    "gross": "gross|total|sale|umsatz|amount|valor|betrag|venda|venta|verkauf",
}
_NAMES = {"statement": "statement|invoice|settlement|period", "payout": "payout|transfer"}
_NAMES |= {"store": "store|shop|restaurant|location|outlet", "type": "type|event|kind"}


def proposed_mapping(records: Records, delimiter: str, order: str, name: str) -> Iterator[str]:
    """Yield a mapping as TOML, its columns guessed by names and values; cells are shown of a column of types alone."""
    rows = [cells for _, cells in records.rows[:_ROWS]]
    columns = {column: [cells[at].strip() for cells in rows] for at, column in enumerate(records.header)}
    amounts, separators = _amounts(columns, order)
    found = {key: _named(columns, words, {order, *amounts}) for key, words in _NAMES.items()}
    found["statement"] = found["statement"] or found["payout"]
    words = sorted({*columns.get(found["type"], ())})
    yield 'platform = ""  # could not tell: the platform\'s name, and of our orders'
    yield 'orders = { platform = [""] }'
    yield f"[file]\nnames = {_text(name)}\ndelimiter = {_text(delimiter)}\ndecimal = {_text(separators[0])}"
    yield f'thousands = {_text(separators[1])}\ntimezone = "store"  # could not tell: of times without a zone'
    yield "[line]"
    yield from _line_table(columns, order, found, words)
    yield "[components]"
    yield from _component_table(amounts, found["type"], words)


def _line_table(columns: dict[str, list[str]], order: str, found: dict[str, str], words: list[str]) -> Iterator[str]:
    """Yield what each row is of, by the names found; `words` are those of the column of types."""
    for key in ("statement", "payout", "store"):
        yield f"{key} = {_text(found[key])}" if found[key] else f"# could not tell: {key}"
    yield f"order = {_text(order)}" if order else "# could not tell: order, or ordered_at and window_minutes"
    dates = [(column, forms) for column, cells in columns.items() if (forms := _forms(cells))]
    for column, forms in dates[:1]:
        unsure = f"   # could not tell: or {', '.join(forms[1:])}" if len(forms) > 1 else ""
        yield f"date = {{ column = {_text(column)}, form = {_text(forms[0])} }}{unsure}"
    if not dates:
        yield "# could not tell: date, or period"
    if found["type"] and len(words) <= 12:
        yield f"type = {{ column = {_text(found['type'])}, order = [{', '.join(map(_text, words))}] }}"
        yield "# could not tell: which of these words are refund, fee, total, payout or adds_to"
    else:
        yield 'type = "order"  # could not tell: all rows are orders'
    currency = next((each for each, cells in columns.items() if all(re.fullmatch("[A-Z]{3}", c) for c in cells)), "")
    yield f"currency = {{ column = {_text(currency)} }}" if currency else 'currency = ""   # could not tell'


def _component_table(amounts: dict[str, list[Decimal]], kind: str, words: list[str]) -> Iterator[str]:
    """Yield which column is which component, or which word of the column `kind` makes the one amount which."""
    parts, net = _components(amounts)
    if len(parts) == 1 and len(words) > 1:  # a row is an event
        events = [f"{_text(each)} = {_text(_component(each) or 'gross')}" for each in words]
        yield f"amount = {_text(*parts.values())}\ncolumn = {_text(kind)}\nvalues = {{ {', '.join(events)} }}"
        return
    yield from (f"{part} = {_text(column)}" for part, column in parts.items())
    unused = [column for column in amounts if column not in {each[1:] for each in parts.values()} and column != net]
    if unused:
        yield f"# could not tell: {', '.join(unused)}"
    unknown = "# could not tell: [check] net; no column is the sum of these"
    yield f"[check]\nnet = {_text('+' + net)}" if net else unknown


def _text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'


def _named(columns: dict[str, list[str]], words: str, but: set[str]) -> str:
    return next((each for each in columns if each not in but and re.search(words, each, re.IGNORECASE)), "")


def _component(name: str) -> str:
    return next((key for key, words in _WORDS.items() if re.search(words, name, re.IGNORECASE)), "")


def _forms(cells: list[str]) -> list[str]:
    def fits(form: str) -> bool:
        try:
            return bool([dt.datetime.strptime(cell, form) for cell in cells if cell])  # noqa: DTZ007 -- of a form alone
        except ValueError:
            return False

    return [form for form in _FORMS if fits(form)]


def _amounts(columns: dict[str, list[str]], order: str) -> tuple[dict[str, list[Decimal]], tuple[str, str]]:
    """Return the columns of amounts in the form that fits most of them."""
    best: dict[str, list[Decimal]] = {}
    form = _AMOUNT_SEPARATORS[0]
    for separators in _AMOUNT_SEPARATORS:
        read, found = amount_reader(*separators), {}
        for column, cells in columns.items():
            if column == order or not _component(column) or _KEY.search(column):
                continue
            try:
                found[column] = [read(cell, CellRef("", 0, column)) or Decimal(0) for cell in cells]
            except SettlementError:
                continue
        if len(found) > len(best):
            best, form = found, separators
    return best, form


def _components(amounts: dict[str, list[Decimal]]) -> tuple[dict[str, str], str]:
    """Return each component's signed column, and the column that is their sum in every row."""
    parts: dict[str, str] = {}
    net = ""
    costs = sum((value for column, values in amounts.items() if _component(column) in COSTS for value in values), 0)
    for column, values in amounts.items():
        if (part := _component(column)) == "net":
            net = net or column
        elif part not in parts:
            is_stated = costs > 0 if part in COSTS else part in {"promotion", "refund"} and sum(values) > 0
            parts[part] = ("-" if is_stated else "+") + column
    if "items" in parts and "gross" in parts:
        del parts["gross"]
    if not net:
        return parts, ""
    for held in (parts, {key: each for key, each in parts.items() if key in {"gross", *COSTS, "refund", "adjustment"}}):
        sums = [
            sum((amounts[c[1:]][at] * (-1 if c[0] == "-" else 1) for c in held.values()), Decimal(0))
            for at in range(len(amounts[net]))
        ]
        if sums == amounts[net]:
            return held, net
    return parts, ""
