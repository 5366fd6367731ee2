"""A row that states an opt-out is never mailable, for any other cells."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from rosterd.server.features.custom_fields.store import ColumnField
from rosterd.server.features.imports.columns import ColumnOptions, UnknownColumns
from rosterd.server.features.imports.evidence import stated_status
from rosterd.server.features.imports.header import Header
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.rules import ConsentRecord, NewSubscriber, validate_rows

NOW = 1_900_000_000_000
STRICTNESS = {"UNCONFIRMED": 0, "CONFIRMED": 0, "BOUNCED": 1, "UNSUBSCRIBED": 2, "COMPLAINED": 3}
statuses = st.none() | st.sampled_from(Status)
DAY = 24 * 3600 * 1000
times = st.none() | st.sampled_from([0, 1, 2, DAY - 1, DAY, DAY + 1])


@given(statuses, statuses, times, times, times, st.booleans(), st.booleans())
@example(None, Status.COMPLAINED, 1, None, None, False, False)
@example(Status.BOUNCED, None, 1, None, 2, False, True)
def test_strictest_statement_about_consent_holds(
    status: Status | None,
    opt_out: Status | None,
    unsubscribed: int | None,
    confirmed: int | None,
    changed: int | None,
    is_own_export: bool,
    dates_status: bool,
) -> None:
    record = ConsentRecord(
        unsubscribed_at=unsubscribed, confirmed_at=confirmed, status_changed_at=changed
    )

    stated = stated_status(
        status, opt_out, record, is_own_export=is_own_export, dates_status=dates_status
    )

    if is_own_export and status is not None:
        assert stated is status
        return
    mailable = status is not None and STRICTNESS[status.name] == 0
    later = [confirmed, changed if dates_status and mailable else None]
    # Midnight is a date without a time, which can be any time of the day.
    is_current = unsubscribed is not None and all(
        time is None
        or time <= unsubscribed
        or (unsubscribed % DAY == 0 and time < unsubscribed + DAY)
        for time in later
    )
    statements = [each for each in (status, opt_out) if each is not None]
    statements += [Status.UNSUBSCRIBED] if is_current else []
    strictness = [STRICTNESS[each.name] for each in statements]
    if stated is None:
        assert not statements
    else:
        assert stated in statements
        assert STRICTNESS[stated.name] == max(strictness)


class Evidence(NamedTuple):
    """A column of an opt-out, and the option that maps it."""

    name: str
    cell: str
    column_map: str = ""


EVIDENCE = st.sampled_from(
    [
        Evidence("status", "Unsubscribed"),
        Evidence("STATUS", "cleaned"),
        Evidence("status", "gone"),
        Evidence("unsubscribedAt", "2023-04-05"),
        Evidence("unsubscribed_at", "05.04.2023 10:11"),
        Evidence("Unsubscribed At", "not a date"),
        Evidence("unsubscribedAt", "1680652800"),
        Evidence("Mail?", "no", "Mail?=optedIn"),
        Evidence("Stop", "TRUE", "Stop=optedOut"),
        Evidence("Stop", "hard bounce", "Stop=optedOut"),
        Evidence("Stop", "2023-04-05", "Stop=optedOut"),
    ]
)
_OTHER = {
    "firstName": st.sampled_from(["Ada", "x" * 101, "=1+1", "'"]),
    "isConfirmed": st.sampled_from(["true", "yes", "1", "maybe", ""]),
    "createdAt": st.sampled_from(["2025-01-01", "0000-00-00", "soon", "9999-01-01"]),
    "consentAt": st.sampled_from(["2025-01-01", "soon"]),
    "consentIp": st.sampled_from(["10.0.0.1", "nowhere"]),
    "tags": st.sampled_from(["a,b", "x" * 101, '["a"', ",".join(map(str, range(101)))]),
    "plan": st.sampled_from(["gold", "x" * 1_001, ""]),
    "Newsletter": st.sampled_from(["yes", "on", "hmm", ""]),
    "other": st.text(max_size=5),
}


@given(EVIDENCE, st.lists(st.sampled_from(sorted(_OTHER)), unique=True), st.data())
def test_row_with_evidence_of_an_opt_out_is_never_mailable(
    evidence: Evidence, others: list[str], data: st.DataObject
) -> None:
    cells = {"email": "a@b.io", evidence.name: evidence.cell}
    cells |= {name: data.draw(_OTHER[name]) for name in others}
    names = data.draw(st.permutations(list(cells)))
    options = ColumnOptions(
        column_map=[*filter(None, [evidence.column_map]), *_mapped(others)],
        unknown=UnknownColumns.IGNORE,
        status_map=["gone=COMPLAINED"],
    )
    header = Header(names, [ColumnField("plan", "plan", 1)], options, NOW)

    row = header.row(2, [cells[name] for name in names])
    (stored,) = validate_rows([row], of_file=True)

    assert isinstance(stored, NewSubscriber)
    assert stored.is_opt_out

    # A line with other cells is an opt-out or not stored.
    index = data.draw(st.integers(0, len(names)))
    moved = [cells[name] for name in names]
    moved[index:index] = data.draw(st.sampled_from([["x"], ["active"], ["true", "2025-01-01"]]))
    for line in (moved, moved[: len(names) - 1]):
        (stored,) = validate_rows([header.row(3, line)], of_file=True)
        assert not isinstance(stored, NewSubscriber) or stored.is_opt_out


def _mapped(names: list[str]) -> list[str]:
    return ["Newsletter=optedIn"] if "Newsletter" in names else []
