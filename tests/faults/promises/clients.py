"""Calls a running service over both fronts and records the outcome of each operation."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle

import grpc

from ...components import TIMEOUT
from ...fronts import METHODS, GrpcFront, Response, binding, error_response, to_json, to_message
from ...load import Client, Exchange, Load, Task
from .in_process import DISABLED_WEBHOOK
from .recorder import LONG_TEXT, RPCS, Operation, Outcome, Recorder, long_fields, nth_operation

HTTP_CLIENTS, GRPC_CLIENTS, REPEATING_CLIENTS = 4, 2, 4
# Page sizes without and with long texts.
LARGE_PAGE, SMALL_PAGE = 100, 4
READ = Operation("ListSubscribers", "")
# Seconds that a client waits after a call that did not succeed.
PAUSE = 0.02


@dataclass(frozen=True)
class Target:
    """An account of a service, and the service's addresses. `grpc` is empty without gRPC."""

    account: str
    key: str
    http: str
    grpc: str


def over_http(client: Client, operation: Operation) -> Exchange:
    method, path, _ = binding(operation.rpc)
    return client.send(
        method, path, operation.request, email=operation.key, Idempotency_Key=operation.key
    )


def over_grpc(front: GrpcFront, key: str, operation: Operation) -> Response | None:
    """Sends an operation once. Returns the response, or None if none arrived."""
    metadata = (("authorization", f"Bearer {key}"), ("idempotency-key", operation.key))
    message = to_message(METHODS[operation.rpc], operation.request)
    try:
        reply = front.stub(operation.rpc)(message, metadata=metadata, timeout=TIMEOUT)
    except grpc.RpcError as error:
        # An error that the client itself raised has no details.
        trailers = dict(error.trailing_metadata() or ())
        return error_response(error) if "grpc-status-details-bin" in trailers else None
    return Response(200, to_json(reply))


def response_to(exchange: Exchange) -> Response | None:
    """Returns the response to a request over HTTP, or None if none arrived."""
    return Response(exchange.status, exchange.body) if exchange.status else None


class Clients:
    """Sends operations over both fronts. `prefix` begins the names of the created resources.

    With long texts, clients read smaller pages, repeat the latest successful operation, and
    send large bodies to render.
    """

    def __init__(
        self,
        target: Target,
        recorder: Recorder,
        prefix: str,
        *,
        long_texts: int = 0,
        rpcs: Sequence[str] = RPCS,
    ) -> None:
        self._target, self._recorder, self._prefix = target, recorder, prefix
        self._long_texts = long_texts
        self._rpcs = rpcs
        self._done: Operation | None = None
        self._front = GrpcFront(target.grpc) if target.grpc else None
        self.load = Load([target.http], target.key)
        self._tasks: list[Task] = [*[self._http] * HTTP_CLIENTS, self._read]
        if long_texts:
            self._tasks += [self._repeat] * REPEATING_CLIENTS + [self._render]
        if self._front is not None:
            self._tasks += [self._grpc] * GRPC_CLIENTS

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Runs all clients for the length of a block."""
        with self.load.running(*self._tasks):
            yield
        if self._front is not None:
            self._front.channel.close()

    def _next(self, client: Client, iteration: int) -> Operation:
        return nth_operation(
            iteration, f"{self._prefix}-{client.number}-{iteration}", self._long_texts, self._rpcs
        )

    def _http(self, client: Client, iteration: int) -> Exchange:
        operation = self._next(client, iteration)
        exchange = over_http(client, operation)
        return self._recorded(operation, response_to(exchange), exchange)

    def _grpc(self, client: Client, iteration: int) -> Exchange:
        assert self._front is not None
        operation, began = self._next(client, iteration), time.monotonic()
        response = over_grpc(self._front, self._target.key, operation)
        status = response.status if response else 0
        exchange = Exchange(client.number, operation.key, began, time.monotonic(), status, None)
        return self._recorded(operation, response, exchange)

    def _repeat(self, client: Client, iteration: int) -> Exchange:
        """Repeats the latest successful operation, which must return the same response."""
        done = self._done or self._next(client, iteration)
        exchange = over_http(client, done)
        return self._recorded(done, response_to(exchange), exchange)

    def _read(self, client: Client, iteration: int) -> Exchange:
        """Reads a page. The read succeeds or is reported as unavailable."""
        limit = SMALL_PAGE if self._long_texts else LARGE_PAGE
        exchange = client.send("GET", f"/api/subscribers?limit={limit}")
        return self._checked_read(exchange, (200, 500, 503, 0))

    def _render(self, client: Client, iteration: int) -> Exchange:
        """Renders a large body for a subscriber that does not exist.

        The response is 404, or reports that the service is unavailable.
        """
        request = {"body": LONG_TEXT * 16, "subscriberId": "missing@example.com"}
        exchange = client.send("POST", "/api/merge-tags/render", request)
        return self._checked_read(exchange, (404, 500, 503, 0))

    def _checked_read(self, exchange: Exchange, expected: Collection[int]) -> Exchange:
        if exchange.status not in expected:
            self._recorder.wrong.append((READ, Response(exchange.status, exchange.body)))
        time.sleep(PAUSE)
        return exchange

    def _recorded(
        self, operation: Operation, response: Response | None, exchange: Exchange
    ) -> Exchange:
        if self._recorder.record(operation, response) is not Outcome.OK:
            time.sleep(PAUSE)
        else:
            self._done = operation
        return exchange


def record_all_events(target: Target) -> None:
    """Creates a disabled webhook, so that changes are recorded as events and not delivered."""
    client = Client(0, [target.http], target.key, threading.Event())
    exchange = client.send("POST", "/api/webhooks", DISABLED_WEBHOOK)
    client.close()
    assert exchange.status == 201, exchange


def make_long_fields(target: Target, count: int) -> None:
    """Creates the custom fields that hold the long texts of each subscriber."""
    client = Client(0, [target.http], target.key, threading.Event())
    for label in long_fields(count):
        exchange = client.send("POST", "/api/custom-fields", {"label": label})
        assert exchange.status == 201, exchange
    client.close()


def resolve(target: Target, recorder: Recorder, again: Iterable[Operation] = ()) -> None:
    """Sends operations with an unknown outcome again, over alternating fronts, until they succeed.

    The operations in `again` succeeded before and must return the same response. Raises
    AssertionError if an operation does not succeed within TIMEOUT seconds.
    """
    client = Client(0, [target.http], target.key, threading.Event())
    front = GrpcFront(target.grpc) if target.grpc else None
    fronts = cycle([front, None])
    end = time.monotonic() + TIMEOUT
    waiting = [*recorder.with_outcome(Outcome.UNKNOWN), *again]
    while waiting:
        operation = waiting.pop()
        if (chosen := next(fronts)) is not None:
            response = over_grpc(chosen, target.key, operation)
        else:
            response = response_to(over_http(client, operation))
        if recorder.record(operation, response) is not Outcome.OK:
            assert time.monotonic() < end, f"{operation} did not succeed: {response}"
            waiting.insert(0, operation)
            time.sleep(PAUSE)
    client.close()
    if front is not None:
        front.channel.close()
