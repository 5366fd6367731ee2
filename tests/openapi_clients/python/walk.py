"""Performs the steps with the generated client, and prints each completed step."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from openapi_client import (
    ApiClient,
    BulkCreateSubscribersRequest,
    BulkSubscriber,
    Configuration,
    CreateCustomFieldRequest,
    CreateSubscriberRequest,
    CreateTagRequest,
    CreateWebhookRequest,
    CustomFieldsApi,
    ErrorResponse,
    EventPayload,
    SubscriberEvent,
    SubscribersApi,
    TagsApi,
    UpdateSubscriberRequest,
    WebhooksApi,
)
from openapi_client.exceptions import NotFoundException


def main() -> None:
    configuration = Configuration(
        host=os.environ["ROSTER_URL"], access_token=os.environ["ROSTER_API_KEY"]
    )
    with ApiClient(configuration) as client:
        id_ = create(client)
        read(client, id_)
        update(client, id_)
        bulk(client)
        error(client)
        events(client)
    payload()


def create(client: ApiClient) -> str:
    CustomFieldsApi(client).create_custom_field(CreateCustomFieldRequest(label="Plan"))
    request = CreateSubscriberRequest(
        email="ada@example.com",
        firstName="Ada",
        isConfirmed=True,
        tags=["vip", "news"],
        customFields={"plan": "pro"},
    )
    created = SubscribersApi(client).create_subscriber(request).subscriber
    assert (created.status, created.tags) == ("CONFIRMED", ["news", "vip"])
    print("create")
    return created.id


def read(client: ApiClient, id_: str) -> None:
    subscribers = SubscribersApi(client)
    found = subscribers.get_subscriber(id_).subscriber
    assert found.custom_fields == {"plan": "pro"}
    assert abs(datetime.now(UTC) - found.created_at) < timedelta(days=1)
    print("get")
    page = subscribers.list_subscribers(status="CONFIRMED", limit=10)
    assert (page.total, page.limit) == (1, 10)
    assert page.subscribers == [found]
    print("list")


def update(client: ApiClient, id_: str) -> None:
    request = UpdateSubscriberRequest(lastName="Lovelace", tags=["vip"])
    changed = SubscribersApi(client).update_subscriber(id_, request).subscriber
    assert (changed.first_name, changed.last_name, changed.tags) == ("Ada", "Lovelace", ["vip"])
    print("update")


def bulk(client: ApiClient) -> None:
    rows = [BulkSubscriber(email="person@example.com"), BulkSubscriber(email="nonsense")]
    request = BulkCreateSubscribersRequest(subscribers=rows)
    (failed,) = SubscribersApi(client).bulk_create_subscribers(request).failed
    assert (failed.index, failed.email, failed.reason) == (1, "nonsense", "INVALID_EMAIL")
    print("bulk")


def error(client: ApiClient) -> None:
    response = None
    try:
        SubscribersApi(client).get_subscriber("missing@example.com")
    except NotFoundException as failure:
        response = failure.data
    assert isinstance(response, ErrorResponse)
    assert response.error.code == "SubscriberNotFound"
    assert response.error.request_id
    print("error")


def events(client: ApiClient) -> None:
    webhooks = WebhooksApi(client)
    webhooks.create_webhook(CreateWebhookRequest(url="http://127.0.0.1:9/", enabled=False))
    TagsApi(client).create_tag(CreateTagRequest(name="spring"))
    (event,) = webhooks.list_events(after_sequence=0, event_type="tag.*").events
    assert (event.type, event.sequence) == ("tag.created", 1)
    assert isinstance(event.sequence, int)
    assert event.data["tag"]["name"] == "spring"
    print("events")


def payload() -> None:
    event = EventPayload.from_json(os.environ["ROSTER_EVENT"]).actual_instance
    assert isinstance(event, SubscriberEvent)
    assert (event.type, event.data.subscriber.last_name) == ("subscriber.updated", "Lovelace")
    assert event.previous == {"lastName": "", "customFields": None}
    print("payload")


main()
