"""Sessions and sign-in links over every front."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from roster.v1 import http_pb2
from rosterd.server.features.accounts.rules import hash_secret
from rosterd.server.features.sessions import rules, store

from ..conftest import Account
from ..fronts import UNARY, HttpFront, SessionToken
from .helpers import call_concurrently, create_subscriber, over_http, send, statuses
from .requests import with_path
from .streams import export, import_rows

pytestmark = pytest.mark.each_database

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
WEEK = 7 * 24 * 3_600_000


def link(account: Account, scope: str = "admin", **fields: Any) -> str:
    """Creates a sign-in link and returns its token."""
    url = account.ok("CreateSignInLink", name="Ada", scope=scope, **fields)["url"]
    return str(url).rpartition("/console/signin#")[2]


def sign_in(account: Account, credential: str) -> Account:
    """Returns the account with a session instead of a key."""
    response = account.front.call("SignIn", None, {"token": credential})
    assert response.status == 201, response
    return account.with_key(SessionToken(response.session))


def session_of(account: Account) -> dict[str, Any]:
    session: dict[str, Any] = account.ok("GetCurrentSession")["session"]
    return session


def ends(session: Account) -> None:
    """Checks that a session has ended."""
    error = session.fails("Unauthorized", "ListTags")
    assert error.body["error"]["message"] == (
        "This session does not exist or has ended. Sign in again."
    )


# Signing in


def test_link_signs_in_once_with_its_name_and_scope(account: Account) -> None:
    created = account.ok("CreateSignInLink", name=" Ada ", scope="write")
    assert set(created["signInLink"]) == {"id", "name", "scope", "createdAt", "expiresAt"}
    assert account.ok("ListSignInLinks")["signInLinks"] == [created["signInLink"]]
    token = created["url"].rpartition("#")[2]

    session = sign_in(account, token)

    assert (session_of(session)["name"], session_of(session)["scope"]) == ("Ada", "write")
    session.ok("CreateTag", name="vip")
    session.fails("Forbidden", "ListApiKeys")
    again = account.front.call("SignIn", None, {"token": token})
    assert (again.status, again.code) == (401, "Unauthorized")
    assert account.ok("ListSignInLinks")["total"] == 0


@pytest.mark.parametrize("scope", ["read", "write", "admin"])
def test_api_key_signs_in_with_its_name_and_scope(account: Account, scope: str) -> None:
    key = account.new_key(scope)

    session = session_of(sign_in(account, key))

    key_ids = [each["id"] for each in account.ok("ListApiKeys")["apiKeys"]]
    assert (session["name"], session["scope"], session["apiKeyId"]) == ("test", scope, key_ids[-1])


def test_key_for_signups_does_not_sign_in(account: Account) -> None:
    response = account.front.call("SignIn", None, {"token": account.new_key("signup")})

    assert (response.status, response.code) == (403, "Forbidden")


@pytest.mark.parametrize("token", ["x", "rk_0", "01ARZ3NDEKTSV4RRFFQ69G5FAV" + "0" * 43])
def test_invalid_token_does_not_sign_in(account: Account, token: str) -> None:
    response = account.front.call("SignIn", None, {"token": token})

    assert (response.status, response.code) == (401, "Unauthorized")


def test_of_concurrent_calls_with_one_link_one_signs_in(account: Account) -> None:
    token = link(account)
    call = partial(account.front.call, "SignIn", None, {"token": token})

    assert statuses(call_concurrently(*[call] * 8)) == [201] + [401] * 7
    assert account.ok("ListSessions")["total"] == 1


def test_revoked_and_expired_links_do_not_sign_in(account: Account) -> None:
    revoked, expired = link(account), rules.make_token(account.id)
    (listed,) = account.ok("ListSignInLinks")["signInLinks"]
    with account.service.unit_of_work() as tx:
        store.create_link(account.id, "old", "read", hash_secret(expired), -1, tx)

    assert account.call("DeleteSignInLink", id=listed["id"]).status == 204

    for token in (revoked, expired):
        assert account.front.call("SignIn", None, {"token": token}).status == 401
    assert account.ok("ListSignInLinks")["total"] == 0
    account.fails("SignInLinkNotFound", "DeleteSignInLink", id=listed["id"])


def test_account_has_a_maximum_of_links_that_work(account: Account) -> None:
    with account.service.unit_of_work() as tx:
        times = [-1] * 10 + [60_000] * (rules.MAX_LINKS - 1)
        for number, time in enumerate(times):
            store.create_link(account.id, "old", "read", hash_secret(f"{number}"), time, tx)
    last = link(account)

    error = account.fails("SignInLinkLimitReached", "CreateSignInLink", name="Bob", scope="read")
    sign_in(account, last)

    assert (error.status, "100 sign-in links" in error.body["error"]["message"]) == (409, True)
    assert account.ok("GetCurrentSession")["limits"]["signInLinks"] == rules.MAX_LINKS
    assert account.ok("ListSignInLinks")["total"] == rules.MAX_LINKS - 1
    link(account)


def test_token_of_a_session_is_neither_a_key_nor_a_link(account: Account) -> None:
    session = sign_in(account, link(account))
    session.ok("ListTags")

    account.with_key(str(session.key)).fails("Unauthorized", "ListTags")
    account.with_key(SessionToken(account.key)).fails("Unauthorized", "ListTags")
    assert account.front.call("SignIn", None, {"token": str(session.key)}).status == 401


# The end of sessions


def test_session_ends_when_it_signs_out(account: Account) -> None:
    session, other = sign_in(account, link(account)), sign_in(account, link(account))

    assert session.call("SignOut").status == 204

    ends(session)
    assert [each["id"] for each in other.ok("ListSessions")["sessions"]] == [
        session_of(other)["id"]
    ]
    account.fails("SessionNotFound", "SignOut")


def test_admin_ends_another_session(account: Account) -> None:
    session = sign_in(account, account.new_key("read"))
    session_id = session_of(session)["id"]
    session.fails("Forbidden", "DeleteSession", id=session_id)

    assert account.call("DeleteSession", id=session_id).status == 204

    ends(session)
    account.fails("SessionNotFound", "DeleteSession", id=session_id)


def test_signing_out_everywhere_ends_all_sessions_and_links_of_the_account_only(
    account: Account, other_account: Account
) -> None:
    sessions = [sign_in(account, link(account)), sign_in(account, account.key)]
    pending, other = link(account), sign_in(other_account, other_account.key)

    assert sessions[0].call("SignOutEverywhere").status == 204

    for session in sessions:
        ends(session)
    assert account.front.call("SignIn", None, {"token": pending}).status == 401
    other.ok("ListTags")


@pytest.mark.parametrize("rpc", ["RevokeApiKey", "RotateApiKey"])
def test_session_ends_with_its_key(account: Account, rpc: str) -> None:
    created = account.ok("CreateApiKey", name="ci", scope="write")
    session, other = sign_in(account, created["secret"]), sign_in(account, link(account))
    session.ok("ListTags")

    account.ok(rpc, id=created["apiKey"]["id"])

    ends(session)
    assert account.ok("ListSessions")["total"] == 1
    other.ok("ListTags")


def test_session_works_as_long_as_the_previous_secret_of_its_key(account: Account) -> None:
    created = account.ok("CreateApiKey", name="ci", scope="write")
    key_id = created["apiKey"]["id"]
    session = sign_in(account, created["secret"])

    account.ok("RotateApiKey", id=key_id, graceSeconds=600)
    session.ok("ListTags")
    account.ok("RotateApiKey", id=key_id, graceSeconds=600)

    ends(session)


def stored_session(account: Account, *, age: int = 0, idle: int = 0) -> Account:
    """Stores a session that began, and was last used, some milliseconds ago."""
    token = rules.make_token(account.id)
    with account.service.unit_of_work() as tx:
        now = tx.now
        tx.now = now - age
        row = store.create_session(account.id, "old", "admin", hash_secret(token), tx)
        store.record_use(account.id, [row.id], now - idle, tx)
    return account.with_key(SessionToken(token))


@pytest.mark.parametrize(
    ("age", "idle", "works"),
    [
        (WEEK - 60_000, 0, True),
        (WEEK + 1_000, 0, False),
        (WEEK // 2, 12 * rules.HOUR - 60_000, True),
        (WEEK // 2, 12 * rules.HOUR + 1_000, False),
        # The clock was ahead.
        (-rules.HOUR, 0, True),
        (-2 * rules.DAY, 0, False),
    ],
)
def test_session_ends_after_a_week_and_after_twelve_hours_without_a_call(
    account: Account, age: int, idle: int, works: bool
) -> None:
    session = stored_session(account, age=age, idle=idle)

    assert account.ok("ListSessions")["total"] == works
    if works:
        session.ok("ListTags")
    else:
        ends(session)


def test_oldest_sessions_of_a_key_end_when_there_are_too_many(account: Account) -> None:
    key, other = account.new_key("read"), sign_in(account, account.key)
    first, *_ = [sign_in(account, key) for _ in range(rules.MAX_SESSIONS_OF_KEY + 1)]

    ends(first)
    other.ok("ListTags")
    assert account.ok("ListSessions")["total"] == rules.MAX_SESSIONS_OF_KEY + 1


# What a session can do


def test_session_has_the_rights_of_its_scope(account: Account) -> None:
    reader = sign_in(account, link(account, "read"))
    for rpc, method in UNARY.items():
        if method.GetOptions().Extensions[http_pb2.access].scope in ("write", "admin"):
            assert reader.fails("Forbidden", rpc, **with_path(rpc)).status == 403, rpc
    for rpc in ("ListTags", "ListSubscribers", "GetAccount", "GetStatistics"):
        reader.ok(rpc)


def test_streams_accept_sessions(account: Account) -> None:
    session = sign_in(account, link(account))

    import_rows(session, [{"email": f"{number}@example.com"} for number in range(1_200)])

    assert len(export(session)) == 1_200


def test_current_session_states_who_calls_and_the_server(account: Account) -> None:
    session = sign_in(account, link(account))

    by_session, by_key = session.ok("GetCurrentSession"), account.ok("GetCurrentSession")

    assert by_session["account"] == by_key["account"] == account.ok("GetAccount")["account"]
    assert (by_session["session"]["name"], "apiKey" in by_session) == ("Ada", False)
    assert (by_key["apiKey"]["scope"], "session" in by_key) == ("admin", False)
    assert by_key["apiKey"] in account.ok("ListApiKeys")["apiKeys"]
    rest = {"serverVersion", "publicUrl", "limits"}
    assert {name: by_session[name] for name in rest} == {name: by_key[name] for name in rest}


def test_audit_log_records_sign_ins_with_their_links(account: Account) -> None:
    token = link(account, "write")
    (created,) = account.ok("ListSignInLinks")["signInLinks"]
    session = sign_in(account, token)
    current = session_of(session)
    account.ok("DeleteSession", id=current["id"])

    deleted, signed_in, linked = account.ok("ListAuditEntries")["entries"]

    assert [each["action"] for each in (linked, signed_in, deleted)] == [
        *("sign_in_link.created", "session.created", "session.deleted")
    ]
    assert linked["after"] == {
        "name": "Ada",
        "scope": "write",
        "expiresAt": created["expiresAt"],
    }
    assert (signed_in["actor"]["id"], signed_in["actor"]["name"]) == (current["id"], "Ada")
    assert (signed_in["ip"], signed_in["resourceId"]) == ("127.0.0.1", current["id"])
    assert signed_in["after"]["signInLinkId"] == linked["resourceId"]
    assert deleted["before"]["name"] == "Ada"
    assert token not in str([deleted, signed_in, linked])


# The cookie


def cookie_of(account: Account) -> tuple[str, str]:
    """Signs in. Returns the name and value of the cookie, and its attributes."""
    assert isinstance(account.front, HttpFront)
    body = f'{{"token": "{link(account)}"}}'.encode()
    _, headers, text = account.front.exchange(
        "POST", "/api/session", None, body=body, headers=SAME_ORIGIN
    )
    assert b"token" not in text
    pair, _, attributes = headers["set-cookie"].partition("; ")
    return pair, attributes


@over_http
def test_cookie_is_hidden_from_scripts_and_other_sites(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    pair, attributes = cookie_of(account)

    assert pair.startswith(f"roster-{account.front.address.rpartition(':')[2]}=")
    assert attributes == "Path=/; Max-Age=604800; HttpOnly; SameSite=Strict"


@over_http
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (SAME_ORIGIN, 200),
        ({"Origin": "http://{address}"}, 200),
        ({**SAME_ORIGIN, "Origin": "http://{address}"}, 200),
        ({}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://{address}"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({**SAME_ORIGIN, "Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://{address}"}, 403),
    ],
)
def test_request_with_the_cookie_must_prove_its_origin(
    account: Account, headers: dict[str, str], status: int
) -> None:
    assert isinstance(account.front, HttpFront)
    front, (pair, _) = account.front, cookie_of(account)
    headers = {name: value.format(address=front.address) for name, value in headers.items()}

    response = front.send("GET", "/api/tags", headers={"Cookie": f"a=b; {pair}", **headers})
    signed_in = front.send("POST", "/api/session", body=b'{"token": "x"}', headers=headers)

    assert response.status == status
    assert signed_in.status == (401 if status == 200 else 403)
    if status == 403:
        assert response.code == signed_in.code == "CrossOriginRequest"


@over_http
def test_response_to_a_session_is_not_stored_by_caches(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    session = sign_in(account, link(account))
    for path in ("/api/tags", "/api/subscribers/export"):
        _, headers, _ = account.front.exchange("GET", path, session.key)
        assert headers["cache-control"] == "no-store"
        _, headers, _ = account.front.exchange("GET", path, account.key)
        assert headers.get("cache-control") is None


@over_http
def test_host_other_than_this_machine_requires_https(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    front, (pair, _) = account.front, cookie_of(account)
    body = f'{{"token": "{link(account)}"}}'.encode()
    elsewhere = {**SAME_ORIGIN, "Host": "news.example.com", "X-Forwarded-Proto": "https"}

    refused = front.send("POST", "/api/session", body=body, headers=elsewhere)
    stolen = front.send("GET", "/api/tags", headers={**elsewhere, "Cookie": pair})

    assert (refused.status, refused.code) == (403, "HttpsRequired")
    assert (stolen.status, stolen.code) == (401, "Unauthorized")


@over_http
def test_api_key_takes_precedence_over_the_cookie(account: Account, other_account: Account) -> None:
    pair, _ = cookie_of(account)
    other_account.ok("CreateTag", name="theirs")

    response = send(other_account, "GET", "/api/tags", headers={"Cookie": pair})

    assert [tag["name"] for tag in response.body["tags"]] == ["theirs"]


@over_http
def test_token_is_read_from_the_cookie_only(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    pair, _ = cookie_of(account)
    token = pair.partition("=")[2]
    for headers in (
        {"Session": token},
        {"Grpc-Metadata-Session": token},
        {"Cookie": f"session={token}"},
        {"Cookie": f"__Host-roster={token}"},
        {"Authorization": f"Session {token}"},
        {"X-API-Key": token},
    ):
        response = account.front.send("GET", "/api/tags", headers={**SAME_ORIGIN, **headers})
        assert (response.status, response.code) == (401, "Unauthorized"), headers


@over_http
def test_two_different_cookies_are_rejected(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    (first, _), (second, _) = cookie_of(account), cookie_of(account)

    response = account.front.send(
        "GET", "/api/tags", headers={**SAME_ORIGIN, "Cookie": f"{first}; {second}"}
    )

    assert (response.status, response.code) == (401, "Unauthorized")


@over_http
def test_pages_of_links_and_forms_ignore_the_cookie(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    ada, (pair, _) = create_subscriber(account), cookie_of(account)
    url = account.ok("CreateSubscriberLinks", id=ada["id"])["links"][0]["url"]
    path = "/c/" + url.rpartition("/")[2]

    status, _, _ = account.front.exchange("GET", path, headers={"Cookie": pair})
    signup = account.front.send(
        "POST",
        "/api/signup",
        body=b'{"email": "bob@example.com"}',
        headers={"Cookie": pair, **SAME_ORIGIN},
    )

    assert status == 200
    assert (signup.status, signup.code) == (401, "Unauthorized")
