"""Operations on many subscribers over every front."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from roster.v1 import operations_pb2 as pb
from rosterd.server.features.operations import store
from rosterd.server.features.operations.rules import BatchRequest, JobRequest, ReplayRequest

from ..cases import each
from ..conftest import Account
from ..fronts import GrpcFront, HttpFront, to_json
from .helpers import (
    MISSING_ID,
    STATUSES,
    create_field,
    create_subscriber,
    create_subscriber_in,
    keep_operations_waiting,
)
from .import_jobs import upload

KEYS = {
    *("id", "type", "action", "filter", "segmentId", "q", "dryRun", "state"),
    *("done", "total", "processed", "failed", "rate", "createdAt"),
    *("endedAt", "changed", "unchanged", "actor", "excluded", "undoExpiresAt"),
}
ALL = "email:*"


def start(account: Account, **request: Any) -> dict[str, Any]:
    operation: dict[str, Any] = account.ok("BatchChangeSubscribers", **request)["operation"]
    return operation


def run(account: Account, **request: Any) -> dict[str, Any]:
    """Starts an operation and returns it when it has ended."""
    return ended(account, start(account, **request))


def ended(account: Account, operation: dict[str, Any]) -> dict[str, Any]:
    while not operation["done"]:
        time.sleep(0.01)
        operation = account.ok("GetOperation", id=operation["id"])["operation"]
    return operation


def watched(account: Account, operation_id: str) -> list[dict[str, Any]]:
    """Returns the states of an operation until it has ended."""
    if isinstance(account.front, HttpFront):
        path = f"/api/operations/{operation_id}/watch"
        status, _, body = account.front.exchange("GET", path, account.key)
        assert status == 200
        return [json.loads(line)["operation"] for line in body.splitlines() if line]
    assert isinstance(account.front, GrpcFront)
    watch = account.front.channel.unary_stream(
        "/roster.v1.OperationService/WatchOperation",
        request_serializer=pb.WatchOperationRequest.SerializeToString,
        response_deserializer=pb.WatchOperationResponse.FromString,
    )
    metadata = [("authorization", f"Bearer {account.key}")]
    replies = watch(pb.WatchOperationRequest(id=operation_id), metadata=metadata, timeout=60)
    return [to_json(reply)["operation"] for reply in replies]


def create_people(account: Account, *names: str, **fields: Any) -> list[str]:
    return [create_subscriber(account, f"{name}@example.com", **fields)["id"] for name in names]


def tags_of(account: Account, name: str) -> list[str]:
    tags: list[str] = account.ok("GetSubscriber", id=f"{name}@example.com")["subscriber"]["tags"]
    return tags


def test_an_operation_changes_the_matching_subscribers(account: Account) -> None:
    create_people(account, "ada", "bob", tags=["news"])
    create_people(account, "eve")

    response = account.call(
        "BatchChangeSubscribers", filter="tags:news", action={"addTags": ["VIP", "news"]}
    )

    assert response.status == 202
    assert response.body["operation"]["total"] == 2
    operation = account.ok("ListOperations")["operations"][0]
    while not operation["done"]:
        operation = account.ok("GetOperation", id=operation["id"])["operation"]
    assert set(operation) == KEYS
    assert (operation["type"], operation["action"]) == (
        "SUBSCRIBERS_BATCH",
        {"addTags": ["VIP", "news"]},
    )
    assert (operation["state"], operation["processed"], operation["failed"]) == ("SUCCEEDED", 2, [])
    (key,) = account.ok("ListApiKeys")["apiKeys"]
    assert operation["actor"] == {"type": "API_KEY", "id": key["id"], "name": key["name"]}
    assert [tags_of(account, name) for name in ("ada", "bob", "eve")] == [
        ["news", "VIP"],
        ["news", "VIP"],
        [],
    ]


def test_each_action_has_the_effect_of_its_single_call(account: Account) -> None:
    create_field(account, "Plan", "TEXT")
    create_people(account, "ada", "bob", tags=["old", "vip"])

    run(account, filter=ALL, action={"removeTags": ["OLD"]})
    run(account, filter=ALL, action={"setCustomFields": {"plan": "pro"}})
    run(account, filter=ALL, action={"changeStatus": "UNSUBSCRIBED"})

    for name in ("ada", "bob"):
        subscriber = account.ok("GetSubscriber", id=f"{name}@example.com", view="FULL")
        subscriber = subscriber["subscriber"]
        assert subscriber["tags"] == ["vip"]
        assert subscriber["customFields"] == {"plan": "pro"}
        assert subscriber["status"] == "UNSUBSCRIBED"
        assert "unsubscribedAt" in subscriber
    history = account.ok("ListSubscriberHistory", id="ada@example.com")["history"]
    assert [entry["type"] for entry in history[:2]] == ["STATUS_CHANGED", "FIELDS_CHANGED"]
    run(account, filter=ALL, action={"setCustomFields": {"plan": None}})
    subscriber = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]
    assert "customFields" not in subscriber
    run(account, filter="email = ada@example.com", action={"delete": True})
    assert account.ok("ListSubscribers")["total"] == 1
    # The owner had opted out, so the address is suppressed.
    account.fails("SubscriberSuppressed", "CreateSubscriber", email="ada@example.com")


def test_a_segment_or_ids_select_the_subscribers(account: Account) -> None:
    ada, bob, _ = create_people(account, "ada", "bob", "eve")
    segment = account.ok("CreateSegment", name="Bs", filter='email = "b*"')["segment"]["id"]

    by_segment = run(account, segmentId=segment, action={"addTags": ["b"]})
    by_ids = run(account, ids=[bob, ada, bob, MISSING_ID, "x"], action={"addTags": ["chosen"]})

    assert (by_segment["segmentId"], by_segment["filter"], by_segment["total"]) == (segment, "", 1)
    assert by_ids["failed"] == [
        {"reason": "SUBSCRIBER_NOT_FOUND", "total": 2, "examples": [MISSING_ID]}
    ]
    assert (by_ids["total"], by_ids["processed"]) == (4, 4)
    tags = [tags_of(account, name) for name in ("ada", "bob", "eve")]
    assert tags == [["chosen"], ["b", "chosen"], []]


def test_search_and_filter_and_segment_select_the_subscribers_that_match_all(
    account: Account,
) -> None:
    create_people(account, "ada", "adam", "bob", tags=["news"])
    create_people(account, "ada2")
    segment = account.ok("CreateSegment", name="News", filter="tags:news")["segment"]["id"]

    searched = run(account, q=" ADA", action={"addTags": ["a"]})
    of_all = run(
        account, q="ada", segmentId=segment, filter='email:"m@"', action={"addTags": ["all"]}
    )

    assert (searched["q"], searched["filter"], searched["total"]) == ("ADA", "", 3)
    assert (of_all["segmentId"], of_all["filter"], of_all["total"]) == (segment, 'email:"m@"', 1)
    assert (searched["changed"], of_all["changed"]) == (3, 1)
    tags = [tags_of(account, name) for name in ("ada", "adam", "bob", "ada2")]
    assert tags == [["a", "news"], ["a", "all", "news"], ["news"], ["a"]]


def test_a_subscriber_that_cannot_be_changed_is_counted(account: Account) -> None:
    create_people(account, "ada")
    unsubscribed = create_subscriber_in(account, "UNSUBSCRIBED", "0@example.com")["id"]
    create_subscriber_in(account, "COMPLAINED", "1@example.com")
    (full,) = create_people(account, "full", tags=[f"tag {number}" for number in range(100)])

    changed = run(account, filter=ALL, action={"changeStatus": "BOUNCED"})
    tagged = run(account, filter=ALL, action={"addTags": ["one more"]})

    assert (changed["state"], changed["processed"]) == ("SUCCEEDED", 4)
    assert changed["failed"] == [
        {"reason": "INVALID_STATUS_TRANSITION", "total": 1, "examples": [unsubscribed]}
    ]
    assert tagged["failed"] == [{"reason": "VALIDATION_ERROR", "total": 1, "examples": [full]}]
    assert account.ok("ListSubscribers", tag="one more")["total"] == 3


def test_an_operation_ends_no_complaint_without_scope_admin_and_no_suppression(
    account: Account,
) -> None:
    create_subscriber_in(account, "COMPLAINED")
    create_people(account, "bob")
    account.ok("AddSuppressions", emails=["bob@example.com"])
    writer = account.with_key(account.new_key("write"))

    changed = run(writer, filter=ALL, action={"changeStatus": "CONFIRMED"})

    reasons = sorted((each["reason"], each["total"]) for each in changed["failed"])
    assert reasons == [("INVALID_STATUS_TRANSITION", 1), ("SUBSCRIBER_SUPPRESSED", 1)]
    listed = account.ok("ListSubscribers")["subscribers"]
    assert [each["status"] for each in listed] == ["COMPLAINED", "UNSUBSCRIBED"]


def test_excluded_subscribers_are_never_changed(account: Account) -> None:
    create_people(account, "ada", "bob", "eve", tags=["news"])
    kept = [*create_people(account, "kim", "lee", tags=["news"]), *create_people(account, "max")]
    for dry_run in (True, False):
        operation = run(
            account,
            filter="tags:news",
            action={"addTags": ["vip"]},
            excludeIds=[*kept, MISSING_ID],
            dryRun=dry_run,
        )
        assert (operation["total"], operation["processed"], operation["excluded"]) == (3, 3, 2)
        assert operation["wouldChange" if dry_run else "changed"] == 3

    tagged = account.ok("ListSubscribers", tag="vip")["subscribers"]
    assert [each["email"][:3] for each in tagged] == ["ada", "bob", "eve"]


def test_nothing_starts_if_the_selection_differs_from_the_expected_total(account: Account) -> None:
    ids = create_people(account, *[f"p{number}" for number in range(12)])
    request = {"filter": ALL, "action": {"delete": True}, "excludeIds": ids[:1]}

    error = account.fails("SelectionChanged", "BatchChangeSubscribers", **request, expectedTotal=0)

    assert "is 11 instead of 0" in error.body["error"]["message"]
    assert error.body["error"]["details"] == [
        {"field": "expectedTotal", "code": "INVALID_VALUE", "message": "must be 11"}
    ]
    assert account.ok("ListOperations")["total"] == 0
    # A difference of 10 is accepted.
    assert run(account, **request, expectedTotal=1)["changed"] == 11


def test_operations_are_listed_by_state_and_type(account: Account) -> None:
    create_people(account, "ada")
    field = create_field(account, "Plan")["id"]
    batches = [run(account, filter=ALL, action={"addTags": [tag]}) for tag in ("a", "b")]
    undo = account.ok("UndoOperation", id=batches[1]["id"])["operation"]
    export = ended(account, {**account.ok("CreateExport")["export"], "done": False})
    failed = start(account, filter='customFields.plan = "pro"', action={"delete": True})
    account.ok("DeleteCustomField", id=field)
    ended(account, undo)
    state = ended(account, failed)["state"]
    with account.service.unit_of_work() as tx:
        replay = store.create_replay(account.id, ReplayRequest({"webhookId": "0"}, 0), 0, tx).id
        # A job is stored as canceled while it runs.
        job = JobRequest(99, {}, {}, {"action": {}}, [], by_admin=False)
        later = store.create_job(account.id, job, 0, tx).id

    def listed(**among: str) -> list[str]:
        page = account.ok("ListOperations", **among)
        assert page["total"] == len(page["operations"])
        return [each["id"] for each in page["operations"]]

    of_batch = [failed["id"], batches[1]["id"], batches[0]["id"]]
    assert listed(type="SUBSCRIBERS_BATCH") == of_batch
    assert listed(type="SUBSCRIBERS_UNDO") == [undo["id"]]
    assert listed(type="SUBSCRIBERS_EXPORT") == [export["id"]]
    assert listed(type="WEBHOOK_REPLAY") == [replay]
    assert listed(type="IMPORT_INSPECTION") == []
    assert later in listed(state="RUNNING")
    assert later not in listed(state="CANCELLED")
    assert listed(type="SUBSCRIBERS_BATCH", state="SUCCEEDED") == [
        each for each in of_batch if each != failed["id"] or state == "SUCCEEDED"
    ]
    assert {later, replay} < set(listed())
    page = account.call("ListOperations", type="SUBSCRIBERS_BATCH", limit=1)
    rest = account.ok("ListOperations", type="SUBSCRIBERS_BATCH", limit=1, pageToken=page.next)
    assert [each["id"] for each in rest["operations"]] == of_batch[1:2]
    assert account.call("ListOperations", limit=1, pageToken=page.next).status == 400


def test_an_operation_has_its_filter_in_normal_form(account: Account) -> None:
    create_people(account, "ada", tags=["vip"])
    text = "email.domain='example.com'  tags:(vip OR 'x')"

    operation = run(account, filter=text, action={"addTags": ["new"]})

    assert operation["filter"] == 'email.domain = "example.com" AND (tags:vip OR tags:"x")'
    assert operation["changed"] == 1


def test_operations_of_an_account_run_in_order(account: Account) -> None:
    create_people(account, *(f"person{number}" for number in range(30)))

    first = start(account, filter=ALL, action={"addTags": ["first"]})
    second = run(account, filter="tags:first", action={"addTags": ["second"]})

    assert account.ok("GetOperation", id=first["id"])["operation"]["processed"] == 30
    assert second["processed"] == 30
    page = account.ok("ListOperations", limit=1, page=2)
    assert [each["id"] for each in page["operations"]] == [first["id"]]
    assert (page["total"], page["page"], page["limit"]) == (2, 2, 1)


LONG = 1_000 * "\N{ELECTRIC LIGHT BULB}"


def create_people_of_all_kinds(account: Account) -> list[str]:
    """Creates subscribers of whom each action changes some, fails for some and keeps some."""
    create_field(account, "Plan")
    keys = [f"text{number}" for number in range(8)]
    for key in keys:
        create_field(account, key)
    ids = create_people(account, "ada", tags=["VIP"], customFields={"plan": LONG})
    tags = [f"tag {number}" for number in range(100)]
    ids += create_people(account, "full", tags=tags, customFields=dict.fromkeys(keys, LONG))
    for status in STATUSES:
        ids.append(create_subscriber_in(account, status, f"{status}@example.com")["id"])
    bounced = create_subscriber_in(account, "BOUNCED", "later@example.com")["id"]
    account.ok("ChangeSubscriberStatus", id=bounced, status="UNSUBSCRIBED")
    ids += [bounced, *create_people(account, "sue", isConfirmed=True)]
    account.ok("AddSuppressions", emails=["sue@example.com"])
    return ids


def contents(account: Account) -> list[Any]:
    """Returns what an operation can change."""
    lists = ("ListTags", "ListEvents", "ListSuppressions")
    subscribers = account.ok("ListSubscribers", view="FULL", limit=100)["subscribers"]
    histories = [account.ok("ListSubscriberHistory", id=row["id"]) for row in subscribers]
    statistics = [account.ok("GetStatistics", include=["TAGS"]), account.ok("GetDailyStatistics")]
    pages = [account.ok(each, limit=100) for each in lists]
    return [subscribers, histories, statistics, pages]


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("selection", "action", "counts"),
    [
        ("filter", {"addTags": ["vip"]}, (7, 1, 1)),
        ("ids", {"removeTags": ["vip", "none"]}, (1, 8, 0)),
        ("filter", {"setCustomFields": {"plan": LONG}}, (7, 1, 1)),
        ("ids", {"setCustomFields": {"plan": None}}, (1, 8, 0)),
        ("filter", {"changeStatus": "CONFIRMED"}, (5, 1, 3)),
        ("ids", {"changeStatus": "BOUNCED"}, (4, 1, 4)),
        ("filter", {"delete": True}, (9, 0, 0)),
    ],
    ids=["add tags", "remove tags", "set values", "remove values", "confirm", "bounce", "delete"],
)
def test_a_dry_run_reports_what_the_operation_then_does_and_changes_nothing(
    account: Account, selection: str, action: dict[str, Any], counts: tuple[int, int, int]
) -> None:
    account.ok("CreateWebhook", url="https://example.com/hook", enabled=False)
    ids = create_people_of_all_kinds(account)
    request = {"filter": ALL} if selection == "filter" else {"ids": [*ids, MISSING_ID]}
    writer, before = account.with_key(account.new_key("write")), contents(account)

    started = start(writer, **request, action=action, dryRun=True)
    dry_run = ended(account, started)

    assert not started["done"]
    assert contents(account) == before
    real = run(writer, **request, action=action)
    assert set(dry_run) - {"wouldChange"} == set(real) - {"changed", "undoExpiresAt"}
    results = [
        (each["state"], each["total"], each["processed"], each["unchanged"], each["failed"])
        for each in (dry_run, real)
    ]
    assert results[0] == results[1]
    failed = sum(each["total"] for each in real["failed"]) - (selection == "ids")
    assert dry_run["wouldChange"] == real["changed"]
    assert (real["changed"], real["unchanged"], failed) == counts


def test_a_dry_run_can_be_canceled(account: Account) -> None:
    create_people(account, *(f"person{number}" for number in range(30)))
    start(account, filter=ALL, action={"addTags": ["first"]})

    dry_run = start(account, filter=ALL, action={"delete": True}, dryRun=True)
    canceled = account.ok("CancelOperation", id=dry_run["id"])["operation"]

    assert canceled["done"]
    assert canceled["state"] in ("CANCELLED", "SUCCEEDED")
    assert canceled["wouldChange"] == canceled["processed"]


def test_a_canceled_operation_ends(account: Account) -> None:
    create_people(account, "ada")
    operation = start(account, filter=ALL, action={"addTags": ["vip"]})

    ended = account.ok("CancelOperation", id=operation["id"])["operation"]

    assert ended["done"]
    assert ended["state"] in ("CANCELLED", "SUCCEEDED")
    assert account.ok("CancelOperation", id=operation["id"])["operation"] == ended


def test_operation_whose_filter_is_no_longer_valid_changes_nobody_and_says_why(
    account: Account,
) -> None:
    create_field(account, "Age", "TEXT")
    create_people(account, "ada")
    texts = ["NOT customFields.age > 30"]
    message = {"filter": texts[0], "action": {"delete": True}}
    batch = BatchRequest(message, texts, by_admin=False)
    with account.service.unit_of_work() as tx:
        operation = {"id": store.create(account.id, batch, None, 1, tx).id, "done": False}

    failed = ended(account, operation)

    assert (failed["state"], failed["processed"]) == ("FAILED", 0)
    assert failed["failed"] == [{"reason": "VALIDATION_ERROR", "total": 1, "examples": []}]
    assert failed["error"]["reason"] == "VALIDATION_ERROR"
    assert [each["field"] for each in failed["error"]["details"]] == ["filter"]
    assert account.ok("ListSubscribers")["total"] == 1


@pytest.fixture
def waiting(account: Account) -> Callable[..., dict[str, Any]]:
    """Starts an operation that waits for another one. A subscriber has two tags and a value."""
    create_field(account, "Plan", "TEXT")
    fields = {"tags": ["customer", "vip"], "customFields": {"plan": "pro"}}
    account.ok("CreateSubscriber", email="ada@example.com", **fields)

    def waits(**request: Any) -> dict[str, Any]:
        keep_operations_waiting(account)
        return start(account, **request)

    return waits


@pytest.mark.parametrize(
    ("text", "change", "why"),
    {
        "prefix": (
            'NOT tags:"cust*"',
            "tag",
            "The filter names the tag customer, which was deleted.",
        ),
        "presence": ("NOT tags:*", "tags", "The filter names the tag customer, which was deleted."),
        "field": (
            "NOT customFields.plan:*",
            "field",
            "The filter names the custom field plan, which was deleted.",
        ),
        "segment": ("NOT tags:customer", "segment", "The segment was deleted."),
    }.values(),
)
def test_waiting_operation_ends_if_what_its_filter_names_is_deleted_and_says_why(
    account: Account,
    waiting: Callable[..., dict[str, Any]],
    text: str,
    change: str,
    why: str,
) -> None:
    if change == "segment":
        segment = account.ok("CreateSegment", name="Others", filter=text)["segment"]["id"]
        operation = waiting(segmentId=segment, action={"delete": True})
        (listed,) = account.ok("ListSegments", include=["USED_BY"])["segments"]
        account.ok("DeleteSegment", id=segment)
    else:
        operation = waiting(filter=text, action={"delete": True})
    if change.startswith("tag"):
        for tag in account.ok("ListTags", include=["USED_BY"])["tags"]:
            if change == "tags" or tag["name"] == "customer":
                listed = tag
                account.ok("DeleteTag", id=tag["id"])
    elif change == "field":
        (listed,) = account.ok("ListCustomFields", include=["USED_BY"])["customFields"]
        account.ok("DeleteCustomField", id=listed["id"])

    operation = ended(account, operation)

    assert {"type": "OPERATION", "id": operation["id"]} in listed["usedBy"]
    assert (operation["state"], operation["processed"]) == ("FAILED", 0)
    kinds = {"field": "CUSTOM_FIELD", "segment": "SEGMENT"}
    path = "segmentId" if change == "segment" else "filter"
    error = operation["error"]
    assert (error["reason"], error["message"]) == (f"{kinds.get(change, 'TAG')}_NOT_FOUND", why)
    assert [each["field"] for each in error["details"]] == [path]
    assert account.ok("ListSubscribers")["total"] == 1


def test_waiting_export_and_import_say_why_they_failed(account: Account) -> None:
    tag = account.ok("CreateTag", name="vip")["tag"]
    job = upload(account, b"email,tags\nada@example.com,vip\n", options={"filter": "tags:vip"})
    keep_operations_waiting(account)
    export = account.ok("CreateExport", filter="NOT tags:vip")["export"]
    account.ok("StartImport", id=job["id"])

    account.ok("DeleteTag", id=tag["id"])

    failed = [
        account.ok("GetExport", id=export["id"])["export"],
        account.ok("GetImport", id=job["id"])["import"],
    ]
    message = "The filter names the tag vip, which was deleted."
    for each_failed in failed:
        error = each_failed["error"]
        assert (each_failed["state"], error["reason"]) == ("FAILED", "TAG_NOT_FOUND")
        assert (error["message"], error["details"][0]["field"]) == (message, "filter")


VIP = {"addTags": ["vip"]}


@each(
    ("request_", "violations"),
    {
        "no selection": ({"action": VIP}, [("filter", "REQUIRED")]),
        "two selections": (
            {"q": "ada", "ids": [MISSING_ID], "action": VIP},
            [("ids", "INVALID_VALUE")],
        ),
        "no action": ({"filter": ALL}, [("action", "REQUIRED")]),
        "empty action": ({"filter": ALL, "action": {}}, [("action", "REQUIRED")]),
        "two actions": (
            {"filter": ALL, "action": {**VIP, "delete": True}},
            [("action", "INVALID_VALUE")],
        ),
        "delete false": (
            {"filter": ALL, "action": {"delete": False}},
            [("action.delete", "INVALID_VALUE")],
        ),
        "empty tag": (
            {"filter": ALL, "action": {"addTags": [" "]}},
            [("action.addTags[0]", "REQUIRED")],
        ),
        "unknown field": (
            {"filter": ALL, "action": {"setCustomFields": {"nothing": "x"}}},
            [("action.setCustomFields.nothing", "UNKNOWN_FIELD")],
        ),
        "invalid filter": ({"filter": "x = 1", "action": VIP}, [("filter", "UNKNOWN_FIELD")]),
        "malformed excluded ID": (
            {"filter": ALL, "action": VIP, "excludeIds": [MISSING_ID, "ada@example.com"]},
            [("excludeIds[1]", "INVALID_FORMAT")],
        ),
        "excluded IDs among IDs": (
            {"ids": [MISSING_ID], "action": VIP, "excludeIds": [MISSING_ID]},
            [("excludeIds", "INVALID_VALUE")],
        ),
    },
)
def test_an_invalid_request_is_rejected(
    account: Account, request_: dict[str, Any], violations: list[tuple[str, str]]
) -> None:
    error = account.fails("ValidationError", "BatchChangeSubscribers", **request_)

    assert error.violations == violations
    assert account.ok("ListOperations")["total"] == 0


def test_the_end_of_an_operation_has_an_event(account: Account) -> None:
    account.ok("CreateWebhook", url="https://example.com/hook", eventTypes=["operation.*"])
    create_people(account, "ada")

    operation = run(account, filter=ALL, action=VIP)

    events = account.ok("ListEvents")["events"]
    kinds = ["subscriber.created", "tag.created", "subscriber.updated", "operation.completed"]
    assert [event["type"] for event in events] == kinds
    assert events[-1]["data"]["operation"] == operation


def test_watching_streams_until_the_end(account: Account) -> None:
    create_people(account, *(f"person{number}" for number in range(30)))
    operation = start(account, filter=ALL, action=VIP)

    states = watched(account, operation["id"])

    assert states[-1]["done"]
    assert states[-1]["processed"] == 30
    assert [state["processed"] for state in states] == sorted(
        state["processed"] for state in states
    )
