"""The quick path's result is the walk's, or nothing: searched for by mangled documents."""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.validate import Validator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.settings import Settings

TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        [
            '":',
            '" :',
            '\\"',
            "null",
            'price":"',
            "\x7f",
            "\u2028",
            "😀",
            "E+2",
            "\\u0041",
            "2026-10-01T00:00:00Z",
            "0",
            "",
        ]
    ),
)
LITERALS = st.sampled_from(
    [
        *("null", "true", "0", "-0", "-0.0", "1e2", "1E+2", "150e-2", "1.5e0", "0.00e0", "0e5", "0E-7", "-1.5"),
        *("1.00001", "1.00005", "0.99995", "1.50000", "99999999999999.9999", "100000000000000", "1e400", "1e-400"),
        *("1" * 30, "1" * 5000, "9223372036854775808", "-9223372036854775808", "1e99999999999999999999"),
        *('"1.5"', '"NaN"', '""', '"x"', '"2026-10-01T00:00:00+01:00"', '"2026-02-30T00:00:00Z"', '"\\ud83d\\ude00"'),
        *(
            '"\\ud800"',
            '"\\ude00\\ud83d"',
            '"\x01"',
            "[]",
            "{}",
            "[null]",
            "NaN",
            "01",
            "1.",
            "nul",
            '"0001-01-01T00:00:00+01:00"',
        ),
    ]
)
STYLES = st.sampled_from(
    [
        {"separators": (",", ":"), "ensure_ascii": False},
        {"separators": (",", ":")},
        {},
        {"indent": 1},
        {"separators": (",", " : ")},
        {"separators": (",", ":\n"), "ensure_ascii": False},
    ]
)
MARK = "@@{}@@"
EXAMPLES = 400


@pytest.fixture(
    scope="module", params=["", '[privacy]\nplaintext_fields = ["dispatch_note", "instructions", "tracking_url"]']
)
def validator(
    configure: Callable[..., Settings], tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Validator:
    """Return the validator of orders, once with every default and once with opened fields."""
    folder: Path = tmp_path_factory.mktemp("validator")
    return Validator(configure(folder, request.param), "orders")


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    """Return an order of two lines whose leaves are all to be filled in."""
    modifier = dict.fromkeys(("id", "name", "price", "action", "quantity"))
    item = dict.fromkeys(("id", "product_id", "quantity", "name", "instructions", "price"))
    delivery = dict.fromkeys(("id", "type", "confirmation_code", "status", "tracking_url"))
    names = (
        "id user_phone user_email user_address user_name apartment_details user_latitude user_longitude dispatch_note "
        "dispatch_method store_id status platform requested_time promised_delivery_time promised_pick_up_time "
        "created_at subtotal_price delivery_price tip discount loyalty_discount total_price"
    )
    return dict.fromkeys(names.split()) | {
        "items": [item | {"modifiers": [modifier, modifier]}, item | {"modifiers": []}],
        "deliveries": [delivery],
    }


def _leaves(at: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    for key, value in at.items() if isinstance(at, dict) else enumerate(at):
        if isinstance(value, dict | list):
            _leaves(value, found)
        else:
            found.append((at, key))
    return found


USUAL = {
    "money": ["0", "1.5", "12.50", "-0.25", "7", "1234567.8901"],
    "time": ['"2026-10-01T12:00:00Z"', '"2026-10-01T12:00:00.5+02:00"', '"2024-02-29T23:59:59"', "null"],
    "number": ["7", "-1", "9223372036854775807", "null"],
    "text": ['"Pizza"', '""', '"Größe 4 \\u00e9 & <b>"', '"\\ud83c\\udf55"', '"a\\"b"', "null"],
}


def _usual(name: str, data: st.DataObject) -> str:
    if name == "id":
        return "7"
    what = "text"
    if name.endswith(("price", "tip", "discount", "itude")):
        what = "money"
    elif name.endswith(("_time", "_at")):
        what = "time"
    elif name.endswith(("_id", "quantity")):
        what = "number"
    return data.draw(st.sampled_from(USUAL[what]))


def _mangled(body: bytes, data: st.DataObject) -> bytes:
    how = data.draw(st.sampled_from(["no", "no", "no", "double", "drop", "rename", "byte", "cut", "escape", "has"]))
    if how in {"double", "drop", "rename", "escape"}:
        name = data.draw(st.sampled_from(["tip", "id", "items", "price", "name", "user_phone", "tracking_url"]))
        quoted = f'"{name}"'.encode()
        if how == "double":
            return body.replace(quoted, quoted + data.draw(st.sampled_from([b":null,", b" :null,"])) + quoted, 1)
        if how == "escape":
            escaped = f'"\\u{ord(name[0]):04x}{name[1:]}"'.encode()
            return body.replace(quoted, data.draw(st.sampled_from([escaped, escaped + b":null," + quoted])), 1)
        return body.replace(quoted, f'"{name}x"'.encode() if how == "rename" else b'"x"', 1)
    if how == "has":
        has = b'"has_user_phone":' + data.draw(st.sampled_from([b"true", b"null", b"{}"])) + b","
        return body.replace(b'"user_phone"', has + b'"user_phone"', 1)
    at = data.draw(st.integers(0, max(len(body) - 1, 0)))
    if how == "byte":
        return body[:at] + data.draw(st.binary(min_size=1, max_size=2)) + body[at + 1 :]
    return body[:at] if how == "cut" else body


def _body(template: dict[str, Any], data: st.DataObject) -> bytes:
    """Return an order of usual values, up to three of them replaced by unusual ones, perhaps mangled."""
    order = copy.deepcopy(template)
    places = _leaves(order, [])
    literals = [_usual(str(key), data) for _, key in places]
    odd = st.one_of(LITERALS, TEXTS.map(json.dumps), TEXTS.map(lambda text: json.dumps(text, ensure_ascii=False)))
    for at in data.draw(st.lists(st.integers(0, len(places) - 1), max_size=3)):
        literals[at] = data.draw(odd)
    for no, (holder, key) in enumerate(places):
        holder[key] = MARK.format(no)
    text = json.dumps(order, **data.draw(STYLES))
    for no, literal in enumerate(literals):
        text = text.replace(f'"{MARK.format(no)}"', literal)
    return _mangled(text.encode("utf-8", "surrogatepass"), data)


@pytest.mark.slow
def test_the_quick_path_agrees_with_the_walk(validator: Validator, template: dict[str, Any]) -> None:
    """Whatever the bytes: the quick path returns exactly the walk's result, or leaves it to the walk."""
    taken: Counter[bool] = Counter()

    @given(data=st.data())
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    def search(data: st.DataObject) -> None:
        body = _body(template, data)
        assert validator._fast is not None
        quick = validator._fast.validate(body, 7)
        taken[quick is not None] += 1
        if quick is not None:
            try:
                exact = validator.validate_by_walk(body, 7)
            except InvalidDocumentError as error:
                pytest.fail(f"the quick path took what the walk refuses: {error}")
            assert quick == exact

    search()
    assert taken[True] > EXAMPLES / 20  # drawn at random: about one in eight
    assert taken[False] > EXAMPLES / 10


def test_a_clean_order_takes_the_quick_path(validator: Validator, order: dict[str, Any]) -> None:
    """Compact, spaced, escaped and indented forms of a clean order are all judged quickly."""
    order["dispatch_note"] = "naïve “quotes” & more"
    for style in ({"separators": (",", ":")}, {}, {"indent": 2}, {"ensure_ascii": False}):
        assert validator._fast is not None
        assert validator._fast.validate(json.dumps(order, **style).encode(), 7) is not None  # type: ignore[arg-type]


def test_a_null_hides_nothing_else(validator: Validator, order: dict[str, Any]) -> None:
    """Where one personal field is null, the quick path still takes the others out, as the walk does."""
    for name in [name for name in order if name.startswith("user_")]:
        body = json.dumps(order | {name: None}).encode()
        assert validator._fast is not None
        assert validator._fast.validate(body, 7) == validator.validate_by_walk(body, 7)


def test_sums_are_exact(validator: Validator, order: dict[str, Any]) -> None:
    """Money is added up in decimals: no binary fraction is ever in between."""
    order["items"] = [order["items"][0] | {"price": 0.1, "modifiers": []}] * 3
    validated = validator.validate(json.dumps(order).encode())
    assert [str(each) for each in validated.sums] == ["51.00", "0.3", "0"]


@pytest.mark.parametrize(
    ("moment", "is_real"),
    [
        ("0001-01-01T00:30:00+01:00", False),
        ("0001-01-01T00:00:00Z", True),
        ("0001-01-01T00:30:00-01:00", True),
        ("9999-12-31T23:30:00-01:00", False),
        ("9999-12-31T23:59:59Z", True),
        ("9999-12-31T23:30:00+01:00", True),
    ],
)
def test_times_at_both_edges_of_the_calendar(
    validator: Validator, order: dict[str, Any], moment: str, is_real: bool
) -> None:
    """An offset can push a time of the first or last year out of it: the quick path leaves those to the walk."""
    order["created_at"] = moment
    body = json.dumps(order).encode()
    assert validator._fast is not None
    assert validator._fast.validate(body, 7) is None
    if is_real:
        assert validator.validate_by_walk(body, 7)
    else:
        with pytest.raises(InvalidDocumentError, match="bad_timestamp"):
            validator.validate_by_walk(body, 7)


def test_a_refused_menu_claims_the_id_below_what_holds_it(configure: Callable[..., Settings], tmp_path: Path) -> None:
    """The first required field of its shape: not the object that has it."""
    assert Validator(configure(tmp_path), "menus").own_id(b'{"menu": {"id": 7}, "id": 8}') == 7
