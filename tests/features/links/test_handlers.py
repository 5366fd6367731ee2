"""The handlers of the guide to double opt-in, run with a service, a mail server and a browser."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser

from ...behavior.deliveries import wait_for, wait_for_states
from ...behavior.helpers import create_subscriber
from ...components import free_port
from ...conftest import Account
from ...documents import fences
from ...samples import run
from ...tools import file, program
from ..webhooks.receiver_programs import Language, running, write_receiver
from .mailbox import Mailbox

pytestmark = pytest.mark.verify

GUIDE = "server/guides/double-opt-in.md"
DOCUMENTED_URL = "http://127.0.0.1:8001/"
EMAIL = "ada@example.com"
ONE_CLICK = "List-Unsubscribe=One-Click"


def in_python(folder: Path) -> list[str]:
    return [sys.executable, str(write_receiver("handler.py", folder, GUIDE))]


def in_javascript(folder: Path) -> list[str]:
    node = program("node", "typescript")
    mailer = file("typescript/webhooks/node_modules/nodemailer", "typescript")
    (folder / "node_modules").symlink_to(mailer.parent)
    return [node, str(write_receiver("handler.mjs", folder, GUIDE))]


@pytest.fixture(params=[in_python, in_javascript])
def account(
    request: pytest.FixtureRequest, http_account: Account, mailbox: Mailbox, tmp_path: Path
) -> Iterator[Account]:
    """An account with the webhook that the guide creates, and the handler behind it."""
    command = request.param(tmp_path)
    port = free_port()
    (sample,) = [code for code in fences(GUIDE, "sh") if DOCUMENTED_URL in code]
    sample = sample.replace(DOCUMENTED_URL, f"http://127.0.0.1:{port}/")
    secret = json.loads(run(["bash", "-c", sample], http_account).stdout)["secret"]
    variables = {
        "SMTP_HOST": mailbox.address,
        "ROSTER_URL": f"http://{http_account.service.http}",
        "ROSTER_API_KEY": http_account.new_key("read"),
    }
    with running(Language([], command), secret, tmp_path, port, **variables):
        yield http_account


def sign_up(account: Account) -> None:
    account.with_key(account.new_key("signup")).ok("SignUp", email=EMAIL)


def status(account: Account) -> str:
    return str(account.ok("GetSubscriber", id=EMAIL)["subscriber"]["status"])


def url_in(mail: Message) -> str:
    text = mail.get_payload(decode=True)
    assert isinstance(text, bytes)
    (url,) = re.findall(r"https?://\S+", text.decode())
    return str(url)


def webhook(account: Account) -> Any:
    (found,) = account.ok("ListWebhooks")["webhooks"]
    return found


def test_person_confirms_and_unsubscribes_with_the_mail(
    account: Account, mailbox: Mailbox, browser: Browser
) -> None:
    sign_up(account)
    mail = mailbox.receive()

    assert (mail["To"], mail["Subject"]) == (EMAIL, "Please confirm your subscription")
    with browser.new_page() as page:
        page.goto(url_in(mail))
        assert status(account) == "UNCONFIRMED"
        page.get_by_role("button", name="Confirm").click()
        page.get_by_role("heading", name="Your subscription is confirmed").wait_for()
    assert status(account) == "CONFIRMED"

    assert mail["List-Unsubscribe-Post"] == ONE_CLICK
    match = re.fullmatch(r"\s*<(http\S+)>", mail["List-Unsubscribe"])
    assert match is not None, mail["List-Unsubscribe"]
    with urlopen(match[1], data=ONE_CLICK.encode()) as response:
        assert response.status == 200
    assert status(account) == "UNSUBSCRIBED"
    assert [event["type"] for event in account.ok("ListEvents")["events"]] == [
        "subscriber.created",
        "subscriber.confirmed",
        "subscriber.unsubscribed",
    ]


def test_mail_is_sent_again_after_the_mail_server_rejected_it(
    account: Account, mailbox: Mailbox
) -> None:
    mailbox.rejections = 1

    sign_up(account)

    assert mailbox.receive()["To"] == EMAIL
    assert mailbox.rejections == 0
    (delivery,) = wait_for_states(account, webhook(account), "SUCCEEDED")
    first, _ = account.ok("GetWebhookDelivery", id=delivery["id"])["attempts"]
    assert first["httpStatus"] == 503
    assert "Try again later" in first["responseBody"]


def test_mail_that_is_refused_for_good_is_no_failure(account: Account, mailbox: Mailbox) -> None:
    mailbox.unknown, mailbox.unwanted = {"a@example.com"}, {"b@example.com"}

    for email in ("a@example.com", "b@example.com", EMAIL):
        create_subscriber(account, email=email)

    found = wait_for_states(account, webhook(account), *["SUCCEEDED"] * 3)
    assert [delivery["attempts"] for delivery in found] == [1, 1, 1]
    assert mailbox.receive()["To"] == EMAIL
    assert mailbox.mails.empty()


@pytest.mark.parametrize("decision", ["CONFIRMED", "UNSUBSCRIBED"])
def test_person_who_decided_before_the_mail_gets_none(
    account: Account, mailbox: Mailbox, decision: str
) -> None:
    mailbox.rejections = 1
    sign_up(account)
    (delivery,) = wait_for(account, webhook(account), lambda found: found and found[0]["attempts"])

    account.ok("ChangeSubscriberStatus", id=EMAIL, status=decision)
    account.ok("RetryWebhookDelivery", id=delivery["id"])

    wait_for_states(account, webhook(account), "SUCCEEDED")
    assert mailbox.mails.empty()


def test_replayed_event_and_other_events_cause_no_mail(account: Account, mailbox: Mailbox) -> None:
    result = account.ok("TestWebhook", id=webhook(account)["id"])
    create_subscriber(account, "bea@example.com", isConfirmed=True)
    sign_up(account)
    mailbox.receive()
    wait_for_states(account, webhook(account), *["SUCCEEDED"] * 3)

    account.ok("ReplayWebhook", id=webhook(account)["id"], since="2026-01-01T00:00:00Z")

    assert result["delivery"]["state"] == "SUCCEEDED"
    wait_for_states(account, webhook(account), *["SUCCEEDED"] * 5)
    assert mailbox.mails.empty()


def test_forged_event_is_rejected(account: Account, mailbox: Mailbox) -> None:
    person = {"email": EMAIL, "confirmUrl": "https://a.b", "unsubscribeUrl": "https://a.b"}
    forged = {"data": {"subscriber": person}}

    with pytest.raises(HTTPError) as raised:
        urlopen(webhook(account)["url"], data=json.dumps(forged).encode())

    assert raised.value.code == 400
    raised.value.close()
    assert mailbox.mails.empty()
