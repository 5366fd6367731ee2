"""Bindings of streaming rpcs."""

from __future__ import annotations

import pytest
from google.api.http_pb2 import HttpRule as Rule

from rosterd.http_gateway.routing.bindings import UNARY, InvalidBinding, bindings_of
from rosterd.http_gateway.routing.routes import Routes
from rosterd.http_gateway.routing.stream_fields import MAX_RECORDS
from rosterd.server.serving.gateway_policy import POLICY

from ...cases import each
from ..stream_service import LINE, MESSAGES, METHODS, service_of


def test_streaming_rpcs_are_bound_by_their_options() -> None:
    bound = {
        binding.rpc.rpartition("/")[2]: (
            binding.channel_method,
            binding.request_records,
            binding.response_records,
        )
        for binding in bindings_of(service_of(), POLICY.annotations)
        if binding.channel_method != UNARY
    }

    assert {name: kind for name, (kind, _, _) in bound.items()} == {
        "Exchange": "stream_stream",
        "ExchangeStrict": "stream_stream",
        "Collect": "stream_unary",
        "List": "unary_stream",
        "Tail": "unary_stream",
        "Upload": "stream_unary",
    }
    for name, (_, requests, replies) in bound.items():
        request, reply, rule = METHODS[name]
        # With body "*", each message is a record, so there is no records field.
        assert (requests.name if requests else "") == rule.body.removeprefix("*")
        assert (replies.name if replies else "") == rule.response_body
        assert (requests.csv_field if requests else None) == (
            "lines" if request == "*ItemsRequest" else None
        )
        assert (replies.csv_field if replies else None) == (
            "lines" if reply == "*NotesReply" else None
        )


@each(
    ("items", "lines", "expected"),
    [("", "", MAX_RECORDS), ("<=7", "", 7), ("<=70", "<=7", 7), ("<=9000", "<=8000", MAX_RECORDS)],
)
def test_message_contains_at_most_max_items_records(items: str, lines: str, expected: int) -> None:
    items_request = {"items": f"*.example.Item{items}", "lines": f"*{LINE}{lines}"}
    rule = Rule(post="/a", body="items", response_body="notes")
    service = service_of(
        {"Upload": ("*ItemsRequest", "*NotesReply", rule)},
        {**MESSAGES, "ItemsRequest": items_request},
    )

    (binding,) = bindings_of(service, POLICY.annotations)

    assert binding.request_records is not None
    assert binding.request_records.max_per_message == expected


@pytest.mark.parametrize(
    ("request_type", "reply_type", "rule"),
    [
        pytest.param("*ItemsRequest", "Total", Rule(post="/a"), id="no body of a stream"),
        pytest.param("*ItemsRequest", "Total", Rule(post="/a", body="nothing"), id="no such field"),
        pytest.param("*One", "Total", Rule(post="/a", body="item"), id="no repeated field"),
        pytest.param(
            "*ItemsRequest", "Total", Rule(get="/a", body="items"), id="GET with a stream"
        ),
        pytest.param(
            "NameRequest", "*NotesReply", Rule(get="/a", response_body="*"), id="whole response"
        ),
        pytest.param(
            "NameRequest", "*Total", Rule(get="/a", response_body="total"), id="number as response"
        ),
        pytest.param(
            "*ItemsRequest",
            "*NotesReply",
            Rule(post="/a", response_body="notes"),
            id="only one way of two",
        ),
    ],
)
def test_stream_without_a_records_field_fails_startup_and_is_named(
    request_type: str, reply_type: str, rule: Rule
) -> None:
    messages = {**MESSAGES, "One": {"item": ".example.Item", "lines": f"*{LINE}"}}
    service = service_of({"Wrong": (request_type, reply_type, rule)}, messages)

    with pytest.raises(InvalidBinding, match=r"example\.Service\.Wrong"):
        Routes([service], POLICY.annotations)


@each(
    ("reply", "rule"),
    [
        ("*NotesReply", Rule(get="/a", response_body="notes")),
        ("*NotesReply", Rule(get="/a")),
        ("NotesReply", Rule(get="/a", response_body="notes")),
    ],
)
def test_response_body_with_status_204_fails_startup(reply: str, rule: Rule) -> None:
    service = service_of({"Wrong": ("NameRequest", reply, rule)}, success_status=204)

    with pytest.raises(InvalidBinding, match=r"example\.Service\.Wrong"):
        Routes([service], POLICY.annotations)
