"""Calls every operation with secrets and personal data."""

from __future__ import annotations

import json

from ..behavior.helpers import create_field, create_subscriber, link_urls, suppress
from ..behavior.import_jobs import failures, run, settled, upload
from ..conftest import Account
from ..features.webhooks.receiver import listening
from ..fronts import HttpFront, SessionToken

# Part of a webhook URL: it is stored, and returned to the account only.
URL_TOKEN = "of-the-receiver"


def call_segment_operations(account: Account) -> None:
    """Calls the operations of segments, statistics and operations."""
    segment = account.ok("CreateSegment", name="Lovelace", filter="email = ada.l@example.com")
    segment_id = segment["segment"]["id"]
    account.ok("GetSegment", id=segment_id)
    account.ok("ListSegments")
    account.ok("UpdateSegment", id=segment_id, description="mary@example.com")
    account.ok("GetStatistics", segmentIds=[segment_id])
    account.ok("GetDailyStatistics")
    action = {"addTags": ["grace@example.com"]}
    started = account.ok("BatchChangeSubscribers", segmentId=segment_id, action=action)
    operation_id = started["operation"]["id"]
    account.ok("GetOperation", id=operation_id)
    account.ok("ListOperations")
    account.ok("CancelOperation", id=operation_id)
    account.ok("UndoOperation", id=operation_id)
    if isinstance(account.front, HttpFront):
        account.front.exchange("GET", f"/api/operations/{operation_id}/watch", account.key)
    export_id = account.ok("CreateExport", q="mary@example.com")["export"]["id"]
    account.ok("GetExport", id=export_id)
    account.ok("ListExports")
    account.ok("CancelExport", id=export_id)
    if isinstance(account.front, HttpFront):
        for name in ("watch", "file"):
            account.front.exchange("GET", f"/api/exports/{export_id}/{name}", account.key)
    account.ok("DeleteExport", id=export_id)
    account.ok("DeleteSegment", id=segment_id)


def call_import_operations(account: Account) -> None:
    """Calls the operations of imports."""
    content = b"email,firstName\ngrace@example.com,Lovelace\nada.l@,Lovelace\n"
    job = upload(account, content, options={"onConflict": "SKIP"})
    options = {"addTags": ["grace@example.com"]}
    settled(account, account.ok("UpdateImport", id=job["id"], options=options)["import"])
    run(account, job)
    failures(account, job)
    account.ok("ListImports")
    account.ok("UndoImport", id=job["id"], dryRun=True)
    account.ok("CancelImport", id=job["id"])
    if isinstance(account.front, HttpFront):
        account.front.exchange("GET", f"/api/imports/{job['id']}/watch", account.key)
    account.ok("DeleteImport", id=job["id"])


def call_link_operations(account: Account, subscriber_id: str) -> None:
    """Calls the operations of links and sign-ups, and over HTTP their pages."""
    confirm_url, unsubscribe_url = link_urls(account, subscriber_id)
    token = unsubscribe_url.rpartition("/")[2]
    account.ok("GetLink", token=token)
    account.ok("FollowLink", token=token)
    account.fails("LinkNotFound", "GetLink", token=token[:-1])
    account.ok("SignUp", email="grace@example.com", lastName="Lovelace")
    if isinstance(account.front, HttpFront):
        for url in (confirm_url, unsubscribe_url):
            path = url.partition(account.front.address)[2]
            account.front.exchange("GET", path)
            account.front.exchange("POST", path)
        account.front.exchange("GET", "/api/account/page-preview?page=CONFIRM", account.key)


def call_session_operations(account: Account) -> set[str]:
    """Calls the operations of sessions, and returns the tokens of links and sessions."""
    account.ok("GetCurrentSession")
    tokens = [account.ok("CreateSignInLink", name="support", scope="admin")["url"] for _ in "ab"]
    tokens = [url.rpartition("#")[2] for url in tokens]
    session = account.call("SignIn", token=tokens[0]).session
    account.fails("Unauthorized", "SignIn", token=tokens[0])
    account.with_key(SessionToken(session)).ok("ListSessions")
    (link,) = account.ok("ListSignInLinks")["signInLinks"]
    account.ok("DeleteSignInLink", id=link["id"])
    other = account.call("SignIn", token=account.key)
    account.ok("DeleteSession", id=other.body["session"]["id"])
    account.with_key(SessionToken(session)).ok("SignOut")
    account.with_key(SessionToken(session)).fails("Unauthorized", "ListTags")
    account.ok("SignOutEverywhere")
    return {*tokens, session, other.session}


def call_every_operation(account: Account) -> set[str]:
    """Calls every unary operation, with and without success, and returns the secrets."""
    account.ok("UpdateAccount", displayName="Lovelace of ada@example.com")
    account.ok("GetAccount")
    created = account.ok("CreateApiKey", name="another", scope="read")
    rotated = account.ok("RotateApiKey", id=created["apiKey"]["id"])
    account.ok("ListApiKeys")
    account.ok("ListAuditEntries")
    account.ok("RevokeApiKey", id=rotated["apiKey"]["id"])
    label = create_field(account, "Favorite color")
    ada = create_subscriber(account, "ada@example.com", lastName="Lovelace", tags=["vip"])
    account.ok("GetSubscriber", id="ada@example.com")
    account.ok("BatchGetSubscribers", emails=["ada@example.com"])
    account.ok("ListSubscribers", q="ada@", email="ada@example.com")
    account.ok("BulkCreateSubscribers", subscribers=[{"email": "bob@example.com"}, {"email": "x@"}])
    account.ok("UpdateSubscriber", id=ada["id"], email="ada.l@example.com")
    account.ok("AddSubscriberTags", id=ada["id"], tags=["early"])
    account.ok("RemoveSubscriberTags", id=ada["id"], tags=["early"])
    account.ok("ListSubscriberHistory", id=ada["id"])
    account.ok("GetSubscriberPersonalData", id=ada["id"])
    account.ok("GetSubscriberErasurePreview", id=ada["id"])
    account.ok("GetSubscriberMailability", id="ada.l@example.com")
    account.ok("ListSubscriberSegments", id=ada["id"])
    account.ok("RenderMergeTags", subject="{{email}}", body="{{lastName}}", subscriberId=ada["id"])
    suppress(account, "eve@example.com")
    account.fails("SubscriberSuppressed", "CreateSubscriber", email="eve@example.com")
    account.ok("GetSuppression", id="eve@example.com")
    account.ok("ListSuppressions")
    account.ok("AddSuppressions", emails=["never@example.com"])
    account.ok("DeleteSuppression", id="eve@example.com")
    account.fails("ValidationError", "CreateSubscriber", email="invalid@@example.com")
    tag = account.ok("CreateTag", name="grace@example.com")["tag"]
    account.ok("GetTag", id=tag["id"])
    account.ok("ListTags")
    account.ok("UpdateTag", id=tag["id"], name="Lovelace")
    account.ok("DeleteTag", id=tag["id"])
    account.ok("GetCustomField", id=label["id"])
    account.ok("ListCustomFields")
    account.ok("SuggestCustomFieldValues", id=label["id"])
    account.ok("UpdateCustomField", id=label["id"], label="Color")
    account.ok("DeleteCustomField", id=label["id"])
    call_segment_operations(account)
    call_import_operations(account)
    call_link_operations(account, ada["id"])
    account.ok("DeleteSubscriber", id=ada["id"])
    account.with_key(created["secret"]).fails("Unauthorized", "ListTags")
    secrets = {created["secret"], rotated["secret"], *call_webhook_operations(account)}
    secrets |= call_session_operations(account)
    if isinstance(account.front, HttpFront):
        path = f"/invalid@example.com?key={account.key}"
        _, _, response = account.front.exchange("GET", path, account.key)
        assert account.key.encode() not in response
        rows = b'{"email": "mary@example.com"}\n{"email": 1}\n'
        account.front.exchange("POST", "/api/subscribers/import", account.key, body=rows)
        account.front.exchange("GET", "/api/subscribers/export?q=mary@", account.key)
        secrets |= {create_twice(account, "/api/keys", name="stored", scope="read")}
        secrets |= {create_twice(account, "/api/webhooks", url="https://example.com/stored")}
    return secrets


def create_twice(account: Account, path: str, **request: str) -> str:
    """Repeats a request with an idempotency key, and returns the secret in its stored response."""
    assert isinstance(account.front, HttpFront)
    body, headers = json.dumps(request).encode(), {"Idempotency-Key": path}
    responses = [
        account.front.exchange("POST", path, account.key, body=body, headers=headers)[2]
        for _ in range(2)
    ]
    assert responses[0] == responses[1]
    return str(json.loads(responses[0])["secret"])


def call_webhook_operations(account: Account) -> set[str]:
    """Calls every webhook operation, and returns the secrets."""
    with listening() as receiver:
        url = f"{receiver.url}?token={URL_TOKEN}"
        created = account.ok("CreateWebhook", url=url, eventTypes=["subscriber.*"])
        webhook_id = created["webhook"]["id"]
        rotated = account.ok("RotateWebhookSecret", id=webhook_id)
        account.ok("GetWebhook", id=webhook_id)
        account.ok("ListWebhooks")
        account.ok("UpdateWebhook", id=webhook_id, description="of mary@example.com")
        account.ok("TestWebhook", id=webhook_id)
        create_subscriber(account, "mary@example.com", lastName="Lovelace")
        receiver.wait_for(2)
        delivery = account.ok("ListWebhookDeliveries", id=webhook_id)["deliveries"][0]
        account.ok("GetWebhookDelivery", id=delivery["id"])
        account.ok("ListAllWebhookDeliveries")
        account.ok("GetWebhookHealth", id=webhook_id)
        account.ok("RetryWebhookDelivery", id=delivery["id"])
        account.ok("ReplayWebhook", id=webhook_id, since="2026-01-01T00:00:00Z")
        event = account.ok("ListEvents")["events"][0]
        account.ok("GetEvent", id=event["id"])
        account.ok("DeleteWebhook", id=webhook_id)
    account.fails("ValidationError", "CreateWebhook", url="https://mary@example.com/")
    return {created["secret"], rotated["secret"]}
