"""Clients of a running service, over both fronts, that note what came of each operation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle

import grpc

from ...fronts import (
    METHODS,
    Answer,
    GrpcFront,
    answer_of_error,
    binding,
    to_json,
    to_message,
)
from ...load import Client, Load, Sent, Turn
from ...parts import LONG
from .in_process import UNHEARD
from .recorder import Operation, Outcome, Recorder, nth

HTTP_CLIENTS, GRPC_CLIENTS = 4, 2
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


def over_grpc(front: GrpcFront, key: str, operation: Operation) -> Answer | None:
    """Sends an operation once, and returns what was answered, or None where nothing was."""
    metadata = (("authorization", f"Bearer {key}"), ("idempotency-key", operation.key))
    message = to_message(METHODS[operation.rpc], operation.request)
    try:
        reply = front.stub(operation.rpc)(message, metadata=metadata, timeout=LONG)
    except grpc.RpcError as error:
        # What the client's own side says has no details.
        told = dict(error.trailing_metadata() or ())
        return answer_of_error(error) if "grpc-status-details-bin" in told else None
    return Answer(200, to_json(reply))


def answer_to(sent: Sent) -> Answer | None:
    """Returns what was answered to a request over HTTP, or None where nothing was."""
    return Answer(sent.status, sent.body) if sent.status else None


class Clients:
    """Takes turns over both fronts; the names of what they make begin with `prefix`."""

    def __init__(self, target: Target, recorder: Recorder, prefix: str) -> None:
        self._target, self._recorder, self._prefix = target, recorder, prefix
        self._front = GrpcFront(target.grpc) if target.grpc else None
        self.load = Load([target.http], target.key)
        self._turns: list[Turn] = [self._http] * HTTP_CLIENTS + [self._read]
        if self._front is not None:
            self._turns += [self._grpc] * GRPC_CLIENTS

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Has each client take turns for the length of a block."""
        with self.load.running(*self._turns):
            yield
        if self._front is not None:
            self._front.channel.close()

    def _next(self, client: Client, turn: int) -> Operation:
        return nth(turn, f"{self._prefix}-{client.number}-{turn}")

    def _http(self, client: Client, turn: int) -> Sent:
        operation = self._next(client, turn)
        sent = over_http(client, operation)
        return self._noted(operation, answer_to(sent), sent)

    def _grpc(self, client: Client, turn: int) -> Sent:
        assert self._front is not None
        operation, began = self._next(client, turn), time.monotonic()
        answer = over_grpc(self._front, self._target.key, operation)
        status = answer.status if answer else 0
        sent = Sent(client.number, operation.key, began, time.monotonic(), status, None)
        return self._noted(operation, answer, sent)

    def _read(self, client: Client, turn: int) -> Sent:
        """Reads a page: it is given, or cannot be had now."""
        sent = client.ask("GET", "/api/subscribers?limit=100")
        if sent.status not in (200, 500, 503, 0):
            self._recorder.wrong.append((READ, Answer(sent.status, sent.body)))
        time.sleep(PAUSE)
        return sent

    def _noted(self, operation: Operation, answer: Answer | None, sent: Sent) -> Sent:
        if self._recorder.note(operation, answer) is not Outcome.OK:
            time.sleep(PAUSE)
        return sent


def hear_of_all(target: Target) -> None:
    """Has every change of the account recorded as an event, from now on; none is delivered."""
    client = Client(0, [target.http], target.key, threading.Event())
    sent = client.ask("POST", "/api/webhooks", UNHEARD)
    client.close()
    assert sent.status == 201, sent


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
        if (turn := next(fronts)) is not None:
            answer = over_grpc(turn, target.key, operation)
        else:
            answer = answer_to(over_http(client, operation))
        if recorder.note(operation, answer) is not Outcome.OK:
            assert time.monotonic() < end, f"{operation} is not done: {answer}"
            waiting.insert(0, operation)
            time.sleep(PAUSE)
    client.close()
    if front is not None:
        front.channel.close()
