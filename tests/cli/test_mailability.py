"""Tests of `roster mailability`."""

from __future__ import annotations

import json

from rosterd.server.serving.console import ExitCode

from ..conftest import Account
from .transfers import transfer


def test_answer_is_printed_in_words_or_as_the_api_returns_it(http_account: Account) -> None:
    account = http_account
    account.ok("CreateSubscriber", email="ada+x@example.com", isConfirmed=True)
    answer = account.ok("GetSubscriberMailability", id="ada+x@example.com")

    done = transfer(account, "mailability", "ada+x@example.com")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "ada+x@example.com may be mailed: CONFIRMED"
        f' since {answer["since"]}, by API_KEY "test".\n'
        "Can be changed to: UNSUBSCRIBED, BOUNCED, COMPLAINED.\n"
    )
    as_json = transfer(account, "mailability", "ada+x@example.com", "--json")
    assert json.loads(as_json.stdout) == answer
    account.ok("AddSuppressions", emails=["never@example.com"])
    suppressed = transfer(account, "mailability", "never@example.com").stdout
    assert suppressed.startswith("never@example.com must not be mailed: SUPPRESSED since ")
    assert suppressed.endswith("The address is suppressed.\n")
    assert transfer(account, "mailability", "ada").returncode == ExitCode.REJECTED
