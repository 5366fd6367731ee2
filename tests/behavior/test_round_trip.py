"""Round trip of exports: importing an export into another account and exporting it again returns
the same bytes.
"""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import datetime

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ..conftest import Account, new_account
from ..fronts import Front, HttpFront
from ..processes import Service
from .helpers import STATUSES, create_field, create_subscriber_in
from .streams import Row, import_rows, import_table, send_export, written_table

FIELDS = {"Note": "TEXT", "No te": "TEXT", "Age": "NUMBER", "Paid": "BOOLEAN", "Born": "DATE"}
each_form = pytest.mark.parametrize("form", ["NDJSON", "CSV"])
# Ids and `updatedAt` differ between accounts. All times of the past are before 2021.
_GENERATED = re.compile(rb"\b[0-9A-HJKMNP-TV-Z]{26}\b|\b20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

# Characters that separate, quote or trim cells, formula prefixes, and others.
_SPECIAL = " '\"=+-@0.,;|[]{}<>\\ab\u00a0\u00e9\u2028\u3000\ufeff\U0001f600"
_ANY = st.characters(codec="utf-8", exclude_categories=["Cc"])
NAMES = st.text(st.sampled_from(_SPECIAL) | _ANY, max_size=10)
TAGS = (
    st.text(st.sampled_from(",;|[]\"\\'=ab ") | st.characters(categories=("L", "N")), max_size=8)
    .map(str.strip)
    .filter(bool)
)
TEXTS = st.text(st.sampled_from(f"{_SPECIAL}\t\n") | _ANY, max_size=12)
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "note": TEXTS,
        "no_te": TEXTS,
        "age": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
        "paid": st.booleans(),
        "born": st.dates().map(str) | st.just("1815-12-10T10:00:00Z"),
    },
)
TIMES = st.datetimes(datetime(1970, 1, 2), datetime(2020, 1, 1)).map(  # noqa: DTZ001 - in UTC
    lambda time: f"{time.isoformat(timespec='milliseconds')}Z"
)
PAST = {
    "createdAt": TIMES,
    "status": st.sampled_from(STATUSES),
    "statusChangedAt": TIMES,
    "confirmedAt": TIMES,
    "unsubscribedAt": TIMES,
    "consentSource": NAMES.filter(bool),
    "consentIp": st.ip_addresses().map(str),
    "consentAt": TIMES,
}
SUBSCRIBERS = st.lists(
    st.fixed_dictionaries(
        {
            "firstName": NAMES,
            "lastName": NAMES,
            "tags": st.lists(TAGS, max_size=3),
            "customFields": VALUES,
        },
        optional=PAST,
    ),
    min_size=1,
    max_size=4,
)
EXAMPLES: list[Row] = [
    {"firstName": " Ann ", "lastName": "\u2028Lee\u2028", "customFields": {"note": "\t=x"}},
    {"firstName": "=1+1", "lastName": "'=1", "customFields": {"note": "", "no_te": " "}},
    {"firstName": "'", "lastName": " ", "customFields": {"note": "'", "no_te": "\n"}},
    {"firstName": '"', "tags": ['"', "a,b", "\\", "=c"], "customFields": {"age": -1.5e-7}},
    {"tags": ["[x]", "'"], "customFields": {"note": "-5", "no_te": "+5", "age": -5}},
    {"customFields": {"note": "two\n\nlines\n", "paid": False, "age": 1e300}},
    {"status": "UNSUBSCRIBED", "createdAt": "2019-01-02T03:04:05.678Z", "consentSource": "=a, b"},
    {"status": "COMPLAINED", "unsubscribedAt": "2001-01-02T03:04:05.678Z", "consentIp": "::1"},
    {"status": "BOUNCED", "tags": ["a;b"], "consentAt": "1999-12-31T23:59:59.999Z"},
]


def fill_account(account: Account, subscribers: list[Row]) -> Account:
    """Creates all custom fields and these subscribers, and returns the account."""
    for label, data_type in FIELDS.items():
        create_field(account, label, data_type)
    if subscribers:
        rows = [{"email": f"p{n}@b.io", **row} for n, row in enumerate(subscribers)]
        failed = [result for result in import_rows(account, rows) if result["outcome"] != "CREATED"]
        assert failed == []
    return account


def export_text(account: Account, form: str) -> bytes:
    """Returns an export as text. Over gRPC, its records are converted to text."""
    if isinstance(account.front, HttpFront):
        path = f"/api/subscribers/export?format={form}&view=FULL"
        return account.front.exchange("GET", path, account.key)[2]
    records = send_export(account, format=form, view="FULL").records
    if form == "CSV":
        return written_table(records).encode()
    return "".join(f"{json.dumps(record)}\n" for record in records).encode()


def import_text(account: Account, text: bytes, form: str) -> list[Row]:
    """Imports an export. Over gRPC, fields that the messages do not have are removed."""
    if form == "CSV":
        return import_table(account, text.decode())
    rows = [json.loads(line) for line in text.splitlines()]
    if not isinstance(account.front, HttpFront):
        output_only = ("id", "updatedAt")
        rows = [{key: row[key] for key in row if key not in output_only} for row in rows]
    return import_rows(account, rows)


def check_copy(source: Account, target: Account, form: str) -> None:
    """Imports the export of an account into an empty one, and compares the exports of both."""
    before = export_text(source, form)

    results = import_text(target, before, form)

    assert {result["outcome"] for result in results} == {"CREATED"}, results
    check_equal(before, export_text(target, form), form)


def check_equal(before: bytes, after: bytes, form: str) -> None:
    """Compares exports of two accounts."""
    # Not in one comparison, because pytest describes the difference of large values slowly.
    for copy, original in zip(copied_fields(after, form), copied_fields(before, form), strict=True):
        assert copy == original
    is_equal = _GENERATED.sub(b"", after) == _GENERATED.sub(b"", before)
    assert is_equal


def copied_fields(text: bytes, form: str) -> list[Row]:
    """Returns the fields of an export, without those that are specific to an account."""
    if form == "CSV":
        rows = list(csv.DictReader(io.StringIO(text.decode(), newline="")))
    else:
        rows = [json.loads(line) for line in text.splitlines()]
    return [{name: row[name] for name in row if name not in ("id", "updatedAt")} for row in rows]


@given(subscribers=SUBSCRIBERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(subscribers=EXAMPLES)
def test_imported_table_without_escaped_formulas_exports_identically(
    front_and_service: tuple[Front, Service], subscribers: list[Row]
) -> None:
    front, service = front_and_service
    source, target = (fill_account(new_account(service, front), each) for each in (subscribers, []))
    table = send_export(source, format="CSV", view="FULL", escapeFormulas=False).records

    results = import_table(target, written_table(table))

    assert {result["outcome"] for result in results} == {"CREATED"}, results
    check_equal(export_text(source, "CSV"), export_text(target, "CSV"), "CSV")


@each_form
@given(subscribers=SUBSCRIBERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(subscribers=EXAMPLES)
def test_export_of_one_database_is_imported_into_another(
    service: Service, service_on_postgres: Service, form: str, subscribers: list[Row]
) -> None:
    front = HttpFront("http", service.http)
    source = fill_account(new_account(service, front), subscribers)
    # The times of these are set by the service.
    for status in STATUSES:
        create_subscriber_in(source, status, f"{status}@b.io")
    other = HttpFront("http", service_on_postgres.http)
    target = fill_account(new_account(service_on_postgres, other), [])

    check_copy(source, target, form)
    check_copy(target, fill_account(new_account(service, front), []), form)
