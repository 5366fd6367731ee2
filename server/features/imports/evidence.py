"""Decides the status that a row of an import states.

A row can state consent by a status, flags, marks and dates, which can contradict each other.
Evidence of an opt-out wins: a person who opted out must not get mail because another column of the
file was not updated.
"""

from __future__ import annotations

from ..subscribers.fields import Status
from ..subscribers.rules import OPTED_OUT, ConsentRecord, Row, strictest

DAY = 24 * 3600 * 1000


def stated_status(
    status: Status | None,
    opt_out: Status | None,
    record: ConsentRecord,
    *,
    is_own_export: bool = False,
    dates_status: bool = False,
) -> Status | None:
    """Returns the status of a row, or None if it states nothing.

    `opt_out` is the strictest status of its flags and marks. The date of an opt-out counts unless
    the row has a later time of confirmation; one without a time of day means the end of the day.
    With `dates_status`, statusChangedAt is the time of the change to the status of the row: if that
    is no opt-out, a later one outweighs the date too.
    In an export of Roster, the status counts, and the dates do not.
    """
    if is_own_export and status is not None:
        return status
    date = record.unsubscribed_at
    if date is not None:
        later = [record.confirmed_at]
        if dates_status and status is not None and status not in OPTED_OUT:
            later.append(record.status_changed_at)
        last = date + DAY - 1 if date % DAY == 0 else date
        if all(time is None or time <= last for time in later):
            opt_out = strictest(opt_out, Status.UNSUBSCRIBED)
    return strictest(status, opt_out)


def add_defaults(row: Row, *, is_confirmed: bool, consent_source: str) -> None:
    """Adds what an import states about the people whom it creates, where the row states nothing.

    A row with the date of an opt-out states something, also if a later date outweighs it. The
    status stays the initial one of a new subscriber: a stated one could change an existing
    subscriber.
    """
    record = row.consent_record
    if is_confirmed and row.is_confirmed is None and record.unsubscribed_at is None:
        row.is_confirmed = True
    if consent_source and record.consent_source is None:
        row.consent_record = record._replace(consent_source=consent_source)
