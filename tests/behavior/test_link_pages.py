"""Pages of links over every front: their content, headers and effects."""

from __future__ import annotations

import gzip
import random
import re
import string
import zlib
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.api.httpbody_pb2 import HttpBody
from grpc_status import rpc_status

from roster.v1 import links_pb2
from roster.v1.links_pb2 import GetPagePreviewRequest
from rosterd.server.security.encryption import Encryption
from rosterd.server.security.links import Links

from ..conftest import Account
from ..fronts import GrpcFront, HttpFront, error_response
from .helpers import (
    STATUSES,
    confirm_token,
    create_subscriber,
    create_subscriber_in,
    over_http,
    signed_unsubscribe_token,
    unsubscribe_token,
)

ADA = "ada@example.com"
ONE_CLICK = b"List-Unsubscribe=One-Click"
GZIPPED = gzip.compress(ONE_CLICK, mtime=0)
ONE_CLICKS = [
    ONE_CLICK,
    b"list%2Dunsubscribe=one-click&x=",
    b'--a\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--a--\r\n',
    ONE_CLICK.decode().encode("utf-16"),
]
UNDO = b"action=undo"
FORM = "application/x-www-form-urlencoded"
# The page to which a button of a preview leads.
NEXT = r'name="page" value="(\w+)"'
# Headers or metadata that differ between two responses.
UNIQUE = {"date", "x-request-id", "connection"}


@dataclass(frozen=True)
class Opened:
    """A page as HTTP returns it; over gRPC, headers are the metadata."""

    status: int
    headers: dict[str, str]
    html: str

    @property
    def title(self) -> str:
        return self.html.partition("<h1>")[2].partition("</h1>")[0]


def confirm_link(account: Account, subscriber: str) -> str:
    return f"c/{confirm_token(account, subscriber)}"


def unsubscribe_link(account: Account, subscriber: str) -> str:
    return f"u/{unsubscribe_token(account, subscriber)}"


def open_page(account: Account, link: str, body: bytes | None = None, **headers: str) -> Opened:
    """Opens the page of a link without a key, or submits it if there is a body."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    path, _, token = link.partition("/")
    if isinstance(account.front, HttpFront):
        method = "GET" if body is None else "POST"
        if body is not None:
            sent.setdefault("Content-Type", FORM)
        status, received, text = account.front.exchange(method, f"/{link}", body=body, headers=sent)
        return Opened(status, received, text.decode())
    assert isinstance(account.front, GrpcFront)
    name = f"{'Get' if body is None else 'Submit'}{'Confirm' if path == 'c' else 'Unsubscribe'}Page"
    request: Any = getattr(links_pb2, f"{name}Request")(token=token)
    if body is not None:
        request.form.CopyFrom(HttpBody(content_type=FORM, data=body))
    metadata = [(name.lower(), value) for name, value in sent.items()]
    try:
        reply, call = account.front.stub(name).with_call(request, metadata=metadata, timeout=20)
    except grpc.RpcError as error:
        details, page = rpc_status.from_call(error).details, HttpBody()
        assert any(packed.Unpack(page) for packed in details)
        html = page.data.decode()
        return Opened(error_response(error).status, dict(error.trailing_metadata()), html)
    received = {**dict(call.trailing_metadata()), "content-type": reply.content_type}
    return Opened(200, received, reply.data.decode())


def status_of(account: Account) -> str:
    status: str = account.ok("GetSubscriber", id=ADA)["subscriber"]["status"]
    return status


def test_submitting_the_page_confirms(account: Account) -> None:
    create_subscriber(account)
    link = confirm_link(account, ADA)

    submitted = open_page(account, link, b"")

    assert submitted.title == "Your subscription is confirmed"
    assert status_of(account) == "CONFIRMED"
    assert [open_page(account, link, body).title for body in (None, b"")] == [submitted.title] * 2


@pytest.mark.parametrize("body", [b"", ONE_CLICK, b"action=other", b"\xff" * 2_000])
def test_submitting_the_page_unsubscribes(account: Account, body: bytes) -> None:
    create_subscriber(account)
    link = unsubscribe_link(account, ADA)

    submitted = open_page(account, link, body)

    assert (submitted.status, submitted.title) == (200, "You are unsubscribed")
    assert status_of(account) == "UNSUBSCRIBED"
    again = open_page(account, link, body)
    assert again.html == submitted.html


@pytest.mark.parametrize("body", ONE_CLICKS)
def test_one_click_never_gives_consent(account: Account, body: bytes) -> None:
    create_subscriber(account)
    link = unsubscribe_link(account, ADA)

    # Some senders mistake one link for the other.
    submitted = open_page(account, confirm_link(account, ADA), body)
    again = open_page(account, link, body + b"&action=undo")

    assert [each.title for each in (submitted, again)] == ["You are unsubscribed"] * 2
    assert status_of(account) == "UNSUBSCRIBED"


def test_one_click_opts_out_with_a_link_that_no_longer_confirms(account: Account) -> None:
    create_subscriber(account)
    link = confirm_link(account, ADA)

    for status in ("UNCONFIRMED", "CONFIRMED"):
        account.ok("ChangeSubscriberStatus", id=ADA, status=status)
        # Mailbox providers repeat a call whose response they did not get.
        pages = [open_page(account, link, ONE_CLICK) for _ in range(2)]
        assert [page.title for page in pages] == ["You are unsubscribed"] * 2
        assert status_of(account) == "UNSUBSCRIBED"
        assert open_page(account, link, b"").status == 404

    ada = account.ok("UpdateSubscriber", id=ADA, email="lee@b.io")["subscriber"]
    account.ok("ChangeSubscriberStatus", id=ada["id"], status="CONFIRMED")
    assert open_page(account, link, ONE_CLICK).title == "You are unsubscribed"
    assert account.ok("GetSubscriber", id=ada["id"])["subscriber"]["status"] == "UNSUBSCRIBED"


def test_the_page_undoes_that_a_person_unsubscribed(account: Account) -> None:
    create_subscriber(account, isConfirmed=True)
    link = unsubscribe_link(account, ADA)

    assert 'value="undo"' in open_page(account, link, b"").html
    assert 'value="undo"' in open_page(account, link).html
    undone = open_page(account, link, UNDO)

    assert undone.title == "You are subscribed again"
    assert 'value="undo"' not in undone.html
    assert status_of(account) == "CONFIRMED"


@pytest.mark.parametrize("status", STATUSES)
def test_the_page_shows_the_status(account: Account, status: str) -> None:
    create_subscriber_in(account, status)

    confirm = open_page(account, confirm_link(account, ADA))
    unsubscribe = open_page(account, unsubscribe_link(account, ADA))

    is_unsubscribed = status in ("UNSUBSCRIBED", "COMPLAINED")
    assert unsubscribe.title == ("You are unsubscribed" if is_unsubscribed else "Unsubscribe")
    titles = {
        "CONFIRMED": "Your subscription is confirmed",
        "COMPLAINED": "This subscription cannot be confirmed here",
    }
    assert confirm.title == titles.get(status, "Confirm your subscription")


def test_the_page_shows_the_sender_and_a_masked_address(account: Account) -> None:
    create_subscriber(account, firstName="Ada", lastName="Lovelace")
    account.ok("UpdateAccount", displayName="<b>News</b> & more", color="#ffcc00")

    for new_link in (confirm_link, unsubscribe_link):
        html = open_page(account, new_link(account, ADA)).html
        assert "&lt;b&gt;News&lt;/b&gt; &amp; more" in html
        assert "--color: #ffcc00" in html
        assert "ad…@example.com" in html
        assert not any(text in html for text in ("ada@", "Ada", "Lovelace", account.id))


def test_the_page_of_a_changed_address_shows_only_the_address_of_the_link(
    account: Account,
) -> None:
    create_subscriber(account)
    link = unsubscribe_link(account, ADA)
    account.ok("UpdateSubscriber", id=ADA, email="new@elsewhere.org")

    for body in (None, ONE_CLICK, UNDO, None):
        html = open_page(account, link, body).html
        assert "ad…@example.com" in html
        assert 'value="undo"' not in html


def test_the_page_needs_nothing_else_and_is_not_stored(account: Account) -> None:
    create_subscriber(account)

    opened = open_page(account, unsubscribe_link(account, ADA))

    assert opened.headers["content-type"] == "text/html; charset=utf-8"
    assert opened.headers["cache-control"] == "no-store"
    assert opened.headers["referrer-policy"] == "no-referrer"
    assert opened.headers["x-robots-tag"] == "noindex"
    policy = opened.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "form-action 'self'" in policy
    assert "frame-ancestors 'none'" in policy


def preview(account: Account, page: str, language: str) -> Opened:
    """Opens the preview of a page with the key of the account."""
    if isinstance(account.front, HttpFront):
        path = f"/api/account/page-preview?page={page}&language={language}"
        status, headers, html = account.front.exchange("GET", path, account.key)
        return Opened(status, headers, html.decode())
    assert isinstance(account.front, GrpcFront)
    request = links_pb2.GetPagePreviewRequest(page=page, language=language)
    metadata = [("authorization", f"Bearer {account.key}")]
    stub = account.front.stub("GetPagePreview")
    reply, call = stub.with_call(request, metadata=metadata, timeout=20)
    return Opened(200, dict(call.trailing_metadata()), reply.data.decode())


def test_previews_are_the_pages_that_people_get_and_change_nothing(account: Account) -> None:
    create_subscriber(account)
    account.ok("UpdateAccount", displayName="<b>News</b> & more", color="#ffcc00")
    real = {
        "CONFIRM": open_page(account, confirm_link(account, ADA)),
        "UNSUBSCRIBE": open_page(account, unsubscribe_link(account, ADA)),
    }

    pages = GetPagePreviewRequest.Page.keys()[1:]
    previews = {name: preview(account, name, "en") for name in pages}

    for name, opened in real.items():
        card = opened.html.partition("<h1>")[2].partition("<form")[0]
        assert card in previews[name].html
    for name, opened in previews.items():
        assert opened.status == 200
        assert "This is a preview." in opened.html
        assert 'method="post"' not in opened.html, name
        assert "&lt;b&gt;News&lt;/b&gt; &amp; more" in opened.html
        assert opened.headers["content-security-policy"].startswith("default-src 'none'")
    follows = {name: re.findall(NEXT, opened.html) for name, opened in previews.items()}
    assert {name: found for name, found in follows.items() if found} == {
        "CONFIRM": ["CONFIRMED"],
        "UNSUBSCRIBE": ["UNSUBSCRIBED"],
        "UNSUBSCRIBED": ["RESUBSCRIBED"],
    }
    assert "This is a preview." not in real["CONFIRM"].html
    assert status_of(account) == "UNCONFIRMED"


def test_preview_is_in_the_chosen_language_and_leads_to_the_others(account: Account) -> None:
    opened = preview(account, "UNSUBSCRIBE", "de")

    assert opened.title == "Abmelden"
    assert opened.headers["content-language"] == "de"
    for language in ("en", "fr", "es"):
        assert f'href="?page=UNSUBSCRIBE&amp;language={language}"' in opened.html


@pytest.mark.parametrize(
    ("language", "title"),
    [("de-DE,en;q=0.5", "Abmelden"), ("fr", "Se désinscrire"), ("es", "Cancelar la suscripción")],
)
def test_the_page_is_in_the_language_of_the_person(
    account: Account, language: str, title: str
) -> None:
    create_subscriber(account)

    opened = open_page(account, unsubscribe_link(account, ADA), Accept_Language=language)

    assert opened.title == title
    assert opened.headers["content-language"] == language[:2]
    assert "Accept-Language" in opened.headers["vary"]


def assert_same_page(opened: dict[str, Opened]) -> None:
    """All are the same page with the same headers."""
    assert {page.status for page in opened.values()} == {404}
    assert len({page.html for page in opened.values()}) == 1
    headers = [
        {name: value for name, value in page.headers.items() if name not in UNIQUE}
        for page in opened.values()
    ]
    headers = [{n: v for n, v in each.items() if not n.startswith("grpc")} for each in headers]
    assert all(each == headers[0] for each in headers)


def ended_links(account: Account) -> dict[str, str]:
    """Returns links that the account issued and that do not work anymore, for each reason."""
    names = ("expired", "deleted", "moved", "bounced", "unsubscribed")
    people = {name: create_subscriber(account, f"{name}@example.com") for name in names}
    links = {name: confirm_link(account, person["id"]) for name, person in people.items()}
    secret = Encryption(account.service.data_key())
    url = Links(secret, "http://x").confirm_url(
        account.id, people["expired"]["id"], "expired@example.com", 0, 1
    )
    links["expired"] = url.removeprefix("http://x/")
    account.call("DeleteSubscriber", id="deleted@example.com")
    account.ok("UpdateSubscriber", id="moved@example.com", email="new@example.com")
    for name in ("bounced", "unsubscribed"):
        account.ok("ChangeSubscriberStatus", id=people[name]["id"], status=name.upper())
    return links


@pytest.mark.parametrize("body", [None, b""], ids=["opened", "submitted"])
def test_the_page_of_a_link_that_ended_names_the_sender_and_not_the_reason(
    account: Account, body: bytes | None
) -> None:
    links = ended_links(account)
    logo = b64encode(bytes.fromhex("47494638396101000100000000002c00000000010001000002024401003b"))
    account.ok("UpdateAccount", displayName="News & more", color="#ffcc00", logo=logo.decode())

    opened = {case: open_page(account, link, body) for case, link in links.items()}

    assert_same_page(opened)
    page = opened["expired"]
    assert page.title == "This link no longer works"
    assert "News &amp; more" in page.html
    assert "--color: #ffcc00" in page.html
    assert not any(text in page.html for text in ("example", "data:", account.id))


def invalid_links(account: Account, other: Account) -> dict[str, str]:
    """Returns links with tokens that the service did not issue, or that cannot be verified."""
    create_subscriber(account)
    gone = create_subscriber(account, "gone@example.com")
    theirs = signed_unsubscribe_token(account, create_subscriber(other))
    valid = unsubscribe_link(account, ADA)
    account.call("DeleteSubscriber", id="gone@example.com")
    return {
        "forged": f"{valid[:-32]}{'A' * 32}",
        "truncated": valid[:-1],
        "foreign": f"u/{theirs}",
        "of another purpose": confirm_link(account, ADA).replace("c", "u", 1),
        "deleted": f"u/{signed_unsubscribe_token(account, gone)}",
        "random": "u/" + "".join(random.choices(string.ascii_uppercase, k=84)),
        "short": "u/x",
        "only characters that mail programs add": "u/.>",
    }


@pytest.mark.parametrize("body", [None, ONE_CLICK], ids=["opened", "submitted"])
def test_tokens_that_do_not_work_have_equal_responses(
    account: Account, other_account: Account, body: bytes | None
) -> None:
    account.ok("UpdateAccount", displayName="Analytical Letters")
    opened = {
        case: open_page(account, link, body)
        for case, link in invalid_links(account, other_account).items()
    }

    assert_same_page(opened)
    assert opened["forged"].title == "This link does not work"
    assert "Analytical" not in opened["forged"].html
    assert status_of(account) == status_of(other_account) == "UNCONFIRMED"


@over_http
def test_path_and_parameters_of_a_preview_are_those_of_an_operation(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    path = "/api/account/page-preview?page=CONFIRM"
    statuses = {path: 200, f"{path}&utm_source=a": 400, path.replace("/account", "//account"): 404}
    for called, status in statuses.items():
        assert account.front.exchange("GET", called, account.key)[0] == status, called


@over_http
def test_characters_that_mail_programs_add_to_urls_are_ignored(account: Account) -> None:
    added = [".", ")", "%29", ">", "%3E", ",", "%2C", "%20", "%253E", ">.", "/", "//", "%A0"]
    added += ["/index.html", "%22%3EUnsubscribe%3C/a%3E", "%2F"]
    added += ["?utm_source=a&amp;utm_source=b", "?name=%E9&token=x&form=%", "?a" + "&a" * 99]
    for number, after in enumerate(added):
        person = f"{number}@example.com"
        create_subscriber(account, person, isConfirmed=True)
        links = [f"{new(account, person)}{after}" for new in (unsubscribe_link, confirm_link)]
        if after == "/":
            links = [link.replace("/", "//") for link in links]

        pages = [open_page(account, links[0], body) for body in (None, ONE_CLICK, UNDO)]
        confirmed = open_page(account, links[1], b"")

        assert [page.title for page in (*pages, confirmed)] == [
            "Unsubscribe",
            "You are unsubscribed",
            "You are subscribed again",
            "Your subscription is confirmed",
        ], after


@over_http
@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", GZIPPED),
        ("gzip", GZIPPED + b"\r\n\0"),
        ("gzip", gzip.compress(b"", mtime=0) + GZIPPED),
        ("deflate", zlib.compress(ONE_CLICK)),
        ("deflate", zlib.compress(ONE_CLICK)[2:-4]),
    ],
)
def test_forms_and_paths_that_mail_programs_change_opt_out(
    account: Account, encoding: str, body: bytes
) -> None:
    create_subscriber(account)
    headers = {"Content_Encoding": encoding}
    link = confirm_link(account, ADA)

    broken = (body[:5] + b"broken", body[:12], GZIPPED + GZIPPED[:-9], GZIPPED * 9)
    for form, changed in (
        *((each, headers) for each in broken),
        (b"\x0b\x02", {"Content_Encoding": "br"}),
    ):
        assert open_page(account, link, form, **changed).title == "Confirm your subscription"
    assert status_of(account) == "UNCONFIRMED"
    for opened in (link, unsubscribe_link(account, ADA)):
        submitted = open_page(account, opened[0].upper() + opened[1:], body, **headers)
        assert submitted.title == "You are unsubscribed"
        account.ok("ChangeSubscriberStatus", id=ADA, status="UNCONFIRMED")
    for form in (b"", body[:12]):
        unsubscribed = open_page(account, unsubscribe_link(account, ADA), form, **headers)
        assert unsubscribed.title == "You are unsubscribed"
        account.ok("ChangeSubscriberStatus", id=ADA, status="UNCONFIRMED")


# Headers that are conditions, or not valid, in other calls.
UNUSUAL = {
    "If_Match": '"another"',
    "Idempotency_Key": "ü",
    "Grpc_Timeout": "soon",
    "Content_Type": "té/xt",
    "Transfer_Encoding": "gzip, chunked",
}


@over_http
@pytest.mark.parametrize("name", UNUSUAL)
def test_no_header_prevents_an_opt_out(account: Account, name: str) -> None:
    create_subscriber(account)
    chunked = f"{len(ONE_CLICK):x}\r\n".encode() + ONE_CLICK + b"\r\n0\r\n\r\n"
    body = chunked if name == "Transfer_Encoding" else ONE_CLICK

    submitted = open_page(account, unsubscribe_link(account, ADA), body, **{name: UNUSUAL[name]})

    assert (submitted.status, submitted.title) == (200, "You are unsubscribed")


@over_http
@pytest.mark.parametrize("size", [70_000, 2 << 20])
def test_no_length_of_a_form_prevents_an_opt_out(account: Account, size: int) -> None:
    create_subscriber(account)
    link = confirm_link(account, ADA)

    # A form whose rest is not read may be that of a one-click unsubscription.
    confirmed = open_page(account, link, b"x" * size)
    again = open_page(account, unsubscribe_link(account, ADA), UNDO + b"&x=" + b"x" * size)

    assert confirmed.title == "Confirm your subscription"
    assert ("connection" in confirmed.headers) is (size > 1 << 20)
    assert again.title == "You are unsubscribed"
    account.ok("ChangeSubscriberStatus", id=ADA, status="UNCONFIRMED")
    assert open_page(account, link, ONE_CLICK.ljust(size)).title == again.title
