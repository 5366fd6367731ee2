"""Round trip of a large account: from SQLite to PostgreSQL and back, every field stays equal."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ..cli.transfers import counts_of, transfer, write_ndjson
from ..conftest import new_account
from ..fronts import HttpFront
from ..processes import Service
from .helpers import STATUSES
from .streams import Row
from .test_round_trip import check_copied_file, fill_account

PEOPLE, TAGS = 100_000, 300
# Characters that separate, quote, escape or trim cells, formula prefixes, and others.
_CHARACTERS = [
    *" '\"=+-@0.,;:|[]{}()<>\\/&%ab",
    *"\u00a0\u00e9\u0130\u2028\u3000\ufeff\u4e2d\U0001f600",
]
_WORDS = [
    "=1+1",
    "'=1",
    "@SUM(A1)",
    "+49 30 123",
    "-5",
    " leading",
    "trailing ",
    "a,b",
    'say "hi"',
    "NULL",
    "true",
    "007",
    "1e5",
    "2026-01-02",
    "\u05e9\u05dc\u05d5\u05dd",
    "e\u0301",
    "Zoë",
    "\U0001f468\u200d\U0001f469",
]
_LINES = ["one\ntwo", "\n", "\ttab\t", "end\n", "\n\nstart"]
_DOMAINS = ["b.io", "Example.COM", "b\u00fccher.example", "xn--bcher-kva.test", "sub.b-c.example"]
_FIRST_DAY = datetime(2009, 1, 1, tzinfo=UTC)


class People:
    """Generates rows of an import from a seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        names = [self._text(100).replace("\ufeff", "").strip() for _ in range(TAGS)]
        self._names = [name for name in names if name]

    def row(self, number: int) -> Row:
        """Returns a row. Its values are at the bounds of their lengths now and then."""
        rng = self._rng
        row: Row = {"email": self._email(number)}
        if rng.random() < 0.8:
            row |= {"firstName": self._text(100), "lastName": self._text(100)}
        if rng.random() < 0.6:
            row["tags"] = self._tags()
        if rng.random() < 0.6:
            row["customFields"] = self._values()
        if rng.random() < 0.9:
            row["status"] = rng.choice(STATUSES)
        for name in ("createdAt", "statusChangedAt", "confirmedAt", "unsubscribedAt", "consentAt"):
            if rng.random() < 0.7:
                row[name] = self._time()
        if rng.random() < 0.5:
            row["consentSource"] = self._text(200) or "form"
        if rng.random() < 0.5:
            row["consentIp"] = rng.choice(["192.0.2.7", "2001:db8::1", "::ffff:192.0.2.7"])
        return row

    def _email(self, number: int) -> str:
        name = self._rng.choice(
            [f"p{number}", f"P.{number}+News", f"m\u00fcller{number}", f"o'neil-{number}"]
        )
        return f"{name}@{self._rng.choice(_DOMAINS)}"

    def _text(self, length: int, words: list[str] = _WORDS) -> str:
        rng = self._rng
        kind = rng.random()
        if kind < 0.5:
            return rng.choice(words)
        if kind < 0.52:
            return "".join(rng.choices(_CHARACTERS, k=length))
        return "".join(rng.choices(_CHARACTERS, k=rng.randrange(12)))

    def _tags(self) -> list[str]:
        rng = self._rng
        if rng.random() < 0.001:
            return [f"tag {number}" for number in range(100)]
        return rng.choices(self._names, k=rng.randrange(4))

    def _values(self) -> Row:
        rng = self._rng
        values: dict[str, Any] = {
            "note": self._text(1_000, [*_WORDS, *_LINES]),
            "no_te": self._text(20),
            "age": rng.choice([rng.randrange(-(2**53), 2**53), rng.uniform(-1e3, 1e3), 1e300, 0]),
            "paid": rng.random() < 0.5,
            "born": rng.choice([self._time()[:10], self._time()]),
        }
        return {key: value for key, value in values.items() if rng.random() < 0.6}

    def _time(self) -> str:
        """Returns a time. A third are midnights, which many people share."""
        time = _FIRST_DAY + timedelta(days=self._rng.randrange(4_000))
        if self._rng.random() < 0.67:
            time += timedelta(milliseconds=self._rng.randrange(86_400_000))
        return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03}Z"


@pytest.mark.verify
def test_large_account_moves_to_another_database_and_back(
    service: Service, service_on_postgres: Service, tmp_path: Path
) -> None:
    people = People(seed=19)
    front = HttpFront("http", service.http)
    source, last = (fill_account(new_account(service, front), []) for _ in range(2))
    other = HttpFront("http", service_on_postgres.http)
    target = fill_account(new_account(service_on_postgres, other), [])
    rows = write_ndjson(tmp_path / "rows.ndjson", map(people.row, range(PEOPLE)))
    assert counts_of(transfer(source, "import", rows, "--json"))["created"] == PEOPLE

    check_copied_file(source, target, "NDJSON", PEOPLE)
    check_copied_file(target, last, "CSV", PEOPLE)
