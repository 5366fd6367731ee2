"""A run of all operations of an account, well and badly, which is given secrets."""

from __future__ import annotations

import json

from ..behavior.helpers import create_field, create_subscriber, suppress
from ..conftest import Account
from ..fronts import HttpFront
from ..webhooks.receiver import listening

# What stands in the URL of a webhook: it is stored, and told to nobody but the account.
IN_URL = "of-the-receiver"


def everything(account: Account) -> set[str]:
    """Calls every unary operation of an account, well and badly, and returns what is secret."""
    made = account.ok("CreateApiKey", name="another", scope="read")
    rotated = account.ok("RotateApiKey", id=made["apiKey"]["id"])
    account.ok("ListApiKeys")
    account.ok("RevokeApiKey", id=rotated["apiKey"]["id"])
    label = create_field(account, "Favourite colour")
    ada = create_subscriber(account, "ada@example.com", lastName="Lovelace", tags=["vip"])
    account.ok("GetSubscriber", id="ada@example.com")
    account.ok("ListSubscribers", q="ada@", email="ada@example.com")
    account.ok("BulkCreateSubscribers", subscribers=[{"email": "bob@example.com"}, {"email": "x@"}])
    account.ok("UpdateSubscriber", id=ada["id"], email="ada.l@example.com")
    account.ok("AddSubscriberTags", id=ada["id"], tags=["early"])
    account.ok("RemoveSubscriberTags", id=ada["id"], tags=["early"])
    account.ok("RenderMergeTags", subject="{{email}}", body="{{lastName}}", subscriberId=ada["id"])
    suppress(account, "eve@example.com")
    account.fails("SubscriberSuppressed", "CreateSubscriber", email="eve@example.com")
    account.ok("GetSuppression", email="eve@example.com")
    account.ok("ListSuppressions")
    account.ok("DeleteSuppression", email="eve@example.com")
    account.fails("ValidationError", "CreateSubscriber", email="nobody@@example.com")
    tag = account.ok("CreateTag", name="grace@example.com")["tag"]
    account.ok("GetTag", id=tag["id"])
    account.ok("ListTags")
    account.ok("UpdateTag", id=tag["id"], name="Lovelace")
    account.ok("DeleteTag", id=tag["id"])
    account.ok("GetCustomField", id=label["id"])
    account.ok("ListCustomFields")
    account.ok("UpdateCustomField", id=label["id"], label="Colour")
    account.ok("DeleteCustomField", id=label["id"])
    account.ok("DeleteSubscriber", id=ada["id"])
    account.with_key(made["secret"]).fails("Unauthorized", "ListTags")
    secrets = {made["secret"], rotated["secret"], *hear_of_events(account)}
    if isinstance(account.front, HttpFront):
        path = f"/nobody@example.com?key={account.key}"
        _, _, told = account.front.exchange("GET", path, account.key)
        assert account.key.encode() not in told
        rows = b'{"email": "mary@example.com"}\n{"email": 1}\n'
        account.front.exchange("POST", "/api/subscribers/import", account.key, body=rows)
        account.front.exchange("GET", "/api/subscribers/export?q=mary@", account.key)
        secrets |= {kept(account, "/api/keys", name="kept", scope="read")}
        secrets |= {kept(account, "/api/webhooks", url="https://example.com/kept")}
    return secrets


def kept(account: Account, path: str, **request: str) -> str:
    """Creates something with an idempotency key, twice; returns the secret that was answered.

    That it was answered twice shows that the answer is kept.
    """
    assert isinstance(account.front, HttpFront)
    body, headers = json.dumps(request).encode(), {"Idempotency-Key": path}
    answers = [
        account.front.exchange("POST", path, account.key, body=body, headers=headers)[2]
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    return str(json.loads(answers[0])["secret"])


def hear_of_events(account: Account) -> set[str]:
    """Calls every operation of webhooks, and returns what is secret."""
    with listening() as receiver:
        url = f"{receiver.url}?token={IN_URL}"
        made = account.ok("CreateWebhook", url=url, eventTypes=["subscriber.*"])
        own = made["webhook"]["id"]
        rotated = account.ok("RotateWebhookSecret", id=own)
        account.ok("GetWebhook", id=own)
        account.ok("ListWebhooks")
        account.ok("UpdateWebhook", id=own, description="of mary@example.com")
        account.ok("TestWebhook", id=own)
        create_subscriber(account, "mary@example.com", lastName="Lovelace")
        receiver.wait_for(2)
        found = account.ok("ListWebhookDeliveries", webhookId=own)["deliveries"][0]
        account.ok("GetWebhookDelivery", id=found["id"])
        account.ok("RetryWebhookDelivery", id=found["id"])
        account.ok("ReplayWebhook", id=own, since="2026-01-01T00:00:00Z")
        account.ok("ListEvents")
        account.ok("DeleteWebhook", id=own)
    account.fails("ValidationError", "CreateWebhook", url="https://mary@example.com/")
    return {made["secret"], rotated["secret"]}
