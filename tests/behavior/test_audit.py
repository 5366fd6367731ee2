"""The audit log: which calls add which entries, and what these contain."""

from __future__ import annotations

import hashlib
from base64 import b64decode
from typing import Any

import pytest
from google.protobuf.descriptor import MethodDescriptor

from roster.v1 import http_pb2

from ..cases import each
from ..conftest import Account
from ..documents import table
from ..fronts import METHODS, UNARY, binding
from .helpers import create_subscriber, over_http, send
from .requests import REFERENCES, REQUESTS, with_path, working_request
from .streams import (
    EXPORT_AUDIT,
    EXPORT_SUPPRESSIONS,
    IMPORT_SUPPRESSIONS,
    export,
    import_rows,
    send_export,
    send_rows,
)
from .test_operations import run

pytestmark = pytest.mark.each_database

Entry = dict[str, Any]


def audit(method: MethodDescriptor) -> http_pb2.AuditedAction:
    option: http_pb2.AuditedAction = method.GetOptions().Extensions[http_pb2.audit]
    return option


AUDITED = {rpc: audit(method).action for rpc, method in METHODS.items() if audit(method).action}
OF_COMMANDS = {"account.created", "account.verified"}
# Changes of subscribers, which their history records, and links of subscribers.
IN_HISTORY = {
    *("CreateSubscriber", "BulkCreateSubscribers", "UpdateSubscriber", "ChangeSubscriberStatus"),
    *("AddSubscriberTags", "RemoveSubscriberTags", "CreateSubscriberLinks", "FollowLink", "SignUp"),
    *("SubmitConfirmPage", "SubmitUnsubscribePage"),
    # The creation and the start of the import are recorded.
    "UploadImportPart",
}


def entries(account: Account, **filters: Any) -> list[Entry]:
    found: list[Entry] = account.ok("ListAuditEntries", **filters)["entries"]
    return found


def changes(account: Account, **filters: Any) -> tuple[str, Any, Any]:
    """Returns the action of the last entry, and the fields before and after it."""
    entry = entries(account, limit=1, **filters)[0]
    return entry["action"], entry.get("before"), entry.get("after")


# Which calls add entries


def test_every_rpc_that_changes_anything_but_subscribers_declares_its_action() -> None:
    changing = {
        rpc
        for rpc, method in METHODS.items()
        if binding(rpc)[0] != "GET"
        and method.GetOptions().idempotency_level != method.GetOptions().NO_SIDE_EFFECTS
    }
    exports = {rpc for rpc in METHODS if rpc.startswith("Export")} | {"DownloadExport"}

    assert AUDITED.keys() == (changing | exports) - IN_HISTORY


def test_guide_lists_the_actions_of_every_resource_type() -> None:
    actions = {*AUDITED.values(), *OF_COMMANDS}

    documented = {
        kind.strip("`"): set(listed.replace("`", "").split(", "))
        for kind, listed in table("server/guides/audit.md", "resource type | actions")
    }

    assert documented == {
        kind: {action for action in actions if action.partition(".")[0] == kind}
        for kind in {action.partition(".")[0] for action in actions}
    }


# The tests of sessions compare the entries of people who sign in and out.
@pytest.mark.parametrize("rpc", sorted((AUDITED.keys() & UNARY.keys()) - {"SignIn", "SignOut"}))
def test_call_adds_the_entry_that_its_rpc_declares(account: Account, rpc: str) -> None:
    request = recorded_request(account, rpc)
    total = account.ok("ListAuditEntries")["total"]

    account.ok(rpc, **request)

    added = account.ok("ListAuditEntries", limit=1)
    (entry,) = added["entries"]
    assert added["total"] == total + 1
    assert (entry["action"], entry["ip"]) == (AUDITED[rpc], "127.0.0.1")
    assert (entry["actor"]["type"], entry["actor"]["name"]) == ("API_KEY", "test")
    assert entry["resourceType"] == entry["action"].partition(".")[0]
    if REFERENCES.get(rpc) == "id" and "@" not in request["id"]:
        assert entry["resourceId"] == request["id"]
    assert entry["resourceId"]
    assert "@" not in str(entry)


@each("rpc", sorted(AUDITED.keys() & REFERENCES.keys()))
def test_rejected_call_adds_no_entry(account: Account, rpc: str) -> None:
    response = account.call(rpc, **REQUESTS.get(rpc, {}), **with_path(rpc), **condition(rpc))

    assert response.status == 404
    assert entries(account) == []


def recorded_request(account: Account, rpc: str) -> dict[str, Any]:
    """Returns a request that succeeds and that the audit log records."""
    return working_request(account, rpc) | condition(rpc)


def condition(rpc: str) -> dict[str, Any]:
    """Returns the field that must be true for an entry, if there is one."""
    name = audit(METHODS[rpc]).only_if
    return {name: True} if name else {}


@over_http
def test_repeated_request_with_an_idempotency_key_adds_one_entry(account: Account) -> None:
    for _ in range(2):
        send(
            account,
            "POST",
            "/api/tags",
            b'{"name": "vip"}',
            headers={"Content-Type": "application/json", "Idempotency-Key": "one"},
        )

    assert [entry["action"] for entry in entries(account)] == ["tag.created"]


def test_changes_of_subscribers_add_no_entries(account: Account) -> None:
    ada = create_subscriber(account, tags=["vip"])
    account.ok("UpdateSubscriber", id=ada["id"], firstName="Ada")
    account.ok("ChangeSubscriberStatus", id=ada["id"], status="UNSUBSCRIBED")
    account.ok("DeleteSubscriber", id=ada["id"])

    assert entries(account) == []


def test_erasure_names_the_subscriber_by_id(account: Account) -> None:
    ada = create_subscriber(account, "ada@example.com")

    account.ok("DeleteSubscriber", id="ada@example.com", erase=True)

    (entry,) = entries(account)
    assert (entry["action"], entry["resourceId"]) == ("subscriber.erased", ada["id"])
    assert "before" not in entry


def test_import_of_many_rows_adds_one_entry_and_a_dry_run_none(account: Account) -> None:
    rows = [{"email": f"{number}@example.com"} for number in range(1_200)]
    import_rows(account, rows[:1], dryRun=True)
    assert entries(account) == []

    import_rows(account, rows)
    send_rows(account, rows[:2], IMPORT_SUPPRESSIONS)

    actions = [entry["action"] for entry in entries(account)]
    assert actions == ["suppression.imported", "subscriber.imported"]


def test_dry_runs_of_operations_and_their_undo_add_no_entry(account: Account) -> None:
    change = {"ids": [create_subscriber(account)["id"]], "action": {"addTags": ["vip"]}}
    run(account, **change, dryRun=True)
    operation = run(account, **change)
    account.ok("UndoOperation", id=operation["id"], dryRun=True)

    assert [entry["action"] for entry in entries(account)] == ["operation.created"]


def test_exports_add_entries_also_without_records(account: Account) -> None:
    assert export(account) == export(account, EXPORT_SUPPRESSIONS) == []

    exported = export(account, EXPORT_AUDIT)

    actions = ["audit_entry.exported", "suppression.exported", "subscriber.exported"]
    assert [entry["action"] for entry in exported] == actions
    assert exported == entries(account)


def test_invalid_export_adds_no_entry(account: Account) -> None:
    assert send_export(account, afterId="ada").error is not None
    assert send_export(account, EXPORT_SUPPRESSIONS, bom=True, format="NDJSON").error is not None

    assert entries(account) == []


# What entries contain


def test_entry_has_the_fields_that_the_action_changed(account: Account) -> None:
    created = {"name": "vip", "description": "best"}
    tag = account.ok("CreateTag", **created)["tag"]["id"]
    assert changes(account) == ("tag.created", None, created)

    account.ok("UpdateTag", id=tag, name="vip", description="")
    assert changes(account) == ("tag.updated", {"description": "best"}, {"description": ""})

    account.ok("DeleteTag", id=tag)
    assert changes(account) == ("tag.deleted", {"name": "vip", "description": ""}, None)


@pytest.mark.one_database
def test_call_that_changes_nothing_adds_no_entry(account: Account) -> None:
    rpcs = [rpc for rpc in AUDITED if rpc.startswith(("Update", "Cancel"))]
    requests = {rpc: recorded_request(account, rpc) for rpc in rpcs}
    for rpc, request in requests.items():
        account.ok(rpc, **request)
    before = account.ok("ListAuditEntries")["total"]

    for rpc, request in requests.items():
        account.ok(rpc, **request)

    assert account.ok("ListAuditEntries")["total"] == before


def test_entries_of_keys_have_no_secrets(account: Account) -> None:
    expiry = "2099-01-01T00:00:00.000Z"
    key = account.ok("CreateApiKey", name="ci", scope="read", expiresAt=expiry)["apiKey"]["id"]
    fields = {"name": "ci", "scope": "read", "expiresAt": expiry}
    assert changes(account) == ("api_key.created", None, fields)

    account.ok("RotateApiKey", id=key)
    assert changes(account) == ("api_key.rotated", None, None)

    account.ok("RevokeApiKey", id=key)
    assert changes(account) == ("api_key.revoked", fields, None)


def test_entries_of_webhooks_have_no_secret_and_no_query_of_the_url(account: Account) -> None:
    url = "http://127.0.0.1:9/hook"
    created = account.ok("CreateWebhook", url=f"{url}?token=abc", eventTypes=["tag.*"])
    webhook = created["webhook"]["id"]
    fields = {"url": url, "description": "", "eventTypes": ["tag.*"], "enabled": True}
    assert changes(account) == ("webhook.created", None, fields)

    account.ok("UpdateWebhook", id=webhook, url="http://127.0.0.1:9/other", enabled=False)
    before, after = {"url": url, "enabled": True}, {"url": f"{url[:-4]}other", "enabled": False}
    assert changes(account) == ("webhook.updated", before, after)

    account.ok("RotateWebhookSecret", id=webhook)
    assert changes(account) == ("webhook.secret_rotated", None, None)


def test_addresses_in_filters_are_replaced(account: Account) -> None:
    filters = 'email = "ada@example.com" OR email:ada@example.com'

    account.ok("CreateSegment", name="of ada@example.com", filter=filters)

    _, _, after = changes(account)
    assert after["name"] == "of [address]"
    assert after["filter"] == 'email = "[address]" OR email:[address]'


def test_entry_of_the_account_has_the_hash_of_its_logo(account: Account) -> None:
    logo = "R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="
    account.ok("UpdateAccount", displayName="Letters", logo=logo)

    action, before, after = changes(account)

    assert (action, before) == ("account.updated", {"displayName": "", "logo": ""})
    assert after["displayName"] == "Letters"
    assert after["logo"] == hashlib.sha256(b64decode(logo)).hexdigest()


def test_suppressions_appear_as_their_hashes(account: Account) -> None:
    added = ["ada@example.com", "bob@example.com"]
    account.ok("AddSuppressions", emails=added, reason="BOUNCED")
    hashes = {row["emailHash"] for row in account.ok("ListSuppressions")["suppressions"]}
    by_hash = {entry["resourceId"]: entry["after"] for entry in entries(account)}
    assert by_hash == {each: {"reason": "BOUNCED"} for each in hashes}

    account.ok("DeleteSuppression", id=added[0])

    assert changes(account) == ("suppression.deleted", {"reason": "BOUNCED"}, None)
    assert entries(account, limit=1)[0]["resourceId"] in hashes


# Lists


def test_list_is_filtered_by_action_actor_resource_and_time(account: Account) -> None:
    vip, early = (account.ok("CreateTag", name=name)["tag"]["id"] for name in ("vip", "early"))
    other = account.with_key(account.new_key("write"))
    other.ok("UpdateTag", id=vip, name="best")
    other.ok("CreateSegment", name="all", filter="email:*")
    segment, update, _, first = entries(account)

    def found(**filters: Any) -> list[str]:
        listed = account.ok("ListAuditEntries", **filters)
        assert listed["total"] == len(listed["entries"])
        assert export(account, EXPORT_AUDIT, **filters) == listed["entries"]
        return [entry["id"] for entry in listed["entries"]]

    assert found(action="tag.updated") == [update["id"]]
    assert found(actor=update["actor"]["id"]) == [segment["id"], update["id"]]
    assert found(resourceType="segment") == [segment["id"]]
    assert found(resourceType="seg") == []
    assert found(resourceId=vip) == [update["id"], first["id"]]
    assert found(resourceId=vip, action="tag.created") == [first["id"]]
    assert found(resourceId=early, actor=update["actor"]["id"]) == []
    assert found(resourceType="tag", createdBefore="2020-01-01T00:00:00Z") == []
    assert len(found(resourceType="tag", createdAfter="2020-01-01T00:00:00Z")) == 3
