"""A gRPC server that records all calls and returns the same response to each."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import grpc

STREAM = "/roster.v1.SubscriberService/ExportSubscribers"
# gRPC reports more remaining time than this if a call has no deadline.
A_YEAR = 365 * 86_400.0


@dataclass(frozen=True)
class Call:
    """The metadata of a call, and the seconds until its deadline, if it has one."""

    metadata: dict[str, str]
    seconds: float | None


class Recorder(grpc.GenericRpcHandler):
    """Records calls, oldest first. `reply` is the response, initially an empty message."""

    def __init__(self) -> None:
        self.reply = b""
        self.calls: list[Call] = []
        self.address = ""

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        if handler_call_details.method == STREAM:
            return grpc.unary_stream_rpc_method_handler(lambda _, call: iter([self.respond(call)]))
        return grpc.unary_unary_rpc_method_handler(lambda _, call: self.respond(call))

    def respond(self, call: grpc.ServicerContext) -> bytes:
        metadata = {name: str(value) for name, value in call.invocation_metadata()}
        seconds = call.time_remaining()
        self.calls.append(Call(metadata, seconds if seconds < A_YEAR else None))
        return self.reply


@contextmanager
def recording(credentials: grpc.ServerCredentials | None = None) -> Iterator[Recorder]:
    """Runs a recorder on a free port."""
    recorder = Recorder()
    server = grpc.server(ThreadPoolExecutor(2), handlers=[recorder])
    if credentials is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        port = server.add_secure_port("127.0.0.1:0", credentials)
    recorder.address = f"127.0.0.1:{port}"
    server.start()
    try:
        yield recorder
    finally:
        server.stop(0).wait()
