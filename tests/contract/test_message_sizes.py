"""Tests that the largest unary responses fit into the 4 MiB that gRPC clients accept by default.

Each is built with the maximum number of items, and each item with texts of the maximum length, in
characters of four bytes. Responses of at most a quarter of the limit are not listed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from roster.v1 import deliveries_pb2 as deliveries
from roster.v1 import merge_tags_pb2 as merge_tags
from roster.v1 import (
    operations_pb2,
    segments_pb2,
)
from roster.v1 import subscribers_pb2 as subscribers
from roster.v1 import webhooks_pb2 as webhooks
from roster.v1.actors_pb2 import Actor
from rosterd.server.features.custom_fields.rules import MAX_FIELDS, check_size
from rosterd.server.features.merge_tags.rules import MAX_INSERTED
from rosterd.server.features.subscribers.rules import MAX_TAGS
from rosterd.server.rpc.messages import MAX_MESSAGE_BYTES, MAX_STREAMED_BYTES
from rosterd.server.rpc.paging import DEFAULT_LIMIT, MAX_LIMIT

ID, NUMBER = "evt_01M7Y2MPAQ036JVMBN3RCKGA5K", 2**31 - 1
TIMESTAMP = Timestamp(seconds=253_402_300_799, nanos=999_000_000)
TOKEN = "t" * 200


def wide(length: int) -> str:
    """Returns a text of four-byte characters."""
    return "\U0001f600" * length


def values() -> dict[str, Any]:
    """Returns values of the maximum size, as numbers, which need the most space in protobuf."""
    values: dict[str, Any] = {f"k{number:02}": 1 for number in range(MAX_FIELDS - 9)}
    for number in range(MAX_FIELDS - 9, MAX_FIELDS):
        values[f"k{number:02}"] = wide(887)
    assert not check_size(values)
    assert check_size({**values, "k00": "x" * 100})
    return values


def subscriber(tags: list[str]) -> subscribers.Subscriber:
    message = subscribers.Subscriber(
        id=ID,
        email=wide(254),
        first_name=wide(100),
        last_name=wide(100),
        status=subscribers.Subscriber.COMPLAINED,
        tags=tags,
        created_at=TIMESTAMP,
    )
    message.custom_fields.update(values())
    return message


def page_of_subscribers(count: int, tags: list[str]) -> subscribers.ListSubscribersResponse:
    return subscribers.ListSubscribersResponse(
        subscribers=[subscriber(tags)] * count,
        total=NUMBER,
        page=NUMBER,
        limit=NUMBER,
        next_page_token=TOKEN,
    )


def event() -> deliveries.Event:
    json_subscriber: dict[str, Any] = {
        "id": ID,
        "email": wide(254),
        "firstName": wide(100),
        "lastName": wide(100),
        "status": "UNSUBSCRIBED",
        "tags": [wide(100)] * MAX_TAGS,
        "createdAt": "2026-01-02T03:04:05.000Z",
        "customFields": values(),
    }
    data, previous = Struct(), Struct()
    data.update({"subscriber": json_subscriber})
    previous.update(json_subscriber)
    return deliveries.Event(
        id=ID,
        type="subscriber.unsubscribed",
        timestamp=TIMESTAMP,
        sequence=2.0**53,
        data=data,
        previous=previous,
    )


def delivery() -> deliveries.WebhookDelivery:
    return deliveries.WebhookDelivery(
        id=ID,
        webhook_id=ID,
        event_id=ID,
        event_type="subscriber.unsubscribed",
        state=deliveries.WebhookDelivery.FAILED,
        attempts=NUMBER,
        next_attempt_at=TIMESTAMP,
        operation_id=ID,
        created_at=TIMESTAMP,
        ended_at=TIMESTAMP,
    )


def history_entry() -> subscribers.SubscriberHistoryEntry:
    entry = subscribers.SubscriberHistoryEntry(
        id=ID,
        type=subscribers.SubscriberHistoryEntry.FIELDS_CHANGED,
        created_at=TIMESTAMP,
        source=subscribers.SubscriberHistoryEntry.EMAIL_CHANGED,
        actor=Actor(type=Actor.API_KEY, id=ID),
    )
    fields = {"email": wide(254), "firstName": wide(100), "lastName": wide(100)}
    for changed in (entry.before, entry.after):
        changed.update({**fields, "customFields": values()})
    return entry


def personal_data() -> subscribers.GetSubscriberPersonalDataResponse:
    """Returns a page, which ends with the first record beyond the size of streamed messages."""
    response = subscribers.GetSubscriberPersonalDataResponse(
        subscriber=subscriber([wide(100)] * MAX_TAGS), next_page_token=TOKEN
    )
    while sum(entry.ByteSize() for entry in response.history) <= MAX_STREAMED_BYTES:
        response.history.append(history_entry())
    response.events.append(event())
    return response


def rendered() -> merge_tags.RenderMergeTagsResponse:
    # An unknown key is shorter than its merge tag in the template.
    return merge_tags.RenderMergeTagsResponse(
        subject=wide(1_000), body=wide(500_000) + "x" * MAX_INSERTED
    )


def operation() -> operations_pb2.Operation:
    action = operations_pb2.Operation.Action(add_tags=[wide(100)] * MAX_TAGS)
    return operations_pb2.Operation(
        id=ID, action=action, filter=wide(4000), created_at=TIMESTAMP, ended_at=TIMESTAMP
    )


LARGEST: dict[str, Callable[[], Any]] = {
    "RenderMergeTags": rendered,
    # With 5 KiB of tags each; `check_page` rejects a larger page.
    "ListSubscribers": lambda: page_of_subscribers(MAX_LIMIT, ["x" * 51] * MAX_TAGS),
    "ListSegments": lambda: segments_pb2.ListSegmentsResponse(
        segments=[
            segments_pb2.Segment(
                id=ID,
                name=wide(100),
                filter=wide(4000),
                description=wide(500),
                created_at=TIMESTAMP,
                updated_at=TIMESTAMP,
            )
        ]
        * MAX_LIMIT
    ),
    "ListOperations": lambda: operations_pb2.ListOperationsResponse(
        operations=[operation()] * DEFAULT_LIMIT
    ),
    # The default limit; `check_page` rejects a larger page.
    "ListEvents": lambda: webhooks.ListEventsResponse(events=[event()] * DEFAULT_LIMIT),
    "ListSubscriberHistory": lambda: subscribers.ListSubscriberHistoryResponse(
        history=[history_entry()] * DEFAULT_LIMIT, next_page_token=TOKEN
    ),
    "GetSubscriberPersonalData": personal_data,
}


@pytest.mark.parametrize("rpc", LARGEST)
def test_largest_response_is_accepted_by_clients_with_default_settings(rpc: str) -> None:
    assert LARGEST[rpc]().ByteSize() <= MAX_MESSAGE_BYTES


def test_default_page_of_subscribers_with_the_longest_tags_fits() -> None:
    page = page_of_subscribers(DEFAULT_LIMIT, [wide(100)] * MAX_TAGS)

    assert page.ByteSize() <= MAX_MESSAGE_BYTES
