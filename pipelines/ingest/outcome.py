"""Tell what became of requested ids, of one load or a whole kind, and if store records have what settings point to."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from pipelines.inbox.store import IDS
from pipelines.landing.raw_folder import read_rows
from pipelines.landing.raw_rows import Refusal
from pipelines.partner.exchange import Fetched, RunStopped
from pipelines.partner.pointer import UNREADABLE, get_all
from pipelines.record import Verdict
from pipelines.settings import Settings
from pipelines.settings.contradictions import is_zone
from pipelines.vault import FetchedBody

_NOT_FOUND = 404
_REFUSALS = {"redirect", *(f"status_{status}" for status in (400, 402, 403, 405, 406, 410, 421, 451))}
_REFUSED, _FEWEST_REFUSED = 20, 5  # refusals without another answer that show that all are refused, or of fewer ids


class SuspectBaseUrlError(Exception):
    """Too many known ids are not found: base_url may be wrong. The responses that showed it were not landed."""


@dataclass
class Ingested:
    """The result for one kind: payloads by verdict, what was rejected or failed, and why it is not complete.

    `due` ids were to be requested, and `answered` ones were; `stopped` is why nothing more was; `shortfalls` name
    missing or doubtful answers.
    Of stores, `listed` are the ids of a whole list (None without one), `accepted` those of accepted records, and
    `of_menus` says which fields they lack for menus; of orders, `named_stores` counts the stores that new ones name.
    `returned` documents came back to an earlier version. Of due ids, `waiting` ones come after the orders; `asked` were
    answered in this run, and `missing` counts, by store, menus that the service lacks, less those that it has.
    """

    kind: str
    due: int = 0
    answered: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    refused: list[Refusal] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    stopped: "RunStopped | SuspectBaseUrlError | None" = None
    shortfalls: list[str] = field(default_factory=list)
    listed: frozenset[int] | None = None
    accepted: set[int] = field(default_factory=set)
    of_menus: list[str] = field(default_factory=list)
    named_stores: Counter[int] = field(default_factory=Counter)
    returned: int = 0
    aged: int = 0  # answers that a cache kept
    store_of: dict[int, int] = field(default_factory=dict)  # by menu, as store records name them
    waiting: int = 0
    asked: set[int] = field(default_factory=set)
    missing: Counter[int] = field(default_factory=Counter)

    @property
    def requested(self) -> int:
        """How many ids were requested."""
        return sum(self.counts.values())

    def assess(self) -> Verdict:
        """Whether the kind is up to date: due ids and documents, doubts about answers, and ids without one."""
        missed = self.due - self.answered - self.waiting
        unasked = [f"{missed:,} of {self.due:,} due {self.kind} were not requested, or not answered"] if missed else []
        return Verdict({"due ids": self.due, "documents": self.requested}, self.shortfalls, unasked)


@dataclass
class Outcome:
    """What became of the ids of one load."""

    fetched: list[int] = field(default_factory=list)
    not_found: list[int] = field(default_factory=list)
    failed: list[FetchedBody] = field(default_factory=list)

    def add(self, answer: FetchedBody) -> None:
        """Record the result for an id."""
        if answer.code:
            self.failed.append(answer)
        elif answer.status == _NOT_FOUND:
            self.not_found.append(answer.id)
        else:
            self.fetched.append(answer.id)

    @property
    def answered(self) -> int:
        """How many ids have a result."""
        return len(self.fetched) + len(self.not_found) + len(self.failed)

    def ids(self) -> Iterator[int]:
        """Yield every id that has a result."""
        yield from self.fetched
        yield from self.not_found
        yield from (answer.id for answer in self.failed)

    def sorted_by_verdict(self, refusals: Iterable[Refusal]) -> tuple[list[int], dict[str, list[int]]]:
        """Return the fetched ids that validation accepted, and those that it rejected by reason."""
        reasons = {refusal.id: refusal.reason for refusal in refusals}
        rejected = defaultdict(list)
        for id_ in self.fetched:
            if id_ in reasons:
                rejected[reasons[id_]].append(id_)
        return [id_ for id_ in self.fetched if id_ not in reasons], rejected


def refusals_of(data_dir: Path, kind: str, load_id: str) -> list[Refusal]:
    """Return what a landed load rejected."""
    rows = read_rows(data_dir, kind, "observations", ("verdict", "id", "reason", "pointer"), {load_id})
    return [Refusal(*why) for verdict, *why in rows if verdict == "quarantined"]


_MIN_BAD = 5  # fewer can be chance, however short the run
_MIN_ALL = 2  # when nothing at all is good
_MIN_RESPONSES = 200  # before a rate means much


def is_above(limit: float, bad: int, answered: int) -> bool:
    """Tell whether the rate of bad answers is above the limit: at least five of them, or all of two and more."""
    return (bad >= _MIN_BAD and bad > limit * answered) or (bad >= _MIN_ALL and bad == answered)


class NotFoundGuard:
    """Counts 404s for known ids in a run: a rate above `limit` suggests a wrong address.

    `known` is how many known ids the run will request. The rate is taken over at least 200 responses (over all, if
    there are fewer), so that a few early 404s stop nothing; fewer than five never do.
    """

    def __init__(self, limit: float, known: int) -> None:
        self._limit, self._known = limit, known
        self.answered = 0
        self.not_found = 0

    def trips(self, *, not_found: bool) -> bool:
        """Count one response for a known id; return whether the run should stop."""
        self.answered += 1
        self.not_found += not_found
        responses = max(self.answered, min(self._known, _MIN_RESPONSES))
        return self.not_found >= _MIN_BAD and self.not_found > self._limit * responses

    @property
    def is_exceeded(self) -> bool:
        """Whether the rate over all responses is above the limit: among five 404s or more, or if nothing was found."""
        return is_above(self._limit, self.not_found, self.answered)

    def sentence(self, of: str, check: str) -> str:
        """Explain why the run stops, or its doubts."""
        rate = f"{self.not_found:,} of {self.answered:,} {of} are not found (404), more than {self._limit:.0%}"
        return f"{rate}: check {check}"


class AnswerCheck:
    """Judges the answers of one kind: whether it is up to date, and whether to go on asking.

    `known` are due ids of documents that the warehouse has, `representative` those whose answers say how the service
    does. `before` counts ids that were bad together with most others in earlier runs, and still are.
    """

    def __init__(
        self,
        settings: Settings,
        kind: str,
        known: AbstractSet[int] = frozenset(),
        representative: AbstractSet[int] = frozenset(),
        before: int = 0,
    ) -> None:
        self._kind, self._known, self.representative, self._before = kind, known, representative, before
        self._max_bad_rate = settings.planner.max_failed_rate
        self._not_found = NotFoundGuard(settings.planner.max_not_found_rate, len(known))
        self._not_found_new = NotFoundGuard(settings.planner.max_not_found_rate, len(representative - known))
        self._refused = self._answered = self._landed = 0
        self._bad: dict[str, Counter[str]] = {what: Counter() for what in ("failed", "were rejected", "are not found")}

    def count(self, answer: FetchedBody) -> None:
        """Count a response; raise SuspectBaseUrlError before answers of a wrong address or account are believed."""
        if answer.id in self.representative:
            self._answered += 1
            self._refused += answer.code in _REFUSALS
            if self._refused == self._answered >= max(_FEWEST_REFUSED, min(_REFUSED, len(self.representative))):
                why = f"all of {self._refused:,} requested {self._kind} are refused, because {answer.message}"
                raise SuspectBaseUrlError(f"{why}; check [partner] base_url and what the credentials may read")
        if answer.code:
            return
        if answer.id in self._known:
            if self._not_found.trips(not_found=answer.status == _NOT_FOUND):
                raise SuspectBaseUrlError(self._not_found.sentence(f"known {self._kind}", "[partner] base_url"))
        elif answer.id in self.representative:
            self._not_found_new.trips(not_found=answer.status == _NOT_FOUND)

    def is_exceeded(self, outcome: Outcome, refusals: Iterable[Refusal]) -> bool:
        """Count the results of a load; tell whether too many of them are bad."""
        rejected = {refusal.id: refusal.reason for refusal in refusals}
        bad = [(answer.id, "failed", answer.message) for answer in outcome.failed]
        bad += [(id_, "were rejected", f"of {rejected[id_]}") for id_ in outcome.fetched if id_ in rejected]
        bad += [(id_, "are not found", "the service answers 404") for id_ in outcome.not_found]
        bad = [each for each in bad if each[0] in self.representative]
        for _, how, why in bad:
            self._bad[how][why] += 1
        answered = sum(id_ in self.representative for id_ in outcome.ids())
        self._landed += answered
        return is_above(self._max_bad_rate, len(bad), answered)

    def sentences(self) -> list[str]:
        """Say why the kind is not up to date: too many bad answers, in all loads and in runs before."""
        said = []
        if self._not_found_new.is_exceeded:
            of = f"requested {self._kind} that were never held"
            said.append(self._not_found_new.sentence(of, "the ids and [partner] base_url"))
        bad, answered = sum(reasons.total() for reasons in self._bad.values()), self._landed
        if not is_above(self._max_bad_rate, bad + self._before, answered + self._before):
            return said
        if self._before:
            what = f"{self._before:,} {self._kind} failed, were rejected or not found before and wait"
            said.append(f"{what}: correct the cause, then run `ordermart retry`")
        if bad and not (said and bad == self._bad["are not found"].total()):
            how = " or ".join(how for how, reasons in self._bad.items() if reasons)
            why, count = sum(self._bad.values(), Counter()).most_common(1)[0]
            rate = f"{bad:,} of {answered:,} requested {self._kind} {how}"
            said.append(f"{rate}, {count:,} of them because {why}; more than [planner] max_failed_rate")
        return said


def answer_of(end: Fetched) -> FetchedBody:
    """Return the end of requests for an id as the spool keeps it."""
    cost = (round(end.ms), end.bytes, end.attempts, end.earlier)
    return FetchedBody(end.id, end.fetched_at, end.status, end.body, end.code, end.message, *cost, end.age)


def listed_id(record: bytes, settings: Settings) -> int | None:
    """Return the id of a listed store; None where there is no usable one."""
    try:
        found = get_all(msgspec.json.decode(record), settings.partner.store.id_pointer)
    except (ValueError, RecursionError):
        return None
    return found[0] if len(found) == 1 and type(found[0]) is int and found[0] in IDS else None


def menu_ids_of(body: bytes, settings: Settings) -> Iterator[int]:
    """Yield the menus that a store record names."""
    try:
        record = msgspec.json.decode(body)
    except (ValueError, RecursionError):  # no JSON, no UTF-8, a number out of range: validation reports it
        return
    for pointer in settings.partner.store.menu_id_pointers:
        yield from (value for value in get_all(record, pointer) if type(value) is int and value in IDS)


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}", re.ASCII)  # names of members that are shown
_CURRENCY = re.compile(r"[A-Za-z]{3}", re.ASCII)
_SHOWN = 3
_LOOKED_AT = 50  # records in which other places are looked for
_MEMBERS = 200  # of a record, whose names are looked at


class StoreRecords:
    """Counts over the records of a run where values, never shown, are found; an explicit "" or [] silences a check."""

    def __init__(self, settings: Settings) -> None:
        store, codes = settings.partner.store, settings.finance.currency_codes
        self._menus = store.menu_id_pointers
        self._fields: dict[str, tuple[str, Callable[[object], bool]]] = {
            "name_pointer": (store.name_pointer, lambda value: isinstance(value, str) and bool(value.strip())),
            "timezone_pointer": (store.timezone_pointer, lambda value: isinstance(value, str) and is_zone(value)),
            "currency_pointer": (
                store.currency_pointer,
                lambda value: (
                    isinstance(value, str) and bool(value in codes or _CURRENCY.fullmatch(value.strip().upper()))
                ),
            ),
        }
        self.count = 0
        self._found: Counter[str] = Counter()
        self._instead: dict[str, Counter[str]] = {name: Counter() for name in (*self._fields, "menu_id_pointers")}

    def add(self, body: bytes) -> None:
        """Count one record; bytes that are no object count for nothing, since validation rejects them."""
        try:
            record = msgspec.json.decode(body)
        except UNREADABLE:
            return
        if not isinstance(record, dict):
            return
        self.count += 1
        # null and an empty list are a true "no menus"; only an absent member is doubtful.
        members = (pointer.partition("/*")[0].partition("/{key}")[0] for pointer in self._menus)  # that hold the menus
        self._found["menu_id_pointers"] += any(get_all(record, member) for member in members)
        for name, (pointer, is_usable) in self._fields.items():
            self._found[name] += any(is_usable(value) for value in get_all(record, pointer))
        for place, value in islice(_members(record), _MEMBERS if self.count <= _LOOKED_AT else 0):
            if "menu" in place.lower():
                self._instead["menu_id_pointers"][place] += 1
            for name, (_, is_usable) in self._fields.items():
                if is_usable(value) and (name != "name_pointer" or place.lower().endswith(("name", "title"))):
                    self._instead[name][place] += 1

    def of_stores(self) -> list[str]:
        """Return what no record has of name, time zone and currency."""
        kinds = {"name_pointer": "name", "timezone_pointer": "IANA time zone", "currency_pointer": "ISO 4217 currency"}
        return [
            f"no store record has a usable {kinds[name]} at {pointer}{self._records_have(name)}: "
            f'correct [partner.store] {name}, or set it to "" if records have none'
            for name, (pointer, _) in self._fields.items()
            if pointer and self._is_missing(name)
        ]

    def of_menus(self) -> list[str]:
        """Return a complaint if no record has a menu pointer at all."""
        if not self._menus or not self._is_missing("menu_id_pointers"):
            return []
        places = ", ".join(self._menus)
        have = self._records_have("menu_id_pointers")
        fix = "correct [partner.store] menu_id_pointers, or set it to [] if stores have no menus"
        return [f"no store record has a value at {places}{have}: {fix}"]

    def _is_missing(self, name: str) -> bool:
        return self.count > 0 and not self._found[name]

    def _records_have(self, name: str) -> str:
        places = [place for place, _ in self._instead[name].most_common(_SHOWN)]
        return f"; records have {', '.join(places)}" if places else ""


def _members(value: dict[str, Any], of: str = "") -> Iterator[tuple[str, Any]]:
    """Yield pointer and value of members of the record, and of objects in it."""
    for name, inner in value.items():
        if _PLAIN.fullmatch(name):
            yield f"{of}/{name}", inner
            if isinstance(inner, dict) and not of:
                yield from _members(inner, f"/{name}")
