"""Reading a statement: exact, as the mapping says, or refused by row and column; nothing else is kept."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.settlements.lines import SettlementError, read_statements
from pipelines.settlements.mapping import MappingError, read_mapping

if TYPE_CHECKING:
    from pathlib import Path

MAPPING = """
platform = "p"
orders = {{ platform = ["p"] }}
[file]
{file}
[line]
statement = "Ref"
order = "Order"
date = {{ column = "Day", form = "%d/%m/%Y" }}
type = {{ column = "Kind", order = ["sale"], refund = ["refund"] }}
currency = "EUR"
{line}
[components]
items = "+Amount"
commission = "-Fee"
[check]
net = "+Net"
"""
HEADER = ["Ref", "Order", "Day", "Kind", "Amount", "Fee", "Net", "Customer"]
GOOD = ["R1", "17", "02/10/2026", "sale", "10.00", "1.5", "8.50", "Jane Canary"]


def lines(
    tmp_path: Path,
    *rows: list[str],
    file: str = "",
    line: str = "",
    check: str = "",
    sep: str = ",",
    encoding: str = "utf-8",
) -> Any:
    """Return the lines of a file with these rows."""
    (tmp_path / "m.toml").write_text(MAPPING.format(file=file, line=line) + check, encoding="utf-8")
    text = "".join(
        sep.join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row) + "\r\n" for row in (HEADER, *rows)
    )
    return read_statements(text.encode(encoding), "f.csv", read_mapping(tmp_path / "m.toml"))[0].to_pylist()


def changed(**cells: str) -> list[str]:
    """Return the good row with other cells."""
    return [cells.get(column, cell) for column, cell in zip(HEADER, GOOD, strict=True)]


def test_lines_are_exact_and_personal_columns_are_dropped(tmp_path: Path) -> None:
    """One line a component, signed; no value of an unmapped column is in them; a repeated row is kept."""
    found = lines(tmp_path, GOOD, GOOD)
    assert [(row["source_row"], row["component"], row["amount"]) for row in found] == [
        (2, "items", Decimal(10)),
        (2, "commission", Decimal("-1.5")),
        (3, "items", Decimal(10)),
        (3, "commission", Decimal("-1.5")),
    ]
    assert (found[0]["order_id"], found[0]["line_date"], found[0]["currency"]) == (17, dt.date(2026, 10, 2), "EUR")
    assert "Canary" not in str(found)


@pytest.mark.parametrize(
    ("text", "file", "amount"),
    [
        ("1234.5", "", "1234.5"),
        ("1,234.56", 'thousands = ","', "1234.56"),
        ("1.234,56", 'decimal = ","\nthousands = "."', "1234.56"),
        ("1.234", 'decimal = ","\nthousands = "."', "1234"),
        ("1.234", 'thousands = ","', "1.234"),
        ("1 234,5", 'decimal = ","\nthousands = " "', "1234.5"),
        ("(12.30)", "", "-12.3"),
        ("\u221212.30", "", "-12.3"),
        ("0.1000", "", "0.1"),
        ("123456789012345678.99", "", "123456789012345678.99"),
    ],
)
def test_amounts_are_read_as_the_mapping_writes_them(tmp_path: Path, text: str, file: str, amount: str) -> None:
    """Decimal and thousands signs, negative in brackets or with a minus sign; to the last digit."""
    net = text if file else amount
    row = changed(Amount=text, Fee="", Net=net)
    assert lines(tmp_path, row, file=file)[0]["amount"] == Decimal(amount)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
@pytest.mark.parametrize("text", ["0000-00-00T00:00:00", "0001-01-01T00:00:00", "9999-12-31T23:59:59", " "])
def test_a_time_that_cannot_be_is_none(tmp_path: Path, text: str, zone: str) -> None:
    """Of an order; wherever the file's clock stands."""
    line = 'ordered_at = { column = "Customer", form = "%Y-%m-%dT%H:%M:%S" }'
    found = lines(tmp_path, changed(Customer=text), line=line, file=f'timezone = "{zone}"')
    assert {value for row in found for name, value in row.items() if name.startswith("ordered_at")} == {None}


@pytest.mark.parametrize(
    ("cells", "place"),
    [
        ({"Amount": "1,234.56"}, "row 3, column Amount"),
        ({"Amount": "1.234,56"}, "row 3, column Amount"),
        ({"Amount": "1.234"}, "row 3, column Amount: ambiguous"),
        ({"Amount": "1e3"}, "row 3, column Amount"),
        ({"Amount": "NaN"}, "row 3, column Amount"),
        ({"Amount": "10.00 USD"}, "row 3, column Amount"),
        ({"Amount": "=1+1"}, "row 3, column Amount"),
        ({"Amount": "1.00001"}, "row 3, column Amount"),
        ({"Amount": "１0"}, "row 3, column Amount"),
        ({"Net": "8.51"}, "row 3, column Net: the row does not add up"),
        ({"Net": ""}, "row 3, column Net"),
        ({"Kind": "SALE"}, "row 3, column Kind"),
        ({"Day": "10/13/2026"}, "row 3, column Day"),
        ({"Day": ""}, "row 3, column Day"),
        ({"Day": "00/00/0000"}, "row 3, column Day: has no date"),
        ({"Day": "01/01/0001"}, "row 3, column Day: has no date"),
        ({"Day": "31/12/9999"}, "row 3, column Day: has no date"),
        ({"Order": "=HYPERLINK(1)"}, "row 3, column Order"),
        ({"Order": "17\x00"}, "row 3, column Order"),
        ({"Ref": "R\x1b[31m"}, "row 3, column Ref"),
        ({"Ref": "x" * 10_000}, "row 3, column Ref"),
        ({"Customer": "x" * 10_000_000}, "after row 2: not valid CSV"),
    ],
)
def test_bad_cell_refuses_the_file_by_row_and_column(tmp_path: Path, cells: dict[str, str], place: str) -> None:
    """Another form, an ambiguous amount, an unknown word, a sum that is off, hostile texts; without their values."""
    with pytest.raises(SettlementError, match=f"f.csv, {place}") as refused:
        lines(tmp_path, GOOD, changed(**cells))
    assert not any(len(value) > 3 and value in str(refused.value) for value in cells.values())


def test_mixed_forms_of_amounts_refuse_the_file(tmp_path: Path) -> None:
    """1.234,56 beside 1,234.56: whichever the mapping states, the other one is refused."""
    rows = [changed(Amount=text, Fee="", Net=text) for text in ("1.234,56", "1,234.56")]
    for file, row in (('decimal = ","\nthousands = "."', 3), ('thousands = ","', 2)):
        with pytest.raises(SettlementError, match=f"row {row}, column Amount"):
            lines(tmp_path, *rows, file=file)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """Marks of UTF-8 and UTF-16 are understood; another encoding is stated, or the file is refused."""
    row = changed(Customer="Zoë")
    if encoding == "cp1252":
        with pytest.raises(SettlementError, match="is not utf-8"):
            lines(tmp_path, row, encoding=encoding)
    assert len(lines(tmp_path, row, encoding=encoding, file='encoding = "cp1252"')) == 2


def test_quoted_breaks_and_delimiters_are_text(tmp_path: Path) -> None:
    """A cell may hold line breaks, quotes and delimiters; rows are counted as a spreadsheet does."""
    found = lines(tmp_path, changed(Customer='a "b"\r\n;,c'), GOOD, sep=";", file='delimiter = ";"')
    assert [row["source_row"] for row in found] == [2, 2, 3, 3]
    assert lines(tmp_path, changed(Order='="0017"'))[0]["order_id"] == 17


def test_files_of_another_shape_are_refused(tmp_path: Path) -> None:
    """A row too long or short, a column that is missing or there twice, no rows, and broken quotes."""
    (tmp_path / "m.toml").write_text(MAPPING.format(file="", line=""), encoding="utf-8")
    mapping = read_mapping(tmp_path / "m.toml")
    head = ",".join(HEADER)
    for text, said in (
        (f"{head}\n{','.join(GOOD)},more\n", "row 2: 9 cells"),
        (f"{head}\n{','.join(GOOD[:-1])}\n", "row 2: 7 cells"),
        (f"{head.replace('Fee', 'Cost')}\n{','.join(GOOD)}\n", "row 1: has no column Fee"),
        (f"{head.replace('Customer', 'Fee')}\n{','.join(GOOD)}\n", "row 1: has more than one column Fee"),
        (f"{head}\n", "no rows"),
        (f'{head}\n"R1,17', "not valid CSV"),
        ("", "no rows"),
    ):
        with pytest.raises(SettlementError, match=said):
            read_statements(text.encode(), "f.csv", mapping)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('items = "+Amount"', 'sales = "+Amount"', r"\[components\] sales"),
        ('items = "+Amount"', 'items = "Amount"', r"\[components\] items"),
        ('statement = "Ref"', 'statemant = "Ref"', "statemant"),
        ('currency = "EUR"', "", "currency"),
        ('platform = "p"\n', "", "platform"),
        ("[file]", '[file]\ntimezone = "Mars"', "timezone"),
        ("[file]", '[file]\ndecimal = ","\nthousands = ","', "thousands"),
        ('order = "Order"', 'order = { column = "Order", digits = "order_id % 100" }', "short numbers need store"),
        ('order = "Order"', 'order = { column = "Order", pattern = "[0-9]+" }', "one group"),
        ("date =", 'period = { column = "Day", form = "%d", split = "-" }\ndate =', "either date or period"),
        ("[check]", "[check", "not valid TOML"),
    ],
)
def test_invalid_mapping_is_named_by_its_key(tmp_path: Path, old: str, new: str, said: str) -> None:
    """An unknown, missing or contradictory key is named."""
    text = MAPPING.format(file="", line="")
    assert old in text
    (tmp_path / "m.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(MappingError, match=said):
        read_mapping(tmp_path / "m.toml")


def test_a_store_is_ours_only_on_its_days(tmp_path: Path) -> None:
    """The file of stores says from when to when; another day refuses the file, and so do spans that overlap."""
    line = 'store = { column = "Customer", file = "stores.csv" }'
    (tmp_path / "stores.csv").write_text("platform_id,store_id,from,to\nA,5,2026-10-01,2026-10-02\nA,6,2026-10-03,\n")
    assert lines(tmp_path, changed(Customer="A"), line=line)[0]["store_id"] == 5
    assert lines(tmp_path, changed(Customer="A", Day="03/10/2026"), line=line)[0]["store_id"] == 6
    early, of_nobody, without = (
        lines(tmp_path, changed(Customer=store, Day="30/09/2026"), line=line)[0] for store in ("A", "B", "")
    )
    assert [early[name] for name in ("store_ref", "store_id", "order_ref", "order_id")] == ["A", None, "17", None]
    assert [of_nobody[name] for name in ("store_ref", "store_id", "order_id")] == ["B", None, None]
    assert [without[name] for name in ("store_ref", "store_id", "order_id")] == [None, None, 17]
    (tmp_path / "stores.csv").write_text("platform_id,store_id,from,to\nA,5,,2026-10-03\nA,6,2026-10-03,\n")
    with pytest.raises(MappingError, match="row 3"):
        lines(tmp_path, changed(Customer="A"), line=line)


@pytest.mark.parametrize(
    ("header", "keys"),
    [
        ("Customer,store_id,from,to", ""),
        ("platform id;store_id;from;to", ""),
        ("Filiale,Unsere,von,bis", ', platform_id = "Filiale", store_id = "Unsere", from = "von", to = "bis"'),
        ("platform_id,store_id", ""),
    ],
)
def test_the_store_file_has_columns_that_the_mapping_names(tmp_path: Path, header: str, keys: str) -> None:
    """By the mapping's words, by ours, or as the platform's own file calls its store."""
    sep = ";" if ";" in header else ","
    row = sep.join(["A", "5", "2026-10-01", "2026-12-31"][: header.count(sep) + 1])
    (tmp_path / "stores.csv").write_text(f"{header}\n{row}\n", encoding="utf-8")
    line = f'store = {{ column = "Customer", file = "stores.csv"{keys} }}'
    found = lines(tmp_path, changed(Customer="A"), line=line, file=f'delimiter = "{sep}"', sep=sep)
    assert found[0]["store_id"] == 5


def read(tmp_path: Path, mapping: str, text: str) -> list[dict[str, Any]]:
    """Return the lines of a text by a mapping."""
    (tmp_path / "m.toml").write_text(mapping, encoding="utf-8")
    return read_statements(text.encode(), "f.csv", read_mapping(tmp_path / "m.toml"))[0].to_pylist()


FORM = """platform = "p"
orders = {{ platform = ["p"] }}
[file]
{file}
[line]
statement = "Ref"
payout = "Paid by"
order = "Order"
date = {{ column = "Day", form = "%Y-%m-%d" }}
type = {{ column = "Kind", order = ["sale"], payout = ["PAYOUT"] }}
currency = "EUR"
[components]
items = ["+Food", "+Drinks", "-Rebate"]
commission = "-Fee"
[check]
net = ["+Net", "+Extra"]
"""
ABOVE = "Statement of October\n\nPrinted,2026-11-01\n"
ROWS = """Ref,Paid by,Order,Day,Kind,Food,Drinks,Rebate,Fee,Net,Extra
R1,P1,17,2026-10-02,sale,10.00,2.00,1.00,1.10,9.90,
R1,P1,18,2026-10-02,sale,5.00,,–,0.50,4.00,0.50
"""


@pytest.mark.parametrize(
    ("total", "rows"),
    [
        ('total = "Total"', "Total,,,,,15.00,2.00,1.00,1.60,13.90,0.50\n"),
        ('total = ["Sum", "Total"]', "Sum,,,,,15.00,,,1.60\n,,Total,,,15.00\n"),
        ('total = { column = "Kind", values = ["Total"] }', "R1,,,,Total,15.00,2.00,1.00,1.60,,\n"),
    ],
)
def test_lines_above_the_header_and_totals_are_no_rows(tmp_path: Path, total: str, rows: str) -> None:
    """Rows keep the numbers of the file; a component and the net may have several columns; a total must be the sum."""
    mapping = FORM.format(file=f"rows_above = 3\n{total}")
    found = read(tmp_path, mapping, ABOVE + ROWS + rows)
    assert [(row["source_row"], row["component"], str(row["amount"])) for row in found] == [
        (5, "items", "11.0000"),
        (5, "commission", "-1.1000"),
        (6, "items", "5.0000"),
        (6, "commission", "-0.5000"),
    ]
    with pytest.raises(SettlementError, match="row 7, column Food: is not the sum"):
        read(tmp_path, mapping, ABOVE + ROWS + rows.replace("15.00", "15.01"))
    with pytest.raises(SettlementError, match="row 3: 2 cells, the header has 1"):
        read(tmp_path, FORM.format(file=""), ABOVE + ROWS)
    with pytest.raises(SettlementError, match="row 4: has no column Fee"):
        read(tmp_path, mapping, ABOVE + ROWS.replace("Fee", "Cost"))


def test_subtotals_are_sums_of_the_rows_since_the_last(tmp_path: Path) -> None:
    """A total row after each part, and one of all at the end."""
    head, first, second = ROWS.splitlines()
    parts = [head, first, "Total,,,,,10.00,2.00", second, "Total,,,,,5.00", "Total,,,,,15.00,2.00", ""]
    assert len(read(tmp_path, FORM.format(file='total = "Total"'), "\n".join(parts))) == 4


@pytest.mark.parametrize(("amount", "payout"), [("-14.40", "P1"), ("14.40", "P1"), ("-14.40", "")])
def test_payouts_among_the_lines_say_what_was_paid(tmp_path: Path, amount: str, payout: str) -> None:
    """A PAYOUT row is not a line: its amount is what its statement pays, and its reference is that of lines without."""
    rows = ROWS.replace(",P1,", f",{payout},") + f"R1,P1,,2026-10-05,PAYOUT,,,,,{amount},\n"
    found = read(tmp_path, FORM.format(file=""), rows)
    assert {(row["payout_ref"], str(row["paid"])) for row in found} == {("P1", "14.4000")}
    assert len(found) == 4


def test_a_statement_paid_in_two_payouts(tmp_path: Path) -> None:
    """Two PAYOUT rows are added up; lines keep the payout that they name."""
    rows = (
        ROWS.replace("R1,P1,18", "R1,P2,18")
        + "R1,P1,,2026-10-05,PAYOUT,,,,,-9.90,\nR1,P2,,2026-10-06,PAYOUT,,,,,-4.50,\n"
    )
    found = read(tmp_path, FORM.format(file=""), rows)
    assert {(row["payout_ref"], str(row["paid"])) for row in found} == {("P1", "14.4000"), ("P2", "14.4000")}


def test_events_may_have_a_payout_among_their_words(tmp_path: Path) -> None:
    """One row per event: the word of a payout is listed as `payout`."""
    mapping = """platform = "p"
orders = { platform = ["p"] }
[file]
delimiter = ";"
decimal = ","
[line]
statement = "ref"
order = "order"
date = { column = "day", form = "%Y-%m-%d" }
currency = "BRL"
[components]
amount = "+valor"
column = "evento"
values = { VENDA = "items", COMISSAO = "commission", REPASSE = "payout" }
"""
    rows = "ref;order;day;evento;valor\nA;1;2026-10-01;VENDA;R$ 10,00\nA;1;2026-10-01;COMISSAO;1,20-\n"
    found = read(tmp_path, mapping, rows + "A;;2026-10-02;REPASSE;(8,80)\n")
    assert [(row["component"], str(row["amount"]), str(row["paid"])) for row in found] == [
        ("items", "10.0000", "8.8000"),
        ("commission", "-1.2000", "8.8000"),
    ]


CONVERTED = 'settled_currency = { column = "Customer" }\nexchange_rate = "Fee"'


def test_a_converted_row_is_rounded_by_itself(tmp_path: Path) -> None:
    """By its rate alone; a row that names no currency is not converted. The whole row is on its first line."""
    row = changed(Customer="USD", Fee="1.0725", Net="8.9275")
    found = lines(tmp_path, row, changed(Customer=""), line=CONVERTED)
    assert [(each["settled_currency"], each["settled_amount"], each["exchange_rate"]) for each in found] == [
        ("USD", Decimal("9.57"), Decimal("1.0725")),
        ("USD", Decimal(0), Decimal("1.0725")),
        ("EUR", Decimal(10), None),
        ("EUR", Decimal("-1.5"), None),
    ]


@pytest.mark.parametrize(("currency", "amount"), [("JPY", "10"), ("KWD", "9.575"), ("USD", "9.57"), ("CLF", "9.5747")])
def test_a_row_is_rounded_to_the_unit_of_its_payout(tmp_path: Path, currency: str, amount: str) -> None:
    """Of yen no part, of dinars the third decimal; a stated amount may be off by half of it."""
    row = {"Customer": currency, "Fee": "1.0725", "Net": "8.9275"}
    assert lines(tmp_path, changed(**row), line=CONVERTED)[0]["settled_amount"] == Decimal(amount)
    stated = {"line": CONVERTED, "check": 'settled = "+Ref"', "file": 'thousands = ","'}
    assert lines(tmp_path, changed(**row, Ref=amount), **stated)[0]["settled_amount"] == Decimal(amount)
    off = Decimal(amount) + Decimal((0, (1,), Decimal(amount).as_tuple().exponent))
    with pytest.raises(SettlementError, match="not what the row comes to"):
        lines(tmp_path, changed(**row, Ref=str(off)), **stated)


@pytest.mark.parametrize(
    ("line", "check", "rows", "said"),
    [
        (CONVERTED, "", [changed(Customer="USD", Fee="", Net="10.00")], "row 2, column Fee: is empty"),
        (CONVERTED, "", [changed(Customer="Jane")], "row 2, column Customer: no currency"),
        (CONVERTED, 'settled = "+Amount"', [changed(Customer="USD")], "row 2, column Amount: not what the row comes"),
        ("", 'paid = "+Net"', [GOOD, changed(Amount="11.00", Net="9.50")], "row 3, column Net: another row"),
        ("", 'paid = "+Ref"', [changed(Ref="")], r"statement \(no reference\), EUR: no row says what was paid"),
        ("", 'paid = "+Net"\nclosing = "+Fee"', [GOOD], "statement R1, EUR: opening and lines do not add up"),
        ("", 'opening = "+Fee"', [GOOD], "opening and closing need paid"),
        ("", 'settled = "+Fee"', [GOOD], "settled_currency: needs exchange_rate"),
        ('settled_currency = "USD"', "", [GOOD], "settled_currency: needs exchange_rate"),
    ],
)
def test_sums_that_a_file_states_must_hold(
    tmp_path: Path, line: str, check: str, rows: list[list[str]], said: str
) -> None:
    """A row at its rate; of a statement one opening, paid and closing, off by no more than rounding comes to."""
    with pytest.raises((SettlementError, MappingError), match=said):
        lines(tmp_path, *rows, line=line, check=check)


def test_rounding_of_a_statement_is_kept_not_refused(tmp_path: Path) -> None:
    """Half a cent for each amount: what it pays stays as it is stated."""
    found = lines(tmp_path, changed(Fee="1.4950", Net="8.5050", Customer="8.51"), check='paid = "+Customer"')
    assert {each["paid"] for each in found} == {Decimal("8.51")}


def test_a_time_that_a_zone_has_twice_is_kept_as_both(tmp_path: Path) -> None:
    """Neither summer nor winter time is guessed; other times, and those of the store, have no other."""
    line = 'ordered_at = { column = "Customer", form = "%Y-%m-%d %H:%M" }'
    for zone, text, found in (
        ("Europe/Berlin", "2026-10-25 02:45", [0, 1]),
        ("Europe/Berlin", "2026-10-25 03:00", [2, None]),
        ("Europe/Berlin", "2026-03-29 03:00", [1, None]),
        ("UTC", "2026-10-25 02:45", [2, None]),
        ("store", "2026-10-25 02:45", [None, None]),
    ):
        row = lines(tmp_path, changed(Customer=text), line=line, file=f'timezone = "{zone}"')[0]
        assert [at and at.hour for at in (row["ordered_at"], row["ordered_at_else"])] == found, (zone, text)
