"""The responses of subscribers, as JSON and as messages."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from roster.v1 import subscribers_pb2 as pb
from rosterd.http_gateway.codec.transcode import writer
from rosterd.server.features.subscribers.fields import Status, SubscriberRow
from rosterd.server.features.subscribers.messages import (
    SubscriberResponse,
    SubscribersResponse,
)
from rosterd.server.features.subscribers.query.request import selected_fields
from rosterd.server.rpc.messages import JsonResponse
from rosterd.server.serving.gateway_policy import ANNOTATIONS

TIMES = st.integers(min_value=-62_135_596_800_000, max_value=253_402_300_799_999)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.one_of(TEXTS, st.booleans(), st.floats(allow_nan=False, allow_infinity=False))
ROWS = st.builds(
    SubscriberRow,
    id=TEXTS,
    email=TEXTS,
    email_key=TEXTS,
    first_name=TEXTS,
    last_name=TEXTS,
    status=st.sampled_from([int(status) for status in Status]),
    revision=TIMES.map(lambda time: time * 1000),
    status_changed_at=st.none() | TIMES,
    confirmed_at=st.none() | TIMES,
    unsubscribed_at=st.none() | TIMES,
    consent_source=st.none() | TEXTS,
    consent_ip=st.none() | TEXTS,
    consent_at=st.none() | TIMES,
    tags=st.lists(TEXTS, max_size=3).map(tuple),
    created_at=TIMES,
    values=st.dictionaries(TEXTS, VALUES, max_size=3),
)
VIEWS = st.sampled_from([pb.Subscriber.BASIC, pb.Subscriber.FULL])


def written(response: JsonResponse) -> tuple[bytes, bytes]:
    """Returns the JSON of a response, and that of its message."""
    message: Any = response.to_message()
    return orjson.dumps(response.to_json()), orjson.dumps(
        writer(message.DESCRIPTOR, annotations=ANNOTATIONS)(message)
    )


@given(row=ROWS, view=VIEWS)
def test_a_subscriber_has_the_json_of_its_message(row: SubscriberRow, view: Any) -> None:
    selected = selected_fields(pb.GetSubscriberRequest(view=view))
    ours, expected = written(SubscriberResponse(pb.GetSubscriberResponse, row, selected))
    assert ours == expected


@given(row=ROWS)
def test_a_new_subscriber_has_the_json_of_its_message(row: SubscriberRow) -> None:
    response = SubscriberResponse(pb.CreateSubscriberResponse, row)
    ours, expected = written(response)
    assert ours == expected
    stored = pb.CreateSubscriberResponse.FromString(response.SerializeToString())
    assert stored == response.to_message()
    assert stored.etag == response.etag


@given(rows=st.lists(ROWS, max_size=3), view=VIEWS)
def test_a_page_has_the_json_of_its_message(rows: list[SubscriberRow], view: Any) -> None:
    selected = selected_fields(pb.ListSubscribersRequest(view=view))
    response = SubscribersResponse(rows, selected, total=7, number=2, limit=3, next_page_token="a")
    ours, expected = written(response)
    assert ours == expected
    assert response.to_message().next_page_token == response.next_page_token
