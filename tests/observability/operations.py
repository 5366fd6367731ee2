"""Calls every operation with secrets and personal data."""

from __future__ import annotations

import json
from typing import Any

from ..behavior.helpers import create_subscriber, link_urls, suppress
from ..behavior.import_jobs import failures, run_file
from ..behavior.requests import FILE, create_resource, working_request
from ..conftest import Account, new_account
from ..features.webhooks.receiver import listening
from ..fronts import METHODS, UNARY, Front, HttpFront, SessionToken, binding, path_variables
from ..processes import Service

# Part of a webhook URL: it is stored, and returned to the account only.
URL_TOKEN = "of-the-receiver"
# Texts that requests contain, if their rpc has the field.
PERSONAL = {
    "firstName": "Lovelace",
    "lastName": "Lovelace",
    "name": "Lovelace",
    "label": "Lovelace",
    "displayName": "Lovelace of ada@example.com",
    "description": "of mary@example.com",
    "body": "of Lovelace, mary@example.com",
    "q": "mary@example.com",
}


def call_every_operation(service: Service, front: Front) -> set[str]:
    """Calls every unary operation, with and without success, and returns the secrets."""
    secrets = set()
    for rpc in sorted(UNARY.keys() - {"SignOut"}):
        # One call can prevent another, such as a deletion.
        account = new_account(service, front)
        fields = UNARY[rpc].input_type.fields_by_camelcase_name
        personal = {name: text for name, text in PERSONAL.items() if name in fields}
        response = account.call(rpc, **(working_request(account, rpc) | personal))
        assert response.status < 300, (rpc, response)
        for address in ("mary@example.com", "invalid@@example.com"):
            names = [*path_variables(rpc), *(["email"] if "email" in fields else [])]
            account.call(rpc, **dict.fromkeys(names, address))
        secrets |= {account.key, *_secrets_of(response.body or {}), response.session}
    account = new_account(service, front)
    secrets |= {account.key, *_call_with_unusable_secrets(account), *_deliver(account)}
    assert "ada.l@" in str(failures(account, run_file(account, FILE)))
    if isinstance(front, HttpFront):
        secrets |= _call_over_http(account, front)
    return secrets - {""}


def _secrets_of(body: dict[str, Any]) -> set[str]:
    """Returns the secret in a response, or the token in the URL of a sign-in link."""
    _, _, token = str(body.get("url", "")).partition("#")
    return {str(body.get("secret", "")), token}


def _call_with_unusable_secrets(account: Account) -> set[str]:
    """Uses a revoked key, an ended session and a changed link. Returns the secrets."""
    key = account.ok("CreateApiKey", name="another", scope="read")
    account.ok("RevokeApiKey", id=key["apiKey"]["id"])
    account.with_key(key["secret"]).fails("Unauthorized", "ListTags")
    url = account.ok("CreateSignInLink", name="support", scope="admin")["url"]
    token = url.rpartition("#")[2]
    session = account.call("SignIn", token=token).session
    account.fails("Unauthorized", "SignIn", token=token)
    account.with_key(SessionToken(session)).ok("SignOut")
    account.with_key(SessionToken(session)).fails("Unauthorized", "ListTags")
    suppress(account, "eve@example.com")
    account.fails("SubscriberSuppressed", "CreateSubscriber", email="eve@example.com")
    ada = create_subscriber(account, "ada@example.com", lastName="Lovelace")
    _, url = link_urls(account, ada["id"])
    account.fails("LinkNotFound", "GetLink", token=url.rpartition("/")[2][:-1])
    return {key["secret"], token, session}


def _deliver(account: Account) -> set[str]:
    """Delivers an event and returns the secret."""
    with listening() as receiver:
        url = f"{receiver.url}?token={URL_TOKEN}"
        created = account.ok("CreateWebhook", url=url, eventTypes=["subscriber.*"])
        create_subscriber(account, "mary@example.com", lastName="Lovelace")
        receiver.wait_for(1)
    account.fails("ValidationError", "CreateWebhook", url="https://mary@example.com/")
    return {created["secret"]}


def _call_over_http(account: Account, front: HttpFront) -> set[str]:
    """Calls what only HTTP has: streams, pages and stored responses. Returns the secrets."""
    for rpc in sorted(METHODS.keys() - UNARY.keys()):
        method, path, _ = binding(rpc)
        if method == "GET" and path_variables(rpc) == ["id"]:
            kind = METHODS[rpc].containing_service.name
            reference = create_resource(account, kind)
            front.exchange("GET", path.format(id=reference), account.key)
    for url in link_urls(account, "ada@example.com"):
        path = url.partition(front.address)[2]
        front.exchange("GET", path)
        front.exchange("POST", path)
    front.exchange("GET", "/api/account/page-preview?page=CONFIRM", account.key)
    front.exchange("GET", "/api/subscribers/export?q=mary@", account.key)
    rows = b'{"email": "mary@example.com"}\n{"email": 1}\n'
    front.exchange("POST", "/api/subscribers/import", account.key, body=rows)
    path = f"/invalid@example.com?key={account.key}"
    assert account.key.encode() not in front.exchange("GET", path, account.key)[2]
    return {
        _create_twice(account, front, "/api/keys", name="stored", scope="read"),
        _create_twice(account, front, "/api/webhooks", url="https://example.com/stored"),
    }


def _create_twice(account: Account, front: HttpFront, path: str, **request: str) -> str:
    """Repeats a request with an idempotency key, and returns the secret in its stored response."""
    body, headers = json.dumps(request).encode(), {"Idempotency-Key": path}
    responses = [
        front.exchange("POST", path, account.key, body=body, headers=headers)[2] for _ in range(2)
    ]
    assert responses[0] == responses[1]
    return str(json.loads(responses[0])["secret"])
