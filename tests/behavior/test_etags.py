"""Entity tags: a change of a resource that changed after it was read fails with 412."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ..cases import each
from ..conftest import Account
from ..fronts import METHODS, UNARY, HttpFront, Response, binding
from .helpers import (
    MISSING_ID,
    call_concurrently,
    create_field,
    create_subscriber,
    over_http,
    send,
    statuses,
)
from .import_jobs import settled
from .requests import (
    CREATIONS,
    REFERENCES,
    REQUESTS,
    create_resource,
    resource_type,
    wait_until_ended,
    with_path,
)

pytestmark = pytest.mark.each_database

CHANGES = sorted(rpc for rpc, method in UNARY.items() if "etag" in method.input_type.fields_by_name)
# The forms of pages are taken under any condition: they can be opt-outs.
PAGES = {rpc for rpc in METHODS if binding(rpc)[1].startswith(("/c/", "/u/"))}
# How another editor changes a resource.
OTHER_CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "AccountService": ("UpdateAccount", {"displayName": "other"}),
    "ApiKeyService": ("RotateApiKey", {}),
    "CustomFieldService": ("UpdateCustomField", {"fallback": "other"}),
    "ImportService": ("UpdateImport", {"options": {"addTags": ["other"]}}),
    "SegmentService": ("UpdateSegment", {"description": "other"}),
    "SubscriberService": ("AddSubscriberTags", {"tags": ["other"]}),
    "SuppressionService": ("AddSuppressions", {"emails": ["gone@example.com"]}),
    "TagService": ("UpdateTag", {"description": "other"}),
    "WebhookService": ("UpdateWebhook", {"description": "other"}),
}
# Each change, and those whose options take another path to the database.
CASES = [(rpc, REQUESTS.get(rpc, {})) for rpc in CHANGES] + [
    ("UpdateSubscriber", {"firstName": "Eve"}),
    ("DeleteSubscriber", {"erase": True}),
]


def read(account: Account, service: str, named: dict[str, Any]) -> Response:
    response = account.call(f"Get{service.removesuffix('Service')}", **named)
    assert response.status == 200
    return response


def create(account: Account, service: str, rpc: str = "") -> tuple[dict[str, Any], str]:
    """Creates a resource that `rpc` can change. Returns its path variables and its entity tag."""
    if service == "AccountService":
        return {}, read(account, service, {}).etag
    # An update of an uploaded import starts its inspection, which changes it again.
    is_uploaded = service == "ImportService" and rpc != "UpdateImport"
    if is_uploaded or service not in CREATIONS:
        named = {"id": create_resource(account, service)}
        return named, read(account, service, named).etag
    if service == "OperationService":
        create_subscriber(account)
    creation = CREATIONS[service]
    response = account.call(creation, **REQUESTS[creation])
    assert response.status < 300, response
    resource = next(value for value in response.body.values() if isinstance(value, dict))
    return {"id": resource["id"]}, response.etag


def change_by_another_editor(account: Account, service: str, named: dict[str, Any]) -> str:
    """Changes a resource, and returns its new entity tag."""
    if service in ("ExportService", "OperationService"):
        wait_until_ended(account, service, named["id"])
        return read(account, service, named).etag
    rpc, request = OTHER_CHANGES[service]
    if service == "SuppressionService":
        account.ok(rpc, **request, reason="COMPLAINED")
        return read(account, service, named).etag
    response = account.call(rpc, **named, **request)
    if service == "ImportService":
        settled(account, response.body["import"])
        return read(account, service, named).etag
    return response.etag


@pytest.mark.parametrize(("rpc", "request_"), CASES)
def test_change_with_an_old_etag_fails_and_one_with_the_new_etag_succeeds(
    account: Account, rpc: str, request_: dict[str, Any]
) -> None:
    service = resource_type(rpc)
    named, old = create(account, service, rpc)
    new = change_by_another_editor(account, service, named)
    change = partial(account.call, rpc, **named, **request_)

    for stale in (old, f"W/{new}", f'"x", {old}, W/{new}', '"*"'):
        failed = change(etag=stale)
        assert (failed.status, failed.code) == (412, "PreconditionFailed"), stale
    if service != "ApiKeyService":
        assert read(account, service, named).etag == new
    changed = change(etag=f'"x" ,{new}')

    assert changed.status < 300
    if changed.status == 200 and service != "ApiKeyService":
        assert changed.etag == read(account, service, named).etag


@pytest.mark.parametrize(("rpc", "request_"), CASES)
def test_star_matches_every_resource_that_exists(
    account: Account, rpc: str, request_: dict[str, Any]
) -> None:
    named, _ = create(account, resource_type(rpc), rpc)

    assert account.call(rpc, **named, **request_, etag="*").status < 300

    if rpc in REFERENCES:
        named = {REFERENCES[rpc]: MISSING_ID}
        assert account.call(rpc, **named, **request_, etag="*").status == 404


@each("rpc", CHANGES)
def test_malformed_etag_is_rejected(account: Account, rpc: str) -> None:
    for malformed in ("", "abc", '"a', "W/abc", "**"):
        failed = account.fails(
            "ValidationError", rpc, **with_path(rpc), **REQUESTS.get(rpc, {}), etag=malformed
        )
        name = "If-Match" if isinstance(account.front, HttpFront) else "etag"
        assert failed.violations == [(name, "INVALID_FORMAT")], malformed


@over_http
@each("rpc", sorted(set(METHODS) - {*CHANGES, *PAGES, "DownloadExport"}))
def test_if_match_is_rejected_where_it_would_be_ignored(account: Account, rpc: str) -> None:
    method, template, has_body = binding(rpc)
    path = template.replace("{", "").replace("}", "")

    headers = {"If-Match": "*", "Sec-Fetch-Site": "same-origin"}
    response = send(account, method, path, b"{}" if has_body else None, headers=headers)

    assert response.violations == [("If-Match", "UNKNOWN_FIELD")]


@over_http
def test_etag_in_a_body_is_an_unknown_field(account: Account) -> None:
    named, _ = create(account, "TagService")

    response = send(account, "PATCH", f"/api/tags/{named['id']}", {"etag": "*"})

    assert response.violations == [("etag", "UNKNOWN_FIELD")]


@pytest.mark.parametrize("field", ["firstName", "email", "tags"])
def test_of_concurrent_changes_with_one_etag_exactly_one_succeeds(
    account: Account, field: str
) -> None:
    named, etag = create(account, "SubscriberService")
    update = partial(account.call, "UpdateSubscriber", **named)
    texts = [f"{number}@example.com" for number in range(8)]
    values: list[Any] = [[text] if field == "tags" else text for text in texts]

    responses = call_concurrently(*(partial(update, **{field: v}, etag=etag) for v in values))

    assert statuses(responses) == [200] + [412] * 7
    (winner,) = (response.body for response in responses if response.status == 200)
    assert winner["subscriber"][field] in values
    assert read(account, "SubscriberService", named).body == winner


def test_changes_with_and_without_an_etag_run_at_the_same_time(account: Account) -> None:
    named, etag = create(account, "SubscriberService")
    update = partial(account.call, "UpdateSubscriber", **named)
    names = [f"N{number}" for number in range(16)]

    responses = call_concurrently(
        *(partial(update, lastName=n, **({"etag": etag} if n in names[::2] else {})) for n in names)
    )

    assert {response.status for response in responses[1::2]} == {200}
    # A change without a condition can come first.
    assert statuses(responses[0::2])[1:] == [412] * 7
    changed = [response for response in responses if response.status == 200]
    assert len({response.etag for response in changed}) == len(changed)
    assert read(account, "SubscriberService", named).body in [each.body for each in changed]


def test_etag_of_a_subscriber_changes_with_what_is_returned(account: Account) -> None:
    create_field(account, "Plan")
    named, created = create(account, "SubscriberService")
    tags = account.ok("ListTags")["tags"]
    fields = account.ok("ListCustomFields")["customFields"]
    seen = [created]
    for rpc, request in (
        ("UpdateSubscriber", {**named, "customFields": {"plan": "pro"}}),
        ("UpdateSubscriber", {**named, "tags": ["b", "A", "on ada"], "lastName": "Byron"}),
        ("ChangeSubscriberStatus", {**named, "status": "CONFIRMED"}),
        ("AddSubscriberTags", {**named, "tags": ["0"]}),
        ("RemoveSubscriberTags", {**named, "tags": ["A"]}),
        ("UpdateTag", {"id": tags[0]["id"], "name": "renamed"}),
        ("DeleteTag", {"id": tags[0]["id"]}),
        ("DeleteCustomField", {"id": fields[0]["id"]}),
    ):
        response = account.call(rpc, **request)
        assert response.status < 300
        etag = read(account, "SubscriberService", named).etag
        assert "Subscriber" not in rpc or response.etag == etag
        seen.append(etag)

    assert len(set(seen)) == len(seen)
    by_email = {"id": "ada@example.com", "view": "FULL"}
    assert read(account, "SubscriberService", by_email).etag == seen[-1]
    unchanged = account.call("UpdateSubscriber", **named, lastName="Byron", etag=seen[-1])
    assert unchanged.etag == seen[-1]


def test_upsert_with_an_etag_does_not_create(account: Account) -> None:
    for etag in ("*", '"x"'):
        request = {"id": "ada@example.com", "allowMissing": True, "etag": etag}
        assert account.fails("PreconditionFailed", "UpdateSubscriber", **request).status == 412
    created = account.call("UpdateSubscriber", id="ada@example.com", allowMissing=True)

    updated = account.call(
        "UpdateSubscriber", id="ada@example.com", allowMissing=True, lastName="B", etag=created.etag
    )

    assert (created.status, updated.status) == (201, 200)
    assert account.ok("ListSubscribers")["total"] == 1


@over_http
def test_replay_returns_the_first_etag_after_the_resource_changed(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    named, etag = create(account, "SubscriberService")
    path, body = f"/api/subscribers/{named['id']}/tags", b'{"tags": ["vip"]}'
    headers = {"Idempotency-Key": "k", "If-Match": etag}
    first = account.front.send("POST", path, account.key, body=body, headers=headers)
    account.ok("UpdateSubscriber", **named, lastName="Byron")

    replayed = account.front.send("POST", path, account.key, body=body, headers=headers)

    assert first.status == 200
    assert replayed == first
