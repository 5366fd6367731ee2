"""Messages of errors that say what to send instead. They are the same over every front."""

from __future__ import annotations

from typing import Any

from rosterd.server.features.webhooks.rules import MAX_WEBHOOKS

from ..cases import each
from ..conftest import Account
from ..fronts import GrpcFront
from .helpers import create_field, create_subscriber_in, over_http, send
from .streams import IMPORT_SUPPRESSIONS, send_rows, send_table

STATUSES = "must be one of UNCONFIRMED, CONFIRMED, UNSUBSCRIBED, BOUNCED, COMPLAINED"
ANY_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def messages_of(error: Any) -> list[str]:
    """Returns the messages of an error's details."""
    return [detail["message"] for detail in error.body["error"]["details"]]


@each(
    ("rpc", "request_", "message"),
    [
        ("ListTags", {"page": -1}, "must be at least 1, or 0 for the default"),
        (
            "BatchChangeSubscribers",
            {"q": "a", "action": {"delete": True}, "expectedTotal": -1},
            "must be at least 0",
        ),
        ("ListSubscribers", {"order": "up"}, "must be one of asc, desc"),
        (
            "ListSubscribers",
            {"orderBy": "updatedAt desc", "order": "asc"},
            "must be desc, as in orderBy, or absent",
        ),
        (
            "ListOperations",
            {"type": 99},
            "must be one of SUBSCRIBERS_BATCH, WEBHOOK_REPLAY, SUBSCRIBERS_UNDO,"
            " SUBSCRIBERS_IMPORT, SUBSCRIBERS_EXPORT, IMPORT_INSPECTION",
        ),
        (
            "ListTags",
            {"pageToken": "x"},
            "must be the token of the next page from the previous response, with the same filters"
            " and order",
        ),
        (
            "DeleteTag",
            {"id": ANY_ID, "etag": "x"},
            "must be one or more entity tags in double quotes, separated by commas, or *",
        ),
        ("ListSubscribers", {"status": 9}, STATUSES),
        ("ChangeSubscriberStatus", {"id": ANY_ID, "status": 9}, STATUSES),
        (
            "CreateApiKey",
            {"name": "x", "scope": "all"},
            "must be one of read, write, admin, signup",
        ),
        (
            "CreateApiKey",
            {"name": "x", "scope": "read", "expiresAt": "2020-01-01T00:00:00Z"},
            "must be in the future",
        ),
        ("UpdateAccount", {"color": "blue"}, "must be written like #1a5fb4"),
        ("CreateCustomField", {"label": "👍"}, "must contain a letter or a digit"),
        ("BulkCreateSubscribers", {"subscribers": []}, "must contain at least one item"),
        (
            "AddSubscriberTags",
            {"id": ANY_ID, "tags": ["x"] * 101},
            "must contain at most 100 items",
        ),
        (
            "BatchChangeSubscribers",
            {"filter": "tags:x", "action": {}},
            "must have exactly one of addTags, removeTags, setCustomFields, changeStatus, delete",
        ),
        (
            "BatchChangeSubscribers",
            {"filter": "tags:x", "action": {"consentSource": "Letter"}},
            "must have exactly one of addTags, removeTags, setCustomFields, changeStatus, delete",
        ),
        (
            "BatchChangeSubscribers",
            {"filter": "tags:x", "action": {"delete": True, "consentSource": "Letter"}},
            "is accepted with changeStatus only",
        ),
        (
            "BatchChangeSubscribers",
            {"action": {"delete": True}},
            "must be set, or segmentId, q or ids",
        ),
        (
            "CreateSubscriber",
            {"email": "ada@example.com", "customFields": {"favorite_colour": "blue"}},
            "is not a custom field of the account; did you mean favorite_color?",
        ),
        # Anyone can send a sign-up, so its errors do not name the fields of the account.
        (
            "SignUp",
            {"email": "ada@example.com", "customFields": {"favorite_colour": "blue"}},
            "is not a custom field of the account",
        ),
        (
            "ListSubscribers",
            {"filter": "customFields.favourite_color = blue"},
            "names an unknown field: customFields.favourite_color; did you mean"
            " customFields.favorite_color? (column 1)",
        ),
        (
            "ListSubscribers",
            {"filter": "favorite_color = blue"},
            "names an unknown field: favorite_color; did you mean customFields.favorite_color?"
            " (column 1)",
        ),
        (
            "ListSubscribers",
            {"filter": "tags:a and tags:b"},
            "operators are upper case: AND (column 8)",
        ),
        (
            "CreateWebhook",
            {"url": "ftp://example.com/"},
            "must start with https://, unless the operator of the server allows http:// with"
            " ROSTER_WEBHOOK_ALLOW_HTTP=true",
        ),
    ],
)
def test_detail_of_an_invalid_request_says_what_is_valid(
    account: Account, rpc: str, request_: dict[str, Any], message: str
) -> None:
    if not account.ok("ListCustomFields")["total"]:
        create_field(account, "Favorite color")

    assert messages_of(account.fails("ValidationError", rpc, **request_)) == [message]


def test_forbidden_names_the_needed_scope_and_that_of_the_key(account: Account) -> None:
    for scope, rpc, request_, needed in (
        ("read", "CreateTag", {"name": "vip"}, "write"),
        ("write", "ListApiKeys", {}, "admin"),
        ("signup", "ListTags", {}, "read"),
        ("read", "RenderMergeTags", {"subscriberId": ANY_ID, "body": "{{confirmUrl}}"}, "write"),
    ):
        error = account.with_key(account.new_key(scope)).fails("Forbidden", rpc, **request_)
        message = f"This operation needs the scope {needed}; the caller has {scope}."
        assert error.body["error"]["message"] == message


def test_unverified_account_learns_who_verifies_it(unverified_account: Account) -> None:
    error = unverified_account.fails("EmailNotVerified", "CreateCustomField", label="Plan")

    assert "`roster accounts verify ID`" in error.body["error"]["message"]


def test_unknown_columns_and_targets_suggest_known_fields(account: Account) -> None:
    create_field(account, "Favorite color")

    unknown = send_table(account, "email,fist_name,favourite color,zzz\n").error
    mapped = send_table(account, "E\n", columnMap=["E=emial"]).error
    suppressed = send_table(account, "E\n", IMPORT_SUPPRESSIONS, columnMap=["E=emial"]).error

    assert messages_of(unknown) == [
        "is not a known column (#2); did you mean firstName?",
        "is not a known column (#3); did you mean customFields.favorite_color?",
        "is not a known column (#4)",
    ]
    assert messages_of(mapped) == ["names an unknown field: emial; did you mean email?"]
    assert messages_of(suppressed) == messages_of(mapped)


@over_http
def test_unknown_keys_and_parameters_suggest_known_ones(account: Account) -> None:
    is_key, is_parameter = "is not a known field", "is not a query parameter of this operation"
    body = {"email": "a@b.io", "first_nam": 1, "lastname": 2, "zzz": 3, "tag": 4, "e" * 10_000: 5}
    for response, expected in (
        (
            send(account, "POST", "/api/subscribers", body),
            [
                f"{is_key}; did you mean firstName?",
                f"{is_key}; did you mean lastName?",
                is_key,
                # Only the first three are compared.
                is_key,
                is_key,
            ],
        ),
        (
            send(account, "GET", "/api/subscribers?pagetoken=x&Status=x&" + "p" * 5_000 + "=x"),
            [f"{is_parameter}; did you mean {name}?" for name in ("pageToken", "status")]
            + [is_parameter],
        ),
        *[
            (send(account, "GET", target), [f"{is_parameter}; did you mean {name}?"])
            for target, name in (
                ("/api/subscribers?segment=x", "segmentId"),
                ("/api/statistics?segments=x", "segmentIds"),
                ("/api/events?type=x", "eventType"),
            )
        ],
    ):
        assert messages_of(response) == expected


@over_http
def test_unknown_route_names_the_documentation(account: Account) -> None:
    response = send(account, "GET", "/api/subscriber")

    assert response.status == 404
    assert response.body["error"]["message"] == "No route matches this path. See /docs for all."


def test_names_of_statuses_have_any_case_in_queries_and_rows_only(account: Account) -> None:
    account.ok("CreateSubscriber", email="ada@example.com", isConfirmed=True)

    assert account.ok("ListSubscribers", filter="status = confirmed")["total"] == 1
    table = send_table(account, "email,status\nbob@example.com,Bounced\n")
    assert [row["outcome"] for row in table.records] == ["CREATED"]
    if isinstance(account.front, GrpcFront):
        # Enums of protobuf are numbers.
        return
    assert account.ok("ListSubscribers", status="confirmed")["total"] == 1
    assert account.ok("ListSubscribers", status="Bounced")["total"] == 1
    rows = send_rows(account, [{"email": "eve@example.com", "status": "unconfirmed"}])
    assert [row["outcome"] for row in rows.records] == ["CREATED"]
    gone = send_rows(account, [{"email": "x@example.com"}], IMPORT_SUPPRESSIONS, reason="bounced")
    assert gone.error is None
    for rpc, request_, names in (
        ("ChangeSubscriberStatus", {"id": "ada@example.com", "status": "bounced"}, STATUSES),
        (
            "BatchChangeSubscribers",
            {"ids": [ANY_ID], "action": {"changeStatus": "bounced"}},
            STATUSES,
        ),
        (
            "AddSuppressions",
            {"emails": ["a@b.io"], "reason": "bounced"},
            "must be one of UNSUBSCRIBED, BOUNCED, COMPLAINED, MANUAL",
        ),
    ):
        assert names in messages_of(account.fails("ValidationError", rpc, **request_))


def test_variables_of_a_message_are_metadata_on_grpc_only(account: Account) -> None:
    person = create_subscriber_in(account, "UNSUBSCRIBED")["id"]
    tag = account.ok("CreateTag", name="vip")["tag"]["id"]
    segment = account.ok("CreateSegment", name="VIPs", filter="tags:vip")["segment"]["id"]
    webhook = {"url": "http://127.0.0.1:9/", "enabled": False}
    for _ in range(MAX_WEBHOOKS):
        account.ok("CreateWebhook", **webhook)
    reader = account.with_key(account.new_key("read"))

    for error, metadata in (
        (reader.call("CreateTag", name="x"), {"neededScope": "write", "scope": "read"}),
        (
            account.call("ChangeSubscriberStatus", id=person, status="BOUNCED"),
            {"from": "UNSUBSCRIBED", "to": "BOUNCED"},
        ),
        (account.call("CreateWebhook", **webhook), {"limit": "20"}),
        (account.call("DeleteTag", id=tag), {"segmentIds": segment}),
        (account.call("GetTag", id=ANY_ID), {}),
    ):
        is_grpc = isinstance(account.front, GrpcFront)
        assert error.metadata == (metadata if is_grpc else None)
        body = error.body["error"]
        assert body.keys() == {"code", "message", "details", "requestId"}
        for value in metadata.values():
            assert value in f"{body['message']} {body['details']}"
