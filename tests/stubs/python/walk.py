"""Performs the steps of a client that uses the stubs, and prints each completed step."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from threading import Event

import grpc
from google.protobuf.field_mask_pb2 import FieldMask

from roster import client
from roster.v1.errors_pb2 import Error
from roster.v1.rows_pb2 import Row
from roster.v1.subscribers_pb2 import (
    BulkCreateSubscribersRequest,
    BulkSubscriber,
    CreateSubscriberRequest,
    ExportSubscribersRequest,
    ImportSubscribersRequest,
    ListSubscribersRequest,
    Subscriber,
    UpdateSubscriberRequest,
)
from roster.v1.subscribers_pb2_grpc import SubscriberServiceStub
from roster.v1.tags_pb2 import CreateTagRequest, ListTagsRequest
from roster.v1.tags_pb2_grpc import TagServiceStub
from roster.v1.webhooks_pb2 import CreateWebhookRequest, ListEventsRequest
from roster.v1.webhooks_pb2_grpc import WebhookServiceStub

CREATED = "ada@example.com"
BULK = [f"person{number}@example.com" for number in range(24)]
ADDRESS = os.environ["ROSTER_GRPC_ADDRESS"]


def main() -> None:
    with client.channel(ADDRESS, os.environ["ROSTER_API_KEY"], tls=None) as channel:
        subscribers, tags = SubscriberServiceStub(channel), TagServiceStub(channel)
        authenticate(tags)
        ada = create(subscribers)
        bulk_create(subscribers)
        list_by_page_token(subscribers)
        update_with_mask(subscribers, ada)
        read_error_details(tags)
        stream_export(subscribers)
        exceed_deadline(subscribers)
        list_events(WebhookServiceStub(channel), tags)


def authenticate(tags: TagServiceStub) -> None:
    with grpc.insecure_channel(ADDRESS) as bare:
        refused = error_response(lambda: TagServiceStub(bare).ListTags(ListTagsRequest()))
    assert refused.code() is grpc.StatusCode.UNAUTHENTICATED
    assert client.error_of(refused).reason == Error.UNAUTHORIZED

    assert tags.ListTags(ListTagsRequest()).total == 0
    report("authenticate")


def create(subscribers: SubscriberServiceStub) -> Subscriber:
    request = CreateSubscriberRequest(
        email=CREATED, first_name="Ada", is_confirmed=True, tags=["vip", "early"]
    )

    ada = subscribers.CreateSubscriber(request).subscriber

    assert ada.status == Subscriber.CONFIRMED
    assert list(ada.tags) == ["early", "vip"]
    age = datetime.now(UTC) - ada.created_at.ToDatetime(UTC)
    assert abs(age) < timedelta(minutes=1)
    assert not ada.HasField("custom_fields")
    report("create")
    return ada


def bulk_create(subscribers: SubscriberServiceStub) -> None:
    rows = [BulkSubscriber(email=email) for email in [*BULK, BULK[0]]]

    response = subscribers.BulkCreateSubscribers(BulkCreateSubscribersRequest(subscribers=rows))

    (failure,) = response.failed
    assert failure.index == len(BULK)
    assert failure.reason == Row.DUPLICATE_IN_REQUEST
    report("bulk_create")


def list_by_page_token(subscribers: SubscriberServiceStub) -> None:
    pages: list[list[str]] = []
    request = ListSubscribersRequest(limit=10)
    while not pages or request.page_token:
        page = subscribers.ListSubscribers(request)
        pages.append([subscriber.email for subscriber in page.subscribers])
        request.page_token = page.next_page_token

    assert [len(page) for page in pages] == [10, 10, 5]
    assert [email for page in pages for email in page] == [CREATED, *BULK]
    report("list_by_page_token")


def update_with_mask(subscribers: SubscriberServiceStub, ada: Subscriber) -> None:
    request = UpdateSubscriberRequest(
        id=ada.id,
        first_name="not in the mask",
        last_name="Lovelace",
        update_mask=FieldMask(paths=["last_name"]),
    )

    changed = subscribers.UpdateSubscriber(request).subscriber

    ada.last_name = "Lovelace"
    assert changed == ada
    report("update_with_mask")


def read_error_details(tags: TagServiceStub) -> None:
    refused = error_response(lambda: tags.CreateTag(CreateTagRequest(name=" ")))

    assert refused.code() is grpc.StatusCode.INVALID_ARGUMENT
    error = client.error_of(refused)
    assert error.reason == Error.VALIDATION_ERROR
    faults = [(fault.field, fault.code) for fault in error.details]
    assert faults == [("name", Error.Detail.REQUIRED)]
    assert error.request_id
    report("read_error_details")


def stream_export(subscribers: SubscriberServiceStub) -> None:
    parts = subscribers.ExportSubscribers(ExportSubscribersRequest())

    assert [subscriber.email for part in parts for subscriber in part.subscribers] == [
        CREATED,
        *BULK,
    ]
    report("stream_export")


def exceed_deadline(subscribers: SubscriberServiceStub) -> None:
    """An import that sends nothing fails with DEADLINE_EXCEEDED."""
    ended = Event()
    refused = error_response(
        lambda: list(subscribers.ImportSubscribers(idle_stream(ended), timeout=0.2))
    )
    ended.set()

    assert refused.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    report("exceed_deadline")


def idle_stream(ended: Event) -> Iterator[ImportSubscribersRequest]:
    ended.wait()
    yield from ()


def list_events(webhooks: WebhookServiceStub, tags: TagServiceStub) -> None:
    request = CreateWebhookRequest(
        url="https://example.com/hooks", event_types=["tag.*"], enabled=False
    )

    created = webhooks.CreateWebhook(request)

    assert created.secret.startswith("whsec_")
    assert not created.webhook.enabled
    assert not created.webhook.HasField("failing_since")
    tags.CreateTag(CreateTagRequest(name="gold"))
    (event,) = webhooks.ListEvents(ListEventsRequest(event_type="tag.*")).events
    assert (event.type, event.sequence) == ("tag.created", 1)
    assert event.data.fields["tag"].struct_value["name"] == "gold"
    assert not event.HasField("previous")
    report("list_events")


def error_response(call: Callable[[], object]) -> grpc.RpcError:
    """Returns the error of a call that must fail."""
    try:
        response = call()
    except grpc.RpcError as error:
        return error
    raise AssertionError(f"the call returned {response}")


def report(step: str) -> None:
    print(json.dumps({"step": step}))


if __name__ == "__main__":
    main()
