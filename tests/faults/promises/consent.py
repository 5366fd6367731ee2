"""P9: only explicit changes make a person mailable.

Sequences of all writes run over both fronts, sometimes two at once, while the service is killed
and restarted. The statuses are compared with a model after each operation, and with the history
at the end of each sequence.
"""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial, reduce
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import grpc
from ulid import ULID

from roster.v1 import subscribers_pb2 as pb
from rosterd.server.features.accounts.rules import make_secret

from ...components import TIMEOUT, free_port
from ...fronts import (
    METHODS,
    GrpcFront,
    binding,
    error_response,
    path_variables,
    query_fields,
    to_message,
)
from ...load import Client
from ...processes import start
from ...signed_links import signed_token
from ...storage.helpers import differences
from .checker import Results
from .clients import Target, record_all_events
from .consent_files import Line
from .consent_links import PURPOSES, Link, Links, number_of_changes
from .consent_model import LEVELS, UNCONFIRMED, State
from .consent_operations import BATCH, PLAN, UNDO, Operation, Operations
from .contents import account_in
from .kills import target_of

MORE_MAILABLE, DIFFERENT = "more mailable than allowed", "statuses unlike the model"
UNEXPLAINED, UNEXPECTED = "mailable without an explicit change", "unexpected responses"
DIFFERENCES = "differences found by roster check"
AT_MOST: Results = dict.fromkeys(
    (MORE_MAILABLE, DIFFERENT, UNEXPLAINED, UNEXPECTED, DIFFERENCES), 0
)
AT_LEAST: Results = {"kills": 1, "operations": 1}

WORKERS, STEPS = 6, 16
# The share of steps with two operations at the same time.
CONCURRENT = 0.15
# The service is killed each time that so many sequences have ended, within so many seconds.
SEQUENCES_PER_KILL, SECONDS = 20, 0.1
# Statuses of requests that changed everything or nothing.
DEFINITE = (200, 201, 202, 204, 404, 409)
# Also of a file with a wrong header, and of too many links that do not work.
REJECTED = {"ImportSubscribers": 400, "SubmitConfirmPage": 429, "SubmitUnsubscribePage": 429}
REJECTED |= {"GetConfirmPage": 429, "GetUnsubscribePage": 429}
UNKNOWN = (0, 500, 503, 504)


class Reply(NamedTuple):
    """The HTTP status of a response, or 0 if none arrived, and its content."""

    status: int
    content: Any = None


class Calls:
    """Sends operations over both fronts. Requests wait until the service runs."""

    def __init__(self, target: Target, write_key: str, front: GrpcFront) -> None:
        self._client = Client(0, [target.http], target.key, threading.Event())
        self._keys = {True: target.key, False: write_key}
        self._front = front

    def close(self) -> None:
        self._client.close()

    def tokens(self, subscriber: str) -> Mapping[str, str]:
        """Returns the tokens of new links by purpose. None if there is no such subscriber."""
        path = f"/api/subscribers/{quote(subscriber, safe='')}/links"
        end = time.monotonic() + TIMEOUT
        while (exchange := self._client.send("POST", path, {})).status not in (200, 404):
            assert exchange.status in UNKNOWN, exchange
            assert time.monotonic() < end, exchange
            time.sleep(0.02)
        if exchange.status == 404:
            return {}
        links = exchange.body["links"]
        return {link["purpose"]: link["url"].rpartition("/")[2] for link in links}

    def _with_token(self, operation: Operation) -> Operation:
        """Returns an operation that follows a link with the token of a new link.

        That of an undo has the ID of the other operation.
        """
        if operation.undo_of is not None:
            # Without a response, which names an erased person, there is no such operation.
            reply = self.ended(operation.undo_of)
            id_ = reply.content["operation"]["id"] if reply.status == 202 else "none"
            return replace(operation, request={"id": id_}, undo_of=None)
        if not operation.link:
            return operation
        token = self.tokens(operation.request["id"]).get(operation.link, "none")
        return replace(operation, request={"token": token}, link="")

    def over_http(self, operation: Operation) -> Reply:
        operation = self._with_token(operation)
        method, path, has_body = binding(operation.rpc)
        rest = dict(operation.request)
        for name in path_variables(operation.rpc):
            path = path.replace(f"{{{name}}}", quote(rest.pop(name), safe=""))
        is_import = METHODS[operation.rpc].client_streaming
        in_query = {
            name: rest.pop(name)
            for name in list(rest)
            if is_import or not has_body or name in query_fields(operation.rpc)
        }
        if in_query:
            # JSON writes booleans in lower case, unlike Python.
            texts = {n: json.dumps(v) if isinstance(v, bool) else v for n, v in in_query.items()}
            path = f"{path}?{urlencode(texts, doseq=True)}"
        headers = {"Authorization": f"Bearer {self._keys[operation.by_admin]}"}
        if operation.idempotency_key:
            headers["Idempotency_Key"] = operation.idempotency_key
        body: Any = rest if has_body else None
        if is_import:
            body, headers["Content_Type"] = _import_body(operation)
        exchange = self._client.send(method, path, body, **headers)
        return _checked_import(operation, Reply(exchange.status, exchange.body))

    def begin_over_grpc(self, operation: Operation) -> Callable[[], Reply]:
        """Sends an operation, and returns a function that waits for its response."""
        operation = self._with_token(operation)
        method = METHODS[operation.rpc]
        metadata = [("authorization", f"Bearer {self._keys[operation.by_admin]}")]
        if operation.idempotency_key:
            metadata.append(("idempotency-key", operation.idempotency_key))
        options: Any = {"metadata": metadata, "timeout": TIMEOUT, "wait_for_ready": True}
        message = to_message(method, {**operation.request, **_rows(operation)})
        if method.client_streaming:
            call = self._import_stub()(iter([message]), **options)
        else:
            call = self._front.stub(operation.rpc).future(message, **options)

        def wait() -> Reply:
            try:
                replies = list(call) if method.client_streaming else [call.result()]
            except grpc.RpcError as error:
                # An error that the client itself raised has no details.
                trailers = dict(error.trailing_metadata() or ())
                is_response = "grpc-status-details-bin" in trailers
                return Reply(error_response(error).status if is_response else 0, str(error))
            return Reply(200, replies)

        return wait

    def ended(self, batch: Operation) -> Reply:
        """Returns the response to a batch operation that was sent, when it has ended.

        It is sent again with its idempotency key, so that its outcome is always known.
        """
        end = time.monotonic() + TIMEOUT
        while (reply := self.over_http(batch)).status in UNKNOWN:
            assert time.monotonic() < end, reply
            time.sleep(0.02)
        if reply.status != 202:
            return reply
        path = f"/api/operations/{reply.content['operation']['id']}"
        while not (operation := self.read(path)["operation"])["done"]:
            assert time.monotonic() < end, operation
            time.sleep(0.02)
        return reply if operation["state"] == "SUCCEEDED" else Reply(500, operation)

    def _import_stub(self) -> Any:
        return self._front.channel.stream_stream(
            "/roster.v1.SubscriberService/ImportSubscribers",
            request_serializer=pb.ImportSubscribersRequest.SerializeToString,
            response_deserializer=pb.ImportSubscribersResponse.FromString,
        )

    def read(self, path: str, **query: str) -> Any:
        """Reads from the service, as soon as it runs."""
        end = time.monotonic() + TIMEOUT
        while True:
            exchange = self._client.send("GET", f"{path}?{urlencode(query)}")
            if exchange.status == 200:
                return exchange.body
            assert exchange.status in UNKNOWN, exchange
            assert time.monotonic() < end, exchange
            time.sleep(0.02)


def _import_body(operation: Operation) -> tuple[str, str]:
    """Returns the body and the content type of an import."""
    if operation.rows:
        return "".join(f"{json.dumps(row)}\n" for row in operation.rows), "application/x-ndjson"
    return "".join(map(_line, operation.table)), "text/csv"


def _line(line: Line) -> str:
    cells = [f'"{cell}"' if "," in cell else cell for cell in line.cells]
    if line.is_malformed:
        # The name is not quoted as a whole, or the quote is not closed.
        cells[-1] = f'"{cells[-1]}" x' if len(cells[0]) % 2 else f'"{cells[-1]}'
    return ",".join(cells) + "\n"


def _rows(operation: Operation) -> Mapping[str, Any]:
    """Returns the rows of an import as fields of its message."""
    if operation.table:
        lines = [{"cells": list(cells), "malformed": bad} for cells, bad in operation.table]
        return {"lines": lines}
    return {"subscribers": list(operation.rows)} if operation.rows else {}


def _checked_import(operation: Operation, reply: Reply) -> Reply:
    """Returns the status of the error that ended an import, if one did."""
    if operation.rpc != "ImportSubscribers" or reply.status != 200:
        return reply
    last = json.loads(reply.content.splitlines()[-1])
    return reply if "summary" in last else Reply(500, last)


class ConsentSequence:
    """Sends operations on its own addresses, and compares their statuses with the model."""

    def __init__(
        self, calls: Calls, name: str, rng: random.Random, signed: Callable[..., str]
    ) -> None:
        """`signed` creates the token of an earlier version."""
        self._calls, self._name, self._rng, self._signed = calls, name, rng, signed
        # Two are spellings of one mailbox.
        addresses = [f"{name}-0@example.com", f"{name}-1@gmail.com", f"{name}-.1@gmail.com"]
        self._links = Links(rng, self._history)
        self._operations = Operations(addresses, rng, self._links)
        self._possible = {State()}
        self._log: list[str] = []
        self.counts = Counter[str]()

    def run(self) -> None:
        for _ in range(STEPS):
            number = 2 if self._rng.random() < CONCURRENT else 1
            operations = [self._operations.next() for _ in range(number)]
            # Another operation could change the subscriber of a link before it is followed.
            if any("token" in each.request or each.link for each in operations):
                operations = operations[:1]
            self._step(operations)
            if not self._matches():
                print(f"{self._name}:", *self._log, sep="\n  ")
                break
            if self._operations.ids and self._rng.random() < 0.5:
                self._keep_links()
        self._check_histories()

    def _keep_links(self) -> None:
        """Creates links of a subscriber, also as earlier versions did."""
        address, id_ = self._rng.choice([*self._operations.ids.items()])
        changes = number_of_changes(self._history(id_))
        for purpose, token in self._calls.tokens(id_).items():
            self._links.links.append(Link(purpose, id_, address, changes, token))
        for purpose in PURPOSES:
            token = self._signed(id_, address, is_confirm=purpose == "CONFIRM")
            self._links.links.append(Link(purpose, id_, address, changes, token, is_signed=True))

    def _history(self, subscriber_id: str) -> Sequence[Mapping[str, Any]]:
        path = f"/api/subscribers/{subscriber_id}/history"
        history: Sequence[Mapping[str, Any]] = self._calls.read(path, limit="100")["history"]
        return history

    def _step(self, operations: Sequence[Operation]) -> None:
        """Sends operations, the first over gRPC and the second over HTTP at the same time."""
        if operations[0].is_json or (len(operations) == 1 and self._rng.random() < 0.5):
            replies = [self._calls.over_http(each) for each in operations]
        else:
            wait = self._calls.begin_over_grpc(operations[0])
            replies = [self._calls.over_http(each) for each in operations[1:]]
            replies.insert(0, wait())
        for index, operation in enumerate(operations):
            if operation.rpc in (BATCH, UNDO):
                replies[index] = self._calls.ended(operation)
        for operation, reply in zip(operations, replies, strict=True):
            self._log.append(f"{operation} -> {reply.status}")
            self.counts["operations"] += 1
            if reply.status in UNKNOWN:
                self.counts["unknown outcomes"] += 1
            elif reply.status not in (*DEFINITE, REJECTED.get(operation.rpc)):
                self.counts[UNEXPECTED] += 1
            elif reply.status < 300:
                self._operations.acknowledge(operation)
        known = {
            operation
            for operation, reply in zip(operations, replies, strict=True)
            if reply.status not in (*UNKNOWN, REJECTED.get(operation.rpc))
        }
        self._possible = set(possible_after(self._possible, operations, known))

    def _matches(self) -> bool:
        """Compares the statuses with the possible states, and keeps those that match."""
        page = self._calls.read("/api/subscribers", q=f"{self._name}-")
        rows = {row["email"].strip().lower(): row for row in page["subscribers"]}
        self._operations.ids = {address: row["id"] for address, row in rows.items()}
        statuses = {address: row["status"] for address, row in rows.items()}
        observed = frozenset(statuses.items())
        allowed = [dict(state.statuses) for state in self._possible]
        self._possible = {state for state in self._possible if state.statuses == observed}
        if self._possible:
            return True
        self._log.append(f"{statuses} instead of {allowed}")
        self.counts[DIFFERENT] += 1
        self.counts[MORE_MAILABLE] += any(
            level(status) > max(level(state.get(address)) for state in allowed)
            for address, status in statuses.items()
        )
        return False

    def _check_histories(self) -> None:
        """Checks that each change towards mail in the histories was explicit."""
        page = self._calls.read("/api/subscribers", q=f"{self._name}-")
        for row in page["subscribers"]:
            changes = [
                entry
                for entry in self._history(row["id"])
                if entry["type"] in ("CREATED", "STATUS_CHANGED")
            ]
            self.counts[UNEXPLAINED] += changes[0]["statusChange"]["to"] != row["status"]
            self.counts[UNEXPLAINED] += sum(not is_explained(entry) for entry in changes)


def possible_after(
    states: Iterable[State], operations: Sequence[Operation], known: Set[Operation]
) -> Iterator[State]:
    """Yields the states after operations in any order, and without those that may be lost."""
    parts = _parts(operations)
    certain = set(_parts(known))
    for state in states:
        for count in range(len(certain), len(parts) + 1):
            for done in permutations(parts, count):
                if certain <= set(done):
                    yield from reduce(_possible_after, done, {state})


def _possible_after(states: Set[State], operation: Operation) -> Set[State]:
    return {after for state in states for after in operation.possible_after(state)}


def _parts(operations: Iterable[Operation]) -> list[Operation]:
    return [part for operation in operations for part in operation.parts or (operation,)]


def level(status: str | None) -> int:
    return LEVELS.get(status or "", 0)


def is_explained(entry: Mapping[str, Any]) -> bool:
    """Whether an entry does not allow more mail, or was made by an explicit change."""
    before, after = entry["statusChange"].get("from"), entry["statusChange"]["to"]
    if before is None or level(after) <= level(before):
        return True
    # A bounce belongs to the address, and ends with it.
    is_moved = entry["source"] == "EMAIL_CHANGED" and (before, after) == ("BOUNCED", UNCONFIRMED)
    return is_moved or entry["source"] in ("API", "SELF_SERVICE")


class Sequences:
    """Runs sequences in threads, and kills the service meanwhile."""

    def __init__(
        self, target: Target, write_key: str, count: int, signed: Callable[..., str]
    ) -> None:
        self._target, self._write_key, self._signed = target, write_key, signed
        self._numbers = iter(range(count))
        self._front = GrpcFront(target.grpc)
        self._lock = threading.Lock()
        self.ended = 0
        self.counts = Counter[str]()

    def work(self) -> None:
        """Runs one sequence after another."""
        calls = Calls(self._target, self._write_key, self._front)
        while (number := self._next()) is not None:
            sequence = ConsentSequence(calls, f"s{number}", random.Random(number), self._signed)
            sequence.run()
            with self._lock:
                self.counts += sequence.counts
                self.ended += 1
        calls.close()

    def _next(self) -> int | None:
        with self._lock:
            return next(self._numbers, None)

    def close(self) -> None:
        self._front.channel.close()


def run(count: int, folder: Path, **settings: str) -> Results:
    """Runs sequences on a service that is killed meanwhile."""
    key, rng, kills = make_secret(), random.Random(), 0
    settings |= {
        "ROSTER_HTTP_ADDRESS": f"127.0.0.1:{free_port()}",
        "ROSTER_GRPC_ADDRESS": f"127.0.0.1:{free_port()}",
        "ROSTER_BOOTSTRAP_API_KEY": key,
        "ROSTER_LOG_LEVEL": "error",
    }
    service = start(folder, **settings)
    try:
        target = target_of(service, key)
        record_all_events(target)
        _create_custom_field(target)
        account = account_in(service.database_url)
        signed = partial(_signed_token, service.data_key(), account)
        sequences = Sequences(target, created_key(target), count, signed)
        with ThreadPoolExecutor(WORKERS) as pool:
            tasks = [pool.submit(sequences.work) for _ in range(WORKERS)]
            while not all(task.done() for task in tasks):
                if sequences.ended < (kills + 1) * SEQUENCES_PER_KILL:
                    time.sleep(0.01)
                    continue
                time.sleep(rng.uniform(0, SECONDS))
                service.stop(signal.SIGKILL)
                service = start(folder, **settings)
                kills += 1
            for task in tasks:
                task.result()
        sequences.close()
    finally:
        service.stop()
    sequences.counts[DIFFERENCES] = len(differences(service.database_url))
    names = ("operations", "unknown outcomes", *AT_MOST)
    counts = {name: sequences.counts[name] for name in names}
    return {"sequences": sequences.ended, "kills": kills, **counts}


def _signed_token(
    data_key: bytes, account: str, subscriber: str, address: str, *, is_confirm: bool
) -> str:
    expiry = str(ULID.from_timestamp(time.time() + 30 * 24 * 3600))[:10] if is_confirm else ""
    return signed_token(data_key, account, subscriber, address, expiry)


def _create_custom_field(target: Target) -> None:
    client = Client(0, [target.http], target.key, threading.Event())
    client.send("POST", "/api/custom-fields", {"label": PLAN})
    client.close()


def created_key(target: Target) -> str:
    """Creates a key of scope write."""
    client = Client(0, [target.http], target.key, threading.Event())
    exchange = client.send("POST", "/api/keys", {"name": "write", "scope": "write"})
    client.close()
    return str(exchange.body["secret"])
