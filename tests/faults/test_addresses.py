"""Equality and validity of email addresses."""

from __future__ import annotations

from typing import Any

import pytest

from ..behavior.helpers import create_subscriber, emails, failures
from ..cases import each
from ..conftest import Account

EQUAL_ADDRESSES = {
    "case": ("User@EXAMPLE.com", "user@example.com"),
    "NFC and NFD": ("jos\u00e9@example.com", "jose\u0301@example.com"),
    "NFC and NFD in capitals": ("JOS\u00c9@example.com", "jose\u0301@EXAMPLE.com"),
    "U-label and A-label": ("ada@bücher.example", "ada@xn--bcher-kva.example"),
    "U-label and A-label in capitals": ("ada@BÜCHER.example", "ada@XN--BCHER-KVA.example"),
    "NFD domain": ("ada@bu\u0308cher.example", "ada@bücher.example"),
    "full-width domain": ("ada@ｅｘａｍｐｌｅ.com", "ada@example.com"),
    "full-width dot": ("ada@example\uff0ecom", "ada@example.com"),
}
INVALID_ADDRESSES = {
    "CR LF": "ada@example.com\r\nBcc: eve@example.com",
    "LF at the end": "ada@example.com\n",
    "CR at the end": "ada@example.com\r",
    "LF in the local part": "a\nda@example.com",
    "comma list": "ada@example.com,eve@example.com",
    "semicolon list": "ada@example.com;eve@example.com",
    "two with a space": "ada@example.com eve@example.com",
    "display name": "Ada <ada@example.com>",
    "angle brackets": "<ada@example.com>",
    "mailto": "mailto:ada@example.com",
    "comment": "ada(home)@example.com",
    "quoted local part": '"ada l"@example.com',
    "quoted though it need not be": '"ada"@example.com',
    "IP literal": "ada@[127.0.0.1]",
    "IPv6 literal": "ada@[IPv6:::1]",
    "bare IP": "ada@127.0.0.1",
    "bidi override in the local part": "a\u202eda@example.com",
    "bidi isolate in the domain": "ada@exa\u2066mple.com",
    "right-to-left mark": "ada\u200f@example.com",
    "zero-width space in the local part": "a\u200bda@example.com",
    "zero-width space in the domain": "ada@exa\u200bmple.com",
    "zero-width joiner": "a\u200dda@example.com",
    "word joiner": "ada@exam\u2060ple.com",
    "soft hyphen": "ada@exam\u00adple.com",
    "byte-order mark": "\ufeffada@example.com",
    "trailing dot": "ada@example.com.",
    "dot at the end of the local part": "ada.@example.com",
    "dot at the start": ".ada@example.com",
    "two dots": "a..da@example.com",
    "two dots in the domain": "ada@example..com",
    "domain without a dot": "ada@localhost",
    "no domain": "ada@",
    "no local part": "@example.com",
    "two at signs": "a@da@example.com",
    "hyphen at the start of a label": "ada@-example.com",
    "underscore in the domain": "ada@exa_mple.com",
    "backslash": "a\\da@example.com",
    "local part of 65": f"{'l' * 65}@example.com",
    "label of 64": f"ada@{'d' * 64}.com",
    "255 in all": f"{'l' * 64}@{'d' * 61}.{'d' * 61}.{'d' * 62}.com",
    "no such A-label": "ada@xn--a.com",
}


@each(("first", "second"), EQUAL_ADDRESSES)
def test_two_spellings_of_one_address_are_one_subscriber(
    account: Account, first: str, second: str
) -> None:
    created = account.ok("CreateSubscriber", email=first)

    assert account.fails("SubscriberAlreadyExists", "CreateSubscriber", email=second).status == 409
    rows = [{"email": second}, {"email": first}]
    body = account.ok("BulkCreateSubscribers", subscribers=rows)
    assert failures(body) == [(0, "ALREADY_EXISTS"), (1, "ALREADY_EXISTS")]
    assert account.ok("GetSubscriber", id=second) == created
    assert emails(account) == [first]
    account.ok("DeleteSubscriber", id=second)


@each(
    "addresses",
    {
        "sharp s": ("straße@x.de", "strasse@x.de"),
        "sharp s in the domain": ("ada@straße.de", "ada@strasse.de"),
        "ligature": ("ﬁ@x.de", "fi@x.de"),
        "underscore is no wildcard": ("a_b@x.de", "axb@x.de"),
    },
)
def test_similar_addresses_are_two_subscribers(
    account: Account, addresses: tuple[str, str]
) -> None:
    for email in addresses:
        account.ok("CreateSubscriber", email=email)

    found = [account.ok("GetSubscriber", id=email)["subscriber"]["email"] for email in addresses]
    assert found == list(addresses)


@pytest.fixture
def bob(account: Account) -> dict[str, Any]:
    """The only subscriber of the account."""
    return create_subscriber(account, "bob@example.com")


@each("text", INVALID_ADDRESSES)
def test_invalid_address_is_rejected_everywhere(
    account: Account, bob: dict[str, Any], text: str
) -> None:
    created = account.fails("ValidationError", "CreateSubscriber", email=text)
    updated = account.fails("ValidationError", "UpdateSubscriber", id=bob["id"], email=text)
    bulk = account.ok("BulkCreateSubscribers", subscribers=[{"email": text}])

    code = "INVALID_CHARACTER" if {"\r", "\n"} & set(text) else "INVALID_FORMAT"
    assert created.violations == updated.violations == [("email", code)]
    assert bulk["failed"] == [{"index": 0, "email": text, "reason": "INVALID_EMAIL"}]
    account.fails("SubscriberNotFound", "GetSubscriber", id=text)
    assert account.ok("ListSubscribers")["subscribers"] == [bob]
