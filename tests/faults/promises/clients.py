"""Clients of a running service, over both fronts, that note what came of each operation."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle

import grpc

from ...fronts import METHODS, GrpcFront, Response, answer_of_error, binding, to_json, to_message
from ...load import Client, Load, Sent, Turn
from ...parts import LONG
from .in_process import UNHEARD
from .recorder import LONG_TEXT, Operation, Outcome, Recorder, long_fields, nth

HTTP_CLIENTS, GRPC_CLIENTS, REPEATING_CLIENTS = 4, 2, 4
# How many subscribers are read at a time, and how many if they have long texts.
MANY, FEW = 100, 4
READ = Operation("ListSubscribers", "")
# How long a client waits before it goes on after a call that did not succeed, in seconds.
PAUSE = 0.02


@dataclass(frozen=True)
class Target:
    """An account of a service, and where it is called; `grpc` is empty where it is not."""

    account: str
    key: str
    http: str
    grpc: str


def over_http(client: Client, operation: Operation) -> Sent:
    """Sends an operation once."""
    method, path, _ = binding(operation.rpc)
    return client.ask(
        method, path, operation.request, email=operation.key, Idempotency_Key=operation.key
    )


def over_grpc(front: GrpcFront, key: str, operation: Operation) -> Response | None:
    """Sends an operation once, and returns what was answered, or None where nothing was."""
    metadata = (("authorization", f"Bearer {key}"), ("idempotency-key", operation.key))
    message = to_message(METHODS[operation.rpc], operation.request)
    try:
        reply = front.stub(operation.rpc)(message, metadata=metadata, timeout=LONG)
    except grpc.RpcError as error:
        # What the client's own side says has no details.
        told = dict(error.trailing_metadata() or ())
        return answer_of_error(error) if "grpc-status-details-bin" in told else None
    return Response(200, to_json(reply))


def answer_to(sent: Sent) -> Response | None:
    """Returns what was answered to a request over HTTP, or None where nothing was."""
    return Response(sent.status, sent.body) if sent.status else None


class Clients:
    """Takes turns over both fronts; the names of what they make begin with `prefix`.

    Where subscribers have long texts, fewer of them are read at a time, what was done last is
    sent again and again, and much is sent to be rendered.
    """

    def __init__(
        self, target: Target, recorder: Recorder, prefix: str, *, long_texts: int = 0
    ) -> None:
        self._target, self._recorder, self._prefix = target, recorder, prefix
        self._long_texts = long_texts
        self._done: Operation | None = None
        self._front = GrpcFront(target.grpc) if target.grpc else None
        self.load = Load([target.http], target.key)
        self._turns: list[Turn] = [self._http] * HTTP_CLIENTS + [self._read]
        if long_texts:
            self._turns += [self._repeat] * REPEATING_CLIENTS + [self._render]
        if self._front is not None:
            self._turns += [self._grpc] * GRPC_CLIENTS

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Has each client take turns for the length of a block."""
        with self.load.running(*self._turns):
            yield
        if self._front is not None:
            self._front.channel.close()

    def _next(self, client: Client, run_cycle: int) -> Operation:
        return nth(run_cycle, f"{self._prefix}-{client.number}-{run_cycle}", self._long_texts)

    def _http(self, client: Client, run_cycle: int) -> Sent:
        operation = self._next(client, run_cycle)
        sent = over_http(client, operation)
        return self._noted(operation, answer_to(sent), sent)

    def _grpc(self, client: Client, run_cycle: int) -> Sent:
        assert self._front is not None
        operation, began = self._next(client, run_cycle), time.monotonic()
        answer = over_grpc(self._front, self._target.key, operation)
        status = answer.status if answer else 0
        sent = Sent(client.number, operation.key, began, time.monotonic(), status, None)
        return self._noted(operation, answer, sent)

    def _repeat(self, client: Client, run_cycle: int) -> Sent:
        """Sends again what was done last, which has to be answered as before."""
        done = self._done or self._next(client, run_cycle)
        sent = over_http(client, done)
        return self._noted(done, answer_to(sent), sent)

    def _read(self, client: Client, run_cycle: int) -> Sent:
        """Reads a page: it is given, or cannot be had now."""
        limit = FEW if self._long_texts else MANY
        sent = client.ask("GET", f"/api/subscribers?limit={limit}")
        return self._looked(sent, (200, 500, 503, 0))

    def _render(self, client: Client, run_cycle: int) -> Sent:
        """Sends much to be rendered for nobody: it is refused, or cannot be had now."""
        request = {"body": LONG_TEXT * 16, "subscriberId": "nobody@example.com"}
        sent = client.ask("POST", "/api/merge-tags/render", request)
        return self._looked(sent, (404, 500, 503, 0))

    def _looked(self, sent: Sent, right: Collection[int]) -> Sent:
        if sent.status not in right:
            self._recorder.wrong.append((READ, Response(sent.status, sent.body)))
        time.sleep(PAUSE)
        return sent

    def _noted(self, operation: Operation, answer: Response | None, sent: Sent) -> Sent:
        if self._recorder.note(operation, answer) is not Outcome.OK:
            time.sleep(PAUSE)
        else:
            self._done = operation
        return sent


def hear_of_all(target: Target) -> None:
    """Has every change of the account recorded as an event, from now on; none is delivered."""
    client = Client(0, [target.http], target.key, threading.Event())
    sent = client.ask("POST", "/api/webhooks", UNHEARD)
    client.close()
    assert sent.status == 201, sent


def make_long_fields(target: Target, count: int) -> None:
    """Makes as many custom fields as there are to be long texts of each subscriber."""
    client = Client(0, [target.http], target.key, threading.Event())
    for label in long_fields(count):
        sent = client.ask("POST", "/api/custom-fields", {"label": label})
        assert sent.status == 201, sent
    client.close()


def resolve(target: Target, recorder: Recorder, again: Iterable[Operation] = ()) -> None:
    """Sends again whatever nobody can tell of, over either front in turns, until it is done.

    So is what is named besides: it was done, and has to be answered as before. Raises
    AssertionError if an operation is not done within the time that a client has patience.
    """
    client = Client(0, [target.http], target.key, threading.Event())
    front = GrpcFront(target.grpc) if target.grpc else None
    fronts = cycle([front, None])
    end = time.monotonic() + LONG
    waiting = [*recorder.those(Outcome.UNKNOWN), *again]
    while waiting:
        operation = waiting.pop()
        if (run_cycle := next(fronts)) is not None:
            answer = over_grpc(run_cycle, target.key, operation)
        else:
            answer = answer_to(over_http(client, operation))
        if recorder.note(operation, answer) is not Outcome.OK:
            assert time.monotonic() < end, f"{operation} is not done: {answer}"
            waiting.insert(0, operation)
            time.sleep(PAUSE)
    client.close()
    if front is not None:
        front.channel.close()
