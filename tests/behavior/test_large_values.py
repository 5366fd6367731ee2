"""The maximum size of custom field values, and of messages that clients accept.

The gRPC front is a Python client with default settings, which accepts messages of 4 MiB.
"""

from __future__ import annotations

import pytest

from roster.v1 import subscribers_pb2 as pb
from roster.v1.rows_pb2 import Export
from rosterd.server.features.subscribers.store_attached import put_values

from ..conftest import Account
from ..fronts import GrpcFront
from .helpers import create_subscriber, emails, record_events, stored
from .large_values import (
    KEYS,
    MAX_BYTES,
    UNUSED_KEY,
    create_large_subscribers,
    rows_of_size,
    values,
    with_fields,
)
from .streams import Row, export, export_table, import_rows, import_table, written_table

TOO_LONG = [("customFields", "TOO_LONG")]


def store_directly(account: Account, ids: list[str], text: str = "x" * 1_000) -> None:
    """Stores values above the maximum size, which earlier versions accepted."""
    with account.service.unit_of_work() as tx:
        put_values(account.id, [(item, dict.fromkeys(KEYS, text)) for item in ids], tx)


def test_values_up_to_the_maximum_size_are_stored_and_one_byte_more_is_rejected(
    account: Account,
) -> None:
    with_fields(account)

    created = create_subscriber(account, "a@b.io", customFields=values())
    error = account.fails(
        "ValidationError",
        "CreateSubscriber",
        email="c@b.io",
        customFields=values(MAX_BYTES + 1),
    )

    assert stored(account, created)["customFields"] == values()
    assert (error.status, error.violations) == (400, TOO_LONG)
    assert emails(account) == ["a@b.io"]


def test_maximum_size_applies_to_all_values_after_an_update(account: Account) -> None:
    with_fields(account)
    created = create_subscriber(account, "a@b.io", customFields=values(MAX_BYTES - 100))
    more = {UNUSED_KEY: "y" * 400}

    error = account.fails(
        "ValidationError", "UpdateSubscriber", id=created["id"], firstName="A", customFields=more
    )
    assert error.violations == TOO_LONG
    assert stored(account, created) == created

    account.ok("UpdateSubscriber", id=created["id"], customFields={**more, KEYS[0]: None})
    assert stored(account, created)["customFields"][UNUSED_KEY] == "y" * 400


@pytest.mark.parametrize("form", ["rows", "table"])
def test_import_row_above_the_maximum_size_fails_without_affecting_others(
    account: Account, form: str
) -> None:
    with_fields(account)
    create_subscriber(account, "d@b.io", customFields={UNUSED_KEY: "z" * 500})
    sent: list[Row] = [
        {"email": "a@b.io", "customFields": values(MAX_BYTES + 1)},
        {"email": "c@b.io", "customFields": values()},
        # Too large together with the stored values.
        {"email": "d@b.io", "customFields": values(MAX_BYTES - 100)},
    ]

    if form == "rows":
        results = import_rows(account, sent, onConflict="UPDATE")
    else:
        cells = [
            [row["email"], *(row["customFields"].get(key, "") for key in (*KEYS, UNUSED_KEY))]
            for row in sent
        ]
        table = written_table([["email", *KEYS, UNUSED_KEY], *cells])
        results = import_table(account, table, onConflict="UPDATE")

    assert [(result.get("reason"), result.get("field")) for result in results] == [
        ("INVALID_CUSTOM_FIELD", "customFields"),
        (None, None),
        ("INVALID_CUSTOM_FIELD", "customFields"),
    ]
    assert emails(account) == ["d@b.io", "c@b.io"]


def test_oversized_stored_values_are_readable_and_can_only_shrink(account: Account) -> None:
    with_fields(account)
    created = create_subscriber(account, "a@b.io")
    store_directly(account, [created["id"]])
    above = dict.fromkeys(KEYS, "x" * 1_000)

    assert stored(account, created)["customFields"] == above
    assert account.ok("ListSubscribers")["subscribers"][0]["customFields"] == above
    assert export(account)[0]["customFields"] == above
    assert account.ok("UpdateSubscriber", id=created["id"], firstName="Ada")

    error = account.fails(
        "ValidationError",
        "UpdateSubscriber",
        id=created["id"],
        customFields={KEYS[0]: "€" * 1_000},
    )
    assert error.violations == TOO_LONG
    account.ok("UpdateSubscriber", id=created["id"], customFields={KEYS[0]: "x" * 999})


def test_page_and_export_of_maximum_size_subscribers_fit_default_clients(
    account: Account,
) -> None:
    sent = create_large_subscribers(with_fields(account))

    page = account.ok("ListSubscribers", limit=100)

    assert [row["email"] for row in page["subscribers"]] == sent
    assert {len(row["customFields"]) for row in page["subscribers"]} == {len(values())}
    assert [row["email"] for row in export(account)] == sent
    assert [line[1] for line in export_table(account)[1:]] == sent


def test_page_above_the_message_limit_is_rejected_and_a_smaller_one_returned(
    account: Account,
) -> None:
    with_fields(account)
    account.ok(
        "BulkCreateSubscribers", subscribers=[{"email": f"p{number}@b.io"} for number in range(45)]
    )
    ids = [row["id"] for row in account.ok("ListSubscribers", limit=100)["subscribers"]]
    store_directly(account, ids, "€" * 1_000)  # 45 times 99 KB

    error = account.fails("ValidationError", "ListSubscribers", limit=100)

    assert (error.status, error.violations) == (400, [("limit", "OUT_OF_RANGE")])
    assert len(account.ok("ListSubscribers", limit=40)["subscribers"]) == 40
    assert len(account.ok("ListSubscribers", limit=40, page=2)["subscribers"]) == 5
    assert [row["id"] for row in export(account)] == ids
    assert [line[0] for line in export_table(account)[1:]] == ids


def test_export_of_large_subscribers_in_several_reads_is_complete(account: Account) -> None:
    # The first read is of more than one message, so the others are of fewer subscribers.
    with_fields(account)
    sent = rows_of_size(700, 6_000)
    for first in range(0, len(sent), 100):
        account.ok("BulkCreateSubscribers", subscribers=sent[first : first + 100])

    assert [row["email"] for row in export(account)] == [row["email"] for row in sent]


def test_event_page_above_the_message_limit_is_rejected(account: Account) -> None:
    with_fields(account)
    record_events(account)
    created = create_subscriber(account, "a@b.io", customFields=values())
    for number in range(70):  # each event has the values before and after
        changed = values(letter="ab"[number % 2])
        account.ok("UpdateSubscriber", id=created["id"], customFields=changed)

    error = account.fails("ValidationError", "ListEvents", limit=100)

    assert error.violations == [("limit", "OUT_OF_RANGE")]
    assert len(account.ok("ListEvents", limit=20)["events"]) == 20


def test_export_messages_have_at_most_one_mebibyte(grpc_account: Account) -> None:
    create_large_subscribers(with_fields(grpc_account))
    assert isinstance(grpc_account.front, GrpcFront)
    call = grpc_account.front.channel.unary_stream(
        "/roster.v1.SubscriberService/ExportSubscribers",
        request_serializer=pb.ExportSubscribersRequest.SerializeToString,
        response_deserializer=pb.ExportSubscribersResponse.FromString,
    )
    for format_ in (Export.NDJSON, Export.CSV):
        request = pb.ExportSubscribersRequest(format=format_)
        metadata = (("authorization", f"Bearer {grpc_account.key}"),)

        sizes = [reply.ByteSize() for reply in call(request, metadata=metadata, timeout=20)]

        assert max(sizes) <= 1024 * 1024
        assert len(sizes) <= 6
