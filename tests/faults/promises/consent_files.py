"""Generates files of other services with defects, and bounds of the statuses that they may give.

A file is not modelled exactly. Each row has facts, of which the strictest and the most mailable
status follow that a subscriber may get from it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from .consent_model import CONFIRMED, LEVELS, STATUSES, STRICTNESS, UNCONFIRMED, State

UNSUBSCRIBED, BOUNCED, COMPLAINED = "UNSUBSCRIBED", "BOUNCED", "COMPLAINED"
LONG = "x" * 101
# The date of an opt-out that cannot be read, which no other date follows.
NEVER_ENDS = 10_000


@dataclass
class Facts:
    """What a row states about consent. Dates are numbers of days; a word is its status."""

    address: str
    word: str | None = None
    opt_outs: list[str] = field(default_factory=list)
    dates: dict[str, int] = field(default_factory=dict)
    allows_mail: bool = False
    # Whether it says that the person has not confirmed.
    denies_mail: bool = False
    # Whether its cells can be in wrong columns. Then the row need not be stored.
    is_misaligned: bool = False


class Bound(NamedTuple):
    """The least strictness that a row must give, and the highest level that it may give."""

    strictness: int
    level: int


class Provider(NamedTuple):
    """A header: kinds of columns by name. `default` is the status of rows without a word."""

    columns: Mapping[str, str]
    words: Mapping[str, str] = {}
    default: str | None = None
    is_own_export: bool = False


_WORDS = {"active": CONFIRMED, "Unsubscribed": UNSUBSCRIBED, "bounced": BOUNCED}
_MAILCHIMP = {"MEMBER_RATING": "", "OPTIN_TIME": "createdAt", "LEID": "", "EUID": ""}
PROVIDERS = (
    Provider({"Email Address": "email", "CONFIRM_TIME": "confirmedAt"} | _MAILCHIMP, {}, CONFIRMED),
    Provider({"E-Mail-Adresse": "email", "UNSUB_TIME": ""} | _MAILCHIMP, {}, UNSUBSCRIBED),
    Provider({"Adresse email": "email", "CLEAN_TIME": ""} | _MAILCHIMP, {}, BOUNCED),
    Provider(
        {"Email Address": "email", "First Name": "firstName", "State": "status"}
        | {"created_at": "createdAt", "cancelled_at": "unsubscribedAt"},
        _WORDS | {"Cancelled": UNSUBSCRIBED, "inactive": UNCONFIRMED, "complained": COMPLAINED},
    ),
    Provider(
        {"email": "email", "status": "status", "subscription_tier": ""}
        | {"created_at": "createdAt", "unsubscribed_at": "unsubscribedAt"},
        _WORDS | {"pending": UNCONFIRMED, "inactive": UNSUBSCRIBED, "invalid": BOUNCED},
    ),
    Provider(
        {"id": "", "email": "email", "name": "firstName", "subscribed_to_emails": "optedIn"}
        | {"created_at": "createdAt", "labels": "tags", "deleted_at": "unsubscribedMark"}
    ),
    Provider({"email": "email", "email_disabled": "optedOut"}, {}, CONFIRMED),
    Provider({"EMAIL": "email", "VORNAME": "firstName", "BLOCKLISTED": "optedOut"}, {}, CONFIRMED),
    Provider(
        {"Email": "email", "Unsubscribed from all email": "optedOut"}
        | {"Email hard bounce reason": "bouncedMark", "Create Date": "createdAt"},
    ),
    Provider(
        {"Contact ID": "", "Email": "email", "Status": "status", "Date Subscribed": "createdAt"}
        | {"Date Unsubscribed": "unsubscribedAt"},
        {"0": UNCONFIRMED, "1": CONFIRMED, "2": UNSUBSCRIBED, "3": BOUNCED},
    ),
    Provider(
        {"id": "", "email": "email", "firstName": "firstName", "lastName": "", "status": "status"}
        | {"tags": "tags", "createdAt": "createdAt", "unsubscribedAt": "unsubscribedAt"},
        {status: status for status in STATUSES},
        is_own_export=True,
    ),
)
# Words of a file without a provider, some of them only by the option statusMap.
_OTHER_WORDS = _WORDS | {
    "OK": CONFIRMED,
    "weg": UNSUBSCRIBED,
    "spam complaint": COMPLAINED,
    "hard_bounce": BOUNCED,
    "pending": UNCONFIRMED,
    **{status: status for status in STATUSES},
}
_OPTIONS: Mapping[str, Any] = {"statusMap": ["ok=CONFIRMED", "Weg=UNSUBSCRIBED"]}
# Columns of a file without a provider, one of the names for each kind.
_COLUMNS = {
    "firstName": ("firstName", "First Name"),
    "status": ("status", "Status"),
    "unsubscribedAt": ("unsubscribedAt", "unsubscribed_at", "UNSUBSCRIBED AT"),
    "confirmedAt": ("confirmedAt", "confirmed-at"),
    "createdAt": ("createdAt", "created_at"),
    "statusChangedAt": ("statusChangedAt",),
    "isConfirmed": ("isConfirmed", "is confirmed"),
    "tags": ("tags",),
    "optedIn": ("newsletter",),
    "optedOut": ("no mail",),
    "": ("plan", "shoe size"),
    # Not mapped to a field: only words for opt-outs count, and fewer if there is a custom field.
    "state": ("State", "Type"),
}
_STATES = {"Bounced": BOUNCED, "deleted": UNSUBSCRIBED, "Unsubscribed": UNSUBSCRIBED}
_MAPPED = {"optedIn": "newsletter=optedIn", "optedOut": "no mail=optedOut"}
_JSON_KINDS = [kind for kind in _COLUMNS if kind not in ("", "state", "optedIn", "optedOut")]


class Line(NamedTuple):
    """The cells of a line. A malformed one has a quote that is followed by text or not closed."""

    cells: Sequence[str]
    is_malformed: bool = False


class File(NamedTuple):
    """A file of lines or JSON objects, its options, and the facts of its rows."""

    options: Mapping[str, Any]
    facts: Sequence[Facts]
    lines: Sequence[Line] = ()
    objects: Sequence[Mapping[str, Any]] = ()
    is_own_export: bool = False

    def outcomes(self, state: State) -> Iterator[State]:
        """Yields the states that the file may leave."""
        states = [state]
        if not self.options["dryRun"]:
            for address in dict.fromkeys(facts.address for facts in self.facts):
                bounds = [self._bound(each) for each in self.facts if each.address == address]
                updates = self.options["onConflict"] == "UPDATE"
                statuses = list(allowed(state, address, bounds, updates=updates))
                states = [each.put(address, status) for each in states for status in statuses]
                # A row with a bounce can precede the one with an opt-out.
                if len(bounds) > 1:
                    states += [each.put_after_bounce(address) for each in states]
        yield from states

    def _bound(self, facts: Facts) -> Bound:
        return bound(
            facts,
            is_own_export=self.is_own_export,
            is_confirmed=self.options["isConfirmed"],
        )


def bound(facts: Facts, *, is_own_export: bool = False, is_confirmed: bool = False) -> Bound:
    """Returns the bound of a row: an opt-out wins over its other cells.

    If the people of the import have confirmed, so has a person whose row does not deny it.
    """
    is_default = is_confirmed and not facts.denies_mail and "unsubscribedAt" not in facts.dates
    level = 2 if facts.allows_mail or is_default else 1
    level = LEVELS.get(facts.word, 0) if facts.word else level
    dates, opt_outs = facts.dates, [*facts.opt_outs]
    if facts.word in STRICTNESS:
        opt_outs.append(facts.word)
    if "unsubscribedAt" in dates and not (is_own_export and facts.word):
        later = [dates.get("confirmedAt", 0)]
        if facts.word in LEVELS:
            later.append(dates.get("statusChangedAt", 0))
        if max(later) <= dates["unsubscribedAt"]:
            opt_outs.append(UNSUBSCRIBED)
    strictness = max((STRICTNESS[each] for each in opt_outs), default=0)
    return Bound(0 if facts.is_misaligned else strictness, 0 if strictness else level)


def allowed(
    state: State, address: str, bounds: Iterable[Bound], *, updates: bool
) -> Iterator[str | None]:
    """Yields the statuses that rows may give to an address. None is no subscriber."""
    before, bounds = state.status(address), list(bounds)
    least = max(each.strictness for each in bounds)
    if before is None:
        if address in state.suppressed or not least:
            yield None
        if address not in state.suppressed:
            most = max(each.level for each in bounds)
            for status in STATUSES:
                if STRICTNESS[status] >= least and LEVELS.get(status, 0) <= most:
                    yield status
        return
    if not updates or STRICTNESS[before] >= least:
        yield before
    if updates:
        for status in STATUSES:
            if STRICTNESS[status] > STRICTNESS[before] and STRICTNESS[status] >= least:
                yield status


class Files:
    """Generates files with rows for addresses at random."""

    def __init__(self, rng: random.Random, address: Callable[[], str]) -> None:
        self._rng, self._address = rng, address

    def table(self, options: Mapping[str, Any], spelled: Callable[[str], str]) -> File:
        provider = self._rng.choice([None, *PROVIDERS])
        if provider is None:
            provider, options = self._without_provider(options)
        names = [*provider.columns]
        self._rng.shuffle(names)
        if names[0] != "email" and "LEID" in names:
            # Without a known name, the address is in the first column.
            names.sort(key=lambda name: provider.columns[name] != "email")
        lines, rows = [Line(names)], []
        for _ in range(self._rng.randint(1, 4)):
            facts = Facts(self._address())
            if provider.default in STRICTNESS and STRICTNESS[provider.default or ""]:
                facts.opt_outs.append(provider.default or "")
            facts.allows_mail = provider.default == CONFIRMED
            cells = [
                spelled(facts.address) if kind == "email" else self._cell(kind, facts, provider)
                for kind in map(provider.columns.__getitem__, names)
            ]
            # Two quotes that are not closed would be one cell of several lines.
            is_malformed = self._rng.random() < 0.1 and not any(line[1] for line in lines)
            if self._rng.random() < 0.1:
                facts.is_misaligned = True
                index = self._rng.randrange(len(cells))
                cells[index : index + 1] = self._rng.choice(
                    [[], [cells[index], "", ""], ["x", "y"]]
                )
            facts.is_misaligned = facts.is_misaligned or is_malformed
            lines.append(Line(cells, is_malformed))
            rows.append(facts)
        return File(options, rows, lines, is_own_export=provider.is_own_export)

    def json_lines(self, options: Mapping[str, Any], spelled: Callable[[str], str]) -> File:
        provider = Provider({}, _OTHER_WORDS)
        objects, rows = [], []
        for _ in range(self._rng.randint(1, 4)):
            facts = Facts(self._address())
            kinds = self._rng.sample(_JSON_KINDS, self._rng.randint(0, len(_JSON_KINDS)))
            cells = {kind: self._cell(kind, facts, provider) for kind in kinds}
            row: dict[str, Any] = {kind: text for kind, text in cells.items() if text}
            if "tags" in row:
                row["tags"] = [row["tags"]]
            if self._rng.random() < 0.1:
                row |= self._rng.choice(
                    [{"customFields": {"unknown": 1}}, {"firstName": 5}, {"unknown": True}]
                )
            items = [*row.items(), ("email", spelled(facts.address))]
            self._rng.shuffle(items)
            objects.append(dict(items))
            rows.append(facts)
        return File({**options, **_OPTIONS}, rows, objects=objects)

    def _without_provider(self, options: Mapping[str, Any]) -> tuple[Provider, Mapping[str, Any]]:
        kinds = self._rng.sample([*_COLUMNS], self._rng.randint(0, len(_COLUMNS)))
        action = self._rng.choice(["FAIL", "IGNORE", "IGNORE", "CREATE_FIELDS"])
        if action == "CREATE_FIELDS" and "state" in kinds:
            kinds.remove("state")
        columns = {self._rng.choice(_COLUMNS[kind]): kind for kind in kinds}
        mapped = [_MAPPED[kind] for kind in kinds if kind in _MAPPED]
        options = {**options, **_OPTIONS, "columnMap": mapped, "unknownColumns": action}
        return Provider({"email": "email", **columns}, _OTHER_WORDS), options

    def _cell(self, kind: str, facts: Facts, provider: Provider) -> str:
        """Returns a cell of a column, and adds what it states to the facts."""
        if self._rng.random() < 0.2:
            return ""
        if kind == "status":
            word = self._rng.choice([*provider.words, *provider.words, "mystery"])
            facts.word = provider.words.get(word)
            return self._rng.choice([word, word.upper(), f" {word}"])
        if kind == "state":
            cell = self._rng.choice(["CA", "active", *_STATES])
            if cell in _STATES:
                facts.opt_outs.append(_STATES[cell])
            return cell
        if kind in ("optedIn", "optedOut", "isConfirmed"):
            return self._flag(kind, facts)
        if kind.endswith("Mark"):
            cell = self._rng.choice(["", "", "0", "2023-05-06", "MAILBOX_FULL"])
            if cell not in ("", "0"):
                facts.opt_outs.append(kind.removesuffix("Mark").upper())
            return cell
        if kind.endswith("At"):
            return self._date(kind, facts)
        if kind == "tags":
            return self._rng.choice(["vip", "vip", LONG])
        return self._rng.choice(["Ada", "Ada", LONG])

    def _flag(self, kind: str, facts: Facts) -> str:
        words = {"yes": True, "1": True, "TRUE": True, "no": False, "0": False, "False": False}
        word = self._rng.choice([*words, "hmm"])
        flag = words.get(word)
        facts.denies_mail = facts.denies_mail or (kind == "isConfirmed" and not flag)
        if kind == "optedOut" and flag is not False:
            facts.opt_outs.append(UNSUBSCRIBED)
        if kind == "optedIn" and flag is False:
            facts.opt_outs.append(UNSUBSCRIBED)
        if kind != "optedOut" and flag:
            facts.allows_mail = True
        return word

    def _date(self, kind: str, facts: Facts) -> str:
        unreadable = ["31/31/2020", "soon"]
        text = self._rng.choice(["0000-00-00", "0000-00-00 00:00:00", *unreadable, *[""] * 12])
        if text:
            # The date of an opt-out that cannot be read is one too.
            if kind == "unsubscribedAt" and text in unreadable:
                facts.dates[kind] = NEVER_ENDS
            return text
        facts.dates[kind] = day = self._rng.randint(1, 1_000)
        time = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=day)
        return self._rng.choice(
            [
                f"{time:%Y-%m-%d}",
                f"{time:%Y-%m-%d %H:%M:%S}",
                time.isoformat(),
                f"{time:%Y-%m-%dT%H:%M:%SZ}",
                f"{time.timestamp():.0f}",
                f"{time.timestamp():.0f}000",
                f"{time:%B %d, %Y}",
            ]
        )
