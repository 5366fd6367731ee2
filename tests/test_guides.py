"""The guides in `server/guides`: samples run, and statements match the code."""

from __future__ import annotations

import itertools
import os
import re
import sqlite3
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from roster.v1.operations_pb2 import Operation
from rosterd.http_gateway.load_shedding import LoadShedder
from rosterd.http_gateway.openapi.document import document as openapi
from rosterd.http_gateway.pages import pages_of
from rosterd.server.app import SERVICES
from rosterd.server.config import SETTINGS
from rosterd.server.features.accounts.rules import SCOPES
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
from rosterd.server.serving.gateway_policy import POLICY
from rosterd.server.serving.ports import GATEWAY_OPTIONS

from . import tools
from .behavior.deliveries import wait_for
from .components import free_port
from .conftest import Account, new_account
from .documents import API, README, ROOT, CodeBlock, code_blocks, read, table
from .features.webhooks.receiver_programs import listens, wait_until
from .fronts import HttpFront
from .processes import environment, start
from .samples import GRPC, HTTP, KEY, Terminal

FOLDER, SECURITY = "server/guides", ".github/SECURITY.md"
GUIDES = [guide.name for guide in documentation().guides]
# The ports of the receiver, the handler and the mail server in the guides.
DOCUMENTED_PORTS = RECEIVER_PORT, *_ = ("8000", "8001", "1025")
DAY = 86_400_000


def document(name: str) -> str:
    return f"{FOLDER}/{name}.md"


def text_of(name: str) -> str:
    return " ".join(read(document(name)).split())


def test_every_guide_is_in_the_navigation() -> None:
    assert sorted(GUIDES) == sorted(path.stem for path in (ROOT / FOLDER).glob("*.md"))


@pytest.mark.verify
def test_documents_run_in_order_on_one_account(tmp_path: Path) -> None:
    tools.program("node", "typescript")
    tools.program("grpcurl", "grpcurl")
    path = f"{tools.FOLDER / 'bin'}:{os.environ['PATH']}"
    ports = {documented: str(free_port()) for documented in DOCUMENTED_PORTS}
    service = start(tmp_path)
    account = Account("", service.first_key, HttpFront("http", service.http), service)

    def terminal(folder: str, key: str, **variables: str) -> Terminal:
        target = tmp_path / folder
        target.mkdir()
        (target / ".venv").symlink_to(sys.prefix)
        replaced = {HTTP: f"http://{service.http}", GRPC: service.grpc, KEY: key, **ports}
        return Terminal(target, environment(PATH=path, **variables), replaced)

    def for_alternative() -> Terminal:
        """A terminal with another account, in which the person of the sample does not exist."""
        number = next(numbers)
        key = new_account(service, account.front).key
        url = f"http://{service.http}"
        return terminal(f"alternative{number}", key, ROSTER_URL=url, ROSTER_API_KEY=key)

    def wait_for_effects(block: CodeBlock) -> None:
        if "python receiver.py" in block.text:
            wait_until(partial(listens, int(ports[RECEIVER_PORT])), bool)
        if "kill %%" in block.text:
            (webhook,) = (
                webhook
                for webhook in account.ok("ListWebhooks")["webhooks"]
                if f":{ports[RECEIVER_PORT]}/" in webhook["url"]
            )
            wait_for(
                account,
                webhook,
                lambda found: "nextAttemptAt" in found[0] and found[0]["attemptCount"],
            )

    numbers = itertools.count()
    with closing(terminal("first", service.first_key)) as first:
        for name in (README, API, *map(document, GUIDES)):
            for block in code_blocks(name):
                (for_alternative() if block.is_alternative else first).type(block)
                wait_for_effects(block)
        mails, _, before, receiver = first.started
        wait_until(mails.output.read_text, lambda text: "annie@example.com" in text)
        # The first receiver may have been ended before it received the first event.
        wait_until(
            lambda: before.output.read_text() + receiver.output.read_text(),
            lambda text: "lynn@example.com" in text and "kathleen@example.com" in text,
        )
        first.type(CodeBlock("", "", "sh", "python sync.py\n", is_alternative=False))
        with closing(sqlite3.connect(first.folder / "subscribers.db")) as copy:
            rows = copy.execute("SELECT id FROM subscriber WHERE data IS NOT NULL").fetchall()
        listed = account.ok("ListSubscribers", limit=100)["subscribers"]
        assert {id_ for (id_,) in rows} == {subscriber["id"] for subscriber in listed}
    assert (service.stop(), service.traces()) == (0, [])


def test_programs_are_all_tested() -> None:
    marks = [block.mark for name in GUIDES for block in code_blocks(document(name))]

    assert {mark.removeprefix("example: ") for mark in marks if "example:" in mark} == {
        *(
            "receiver.py",
            "receiver.mjs",
            "receiver.go",
        ),  # tests/features/webhooks/test_verifiers.py
        "sync.py",  # above
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


def test_table_shows_exactly_the_transitions() -> None:
    by_admin = "any other status, with a key of scope `admin`"

    def after(before: Status) -> str:
        others = (status for status in Status if status != before and is_allowed(before, status))
        return ", ".join(f"`{status.name}`" for status in others) or by_admin

    assert table(document("statuses"), "from | to") == [
        [f"`{before.name}`", after(before)] for before in Status
    ]


def test_table_of_statuses_is_complete() -> None:
    rows = table(document("statuses"), "status | meaning")

    assert [name for name, _ in rows] == [f"`{status.name}`" for status in Status]


def test_table_of_states_is_complete() -> None:
    rows = table(document("segments"), "state | meaning")
    _unspecified, *states = Operation.State.keys()

    assert [name for name, _ in rows] == [f"`{state}`" for state in states]


def test_documented_scopes_agree_with_the_code() -> None:
    scopes = [f"`{scope}`" for scope in SCOPES]

    assert [name for name, _ in table(document("authentication"), "scope | allows")] == scopes
    assert f"{', '.join(scopes[:-1])} or {scopes[-1]}." in " ".join(read(SECURITY).split())


def test_table_of_paths_without_a_key_agrees_with_the_code() -> None:
    rows = table(document("authentication"), "paths | content")
    operations = openapi(SERVICES, POLICY)["paths"].items()
    public = {path for path, item in operations for call in item.values() if not call["security"]}
    load = LoadShedder(GATEWAY_OPTIONS)
    pages = pages_of(Mock(), SERVICES, load, GATEWAY_OPTIONS, documentation())

    assert {path for paths, _ in rows for path in re.findall("`(.*?)`", paths)} == {
        *public,
        *(re.sub("^(/docs|/console).*", r"\1", path) for path in pages),
    }


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
