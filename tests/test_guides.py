"""The guides in `server/guides`: samples run, and statements match the code."""

from __future__ import annotations

import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.config import SETTINGS
from rosterd.server.features.links.pages import LANGUAGES
from rosterd.server.features.signups.store import REPEAT_TIME
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.rules import check_transition
from rosterd.server.features.webhooks import rules
from rosterd.server.features.webhooks.egress.client import MAX_READ, TIMEOUT_SECONDS
from rosterd.server.features.webhooks.store_retention import (
    ATTEMPT_RETENTION,
    EVENT_RETENTION,
)
from rosterd.server.rpc.errors import InvalidStatusTransition
from rosterd.server.rpc.idempotency.store import RETENTION_MILLISECONDS
from rosterd.server.rpc.interceptors.rate_limit import KEY_LIMIT_FACTOR
from rosterd.server.rpc.paging import DEFAULT_LIMIT, MAX_LIMIT
from rosterd.server.security.links import CONFIRM_TIME, UNDO_TIME
from rosterd.server.serving.documentation import documentation

from . import tools
from .conftest import Account, new_account
from .documents import ROOT, read, table, tokens
from .fronts import HttpFront
from .processes import Service
from .samples import localized, run, run_grpcurl, run_shell

FOLDER = "server/guides"
GUIDES = [guide.name for guide in documentation().guides]
DAY = 86_400_000


def document(name: str) -> str:
    return f"{FOLDER}/{name}.md"


def samples(name: str) -> list[tuple[str, str, str]]:
    """Returns the code blocks of a guide: the comment before, the language and the code."""
    found, mark = [], ""
    for token in tokens(document(name)):
        if token.type == "fence":
            found.append((mark, token.info, token.content))
        mark = token.content.strip() if token.type == "html_block" else ""
    return found


def text_of(name: str) -> str:
    return " ".join(read(document(name)).split())


def test_every_guide_is_in_the_navigation() -> None:
    assert sorted(GUIDES) == sorted(path.stem for path in (ROOT / FOLDER).glob("*.md"))


@pytest.mark.verify
@pytest.mark.parametrize("name", GUIDES)
def test_samples_of_a_guide_run_in_order(name: str, service: Service, tmp_path: Path) -> None:
    front = HttpFront("http", service.http)
    # Each language has its own account, because samples in several languages are alternatives.
    accounts: dict[str, Account] = {}
    output = ""
    for mark, language, code in samples(name):
        program = "grpcurl" if language == "sh" and "grpcurl" in code else language
        account = accounts.setdefault(program, new_account(service, front))
        if language == "json":
            assert shape(json.loads(output)) == shape(json.loads(code))
        elif program == "grpcurl" and "127.0.0.1:50051 list" not in code:
            run_grpcurl(code, account)
        elif language == "sh" and program != "grpcurl":
            webhook = account.ok("CreateWebhook", url="https://example.com/", enabled=False)
            done = run_shell(code, account, tmp_path, WEBHOOK_ID=webhook["webhook"]["id"])
            assert (done.returncode != 0) == ("fails" in mark), done.stdout + done.stderr
            output = done.stdout
        elif language == "python" and "example:" not in mark:
            done = run([sys.executable, "-c", localized(code, account)], account)
            assert done.returncode == 0, done.stderr


def shape(value: Any) -> Any:
    """Returns the structure of JSON: types instead of values, and one item per list."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(item) for item in value[:1]] if isinstance(value, list) else type(value)


@pytest.mark.verify
@pytest.mark.parametrize("name", GUIDES)
def test_javascript_and_grpcurl_samples_run(name: str, service: Service) -> None:
    front = HttpFront("http", service.http)
    for mark, language, code in samples(name):
        account = new_account(service, front)
        if language == "javascript" and "example:" not in mark:
            node = tools.program("node", "typescript")
            text = localized(code, account)
            done = run([node, "--input-type=module", "-e", text], account)
        elif language == "sh" and "grpcurl" in code:
            tools.program("grpcurl", "grpcurl")
            done = run(["bash", "-euc", localized(code, account)], account)
        else:
            continue
        assert done.returncode == 0, done.stderr


def test_programs_are_all_tested() -> None:
    marks = [mark for name in GUIDES for mark, _, _ in samples(name)]

    assert set(re.findall(r"example: ([\w.]+)", " ".join(marks))) == {
        *(
            "receiver.py",
            "receiver.mjs",
            "receiver.go",
        ),  # tests/features/webhooks/test_verifiers.py
        *("handler.py", "handler.mjs"),  # tests/features/links/test_handlers.py
        *("form.html", "plain_form.html"),  # tests/features/links/test_form.py
    }


def test_diagram_shows_exactly_the_transitions() -> None:
    text = read(f"{FOLDER}/statuses.svg")
    shown = {
        (before, after, admin)
        for admin, sources, targets in re.findall(
            r'(data-admin="" )?data-from="([\w ]+)" data-to="([\w ]+)"', text
        )
        for before in sources.split()
        for after in targets.split()
    }

    allowed = {
        (before.name, after.name, 'data-admin="" ' if not is_allowed(before, after) else "")
        for before, after in itertools.permutations(Status, 2)
        if is_allowed(before, after, by_admin=True)
    }
    assert shown == allowed


def is_allowed(before: Status, after: Status, *, by_admin: bool = False) -> bool:
    try:
        check_transition(before, after, by_admin=by_admin)
    except InvalidStatusTransition:
        return False
    return True


def test_table_of_statuses_is_complete() -> None:
    rows = table(document("statuses"), "status | meaning")

    assert [name for name, _ in rows] == [f"`{status.name}`" for status in Status]


def test_limits_of_pages_agree_with_the_code() -> None:
    text = text_of("pagination")

    assert f"The default limit is {DEFAULT_LIMIT}. A limit above {MAX_LIMIT} is reduced" in text


def test_retention_of_idempotency_keys_agrees_with_the_code() -> None:
    hours = RETENTION_MILLISECONDS // 3_600_000

    assert f"stored per account for {hours} hours" in text_of("idempotency")


def test_durations_of_webhooks_agree_with_the_code() -> None:
    text = text_of("webhooks")
    *delays, last = map(duration, rules.RETRY_DELAYS)
    disable_after = rules.DISABLE_AFTER // 3_600_000

    for statement in (
        f"retried after {', '.join(delays)} and {last}, each varied by up to {rules.JITTER:.0%}.",
        f"Respond with 2xx within {duration(TIMEOUT_SECONDS)}.",
        f"At most {MAX_READ // 1024} KiB of the response",
        f"At most {rules.MAX_IN_FLIGHT_PER_ENDPOINT} requests are sent",
        f"After {rules.FAILURES_BEFORE_PAUSE} failures in a row the webhook is paused**"
        f" for {duration(rules.MIN_PAUSE // 1000)}.",
        f"up to {duration(rules.MAX_PAUSE // 1000)}.",
        f"After {rules.GONE}, or if every attempt failed for {disable_after} hours",
        f"retained for {ATTEMPT_RETENTION // DAY} days",
        f"Events are retained for {EVENT_RETENTION // DAY} days.",
        f"both secrets for {duration(rules.OLD_SECRET_VALIDITY // 1000)}",
    ):
        assert statement in text
    assert f"Events are retained for {EVENT_RETENTION // DAY} days." in text_of("sync")


def test_statements_about_links_agree_with_the_code() -> None:
    text = text_of("double-opt-in")

    assert f"`confirmUrl` works for {CONFIRM_TIME // DAY} days" in text
    assert f"can undo that for {duration(UNDO_TIME // 1000)}." in text
    assert LANGUAGES == ("en", "de", "fr", "es")
    assert "Pages are in English, German, French or Spanish" in text


def test_limits_of_signups_agree_with_the_code() -> None:
    text = text_of("sign-up")

    assert SETTINGS["signup_rate_limit"].default == "20/60"
    assert "Each client address can send 20 sign-ups per minute" in text
    assert f"each key {KEY_LIMIT_FACTOR} times as many" in text
    assert f"at most one of these events in {duration(REPEAT_TIME // 1000)}." in text


def duration(seconds: float) -> str:
    """Formats a duration in the largest unit with a count of at least 2, such as "5 minutes"."""
    units = ((3_600, "hours"), (60, "minutes"), (1, "seconds"))
    length, unit = next(item for item in units if seconds >= 2 * item[0])
    return f"{seconds / length:g} {unit}"
