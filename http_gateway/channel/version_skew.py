"""Finds the rpcs and request fields that the servers of a channel do not have.

Most servers ignore fields that they do not have. One of an earlier version than this gateway would
list everything for a new filter. The gateway therefore reads the descriptors of the server by
grpc.reflection, and rejects requests that the server would not understand with 503.

The descriptors are read when a connection is made, and every REFRESH_SECONDS after that, because
only one of the servers of a target responds. Without reflection nothing is rejected.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from google.protobuf.descriptor import Descriptor, ServiceDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from grpc import ChannelConnectivity, StatusCode
from grpc.aio import AioRpcError, Channel, UsageError
from grpc_reflection.v1alpha import reflection_pb2 as messages
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub

from ..request_errors import Detail, RequestError, join, server_too_old

log = logging.getLogger(__name__)

REFRESH_SECONDS = 10.0
# The timeout of a call of reflection, in seconds.
REFLECTION_SECONDS = 2.0

# Raises RequestError for a request that the server cannot process as it is meant.
Check = Callable[[Message], None]
# The fields by number that the server does not have, by the full name of the message type.
_Fields = dict[str, frozenset[int]]


class VersionSkew:
    """The differences between some services and those of the servers of a channel.

    `channel` returns the one that takes new calls. `checks` are by the path of the rpc, and empty
    if there are no differences.
    """

    def __init__(
        self, channel: Callable[[], Channel], services: Iterable[ServiceDescriptor]
    ) -> None:
        self.checks: dict[str, Check] = {}
        self._channel = channel
        self._services = tuple(services)
        self._files: frozenset[bytes] = frozenset()

    async def follow(self) -> None:
        """Updates the checks until it is canceled."""
        while True:
            channel = self._channel()
            try:
                await channel.channel_ready()
            except UsageError:  # Another one took its place.
                continue
            disconnected = asyncio.ensure_future(
                channel.wait_for_state_change(ChannelConnectivity.READY)
            )
            try:
                while not disconnected.done():
                    await self.refresh()
                    _raise_if_canceled()
                    await asyncio.wait([disconnected], timeout=REFRESH_SECONDS)
            finally:
                disconnected.cancel()
                # It fails if the channel was closed.
                await asyncio.gather(disconnected, return_exceptions=True)

    async def refresh(self) -> None:
        """Updates the checks. Keeps them if the server cannot be reached or has no reflection."""
        try:
            files = await self._read()
            pool = None if files == self._files else _pool(files)
        except AioRpcError as failed:
            # Without a connection, every call fails.
            if failed.code() is not StatusCode.UNAVAILABLE:
                log.warning("the server has no descriptors to compare: %s", failed.code().name)
        except (DecodeError, TypeError):
            log.exception("the descriptors of the server cannot be read")
        else:
            self._files = files
            if pool is not None:
                self._update(pool)

    async def _read(self) -> frozenset[bytes]:
        """Returns the descriptors of the services that the server has, and their imports."""
        requests = [
            messages.ServerReflectionRequest(file_containing_symbol=service.full_name)
            for service in self._services
        ]
        stub: Any = ServerReflectionStub(self._channel())  # type: ignore[arg-type]
        call = stub.ServerReflectionInfo(iter(requests), timeout=REFLECTION_SECONDS)
        return frozenset(
            [
                file
                async for response in call
                for file in response.file_descriptor_response.file_descriptor_proto
            ]
        )

    def _update(self, pool: DescriptorPool) -> None:
        # The requests of other tasks use the dictionary.
        self.checks.clear()
        self.checks.update(_checks(self._services, pool))
        if self.checks:
            rpcs = ", ".join(sorted(path.rpartition("/")[2] for path in self.checks))
            log.warning("the server is of an earlier version; requests can fail of: %s", rpcs)


def _raise_if_canceled() -> None:
    """Raises CancelledError if the current task was canceled.

    grpc.aio raises the status of a call in its place if the call ended at the same time.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _pool(serialized: Iterable[bytes]) -> DescriptorPool:
    """Returns a pool with these files, each after its imports."""
    pool = DescriptorPool()
    files = {file.name: file for file in map(FileDescriptorProto.FromString, serialized)}

    def add(name: str) -> None:
        file = files.pop(name, None)
        if file is not None:
            for imported in file.dependency:
                add(imported)
            pool.AddSerializedFile(file.SerializeToString())

    for name in list(files):
        add(name)
    return pool


def _checks(
    services: Iterable[ServiceDescriptor], pool: DescriptorPool
) -> Iterator[tuple[str, Check]]:
    for service in services:
        try:
            others = pool.FindServiceByName(service.full_name).methods_by_name
        except KeyError:
            others = {}
        for method in service.methods:
            path = f"/{service.full_name}/{method.name}"
            other = others.get(method.name)
            if other is None:
                yield path, partial(_reject_rpc, method.name)
                continue
            missing: _Fields = {}
            _compare(method.input_type, other.input_type, missing)
            if any(missing.values()):
                yield path, partial(_reject_fields, missing)


def _compare(own: Descriptor, other: Descriptor, missing: _Fields) -> None:
    """Adds the fields of a message type, and of those in it, that the server does not have."""
    if own.full_name in missing:
        return
    others = other.fields_by_number
    missing[own.full_name] = frozenset(set(own.fields_by_number) - set(others))
    for field in own.fields:
        if field.message_type is not None and field.number in others:
            kind = others[field.number].message_type
            if kind is not None:
                _compare(field.message_type, kind, missing)


def _reject_rpc(name: str, _request: Message) -> None:
    raise RequestError(server_too_old(f"the operation {name}"))


def _reject_fields(missing: _Fields, request: Message) -> None:
    paths = list(_set_fields(request, missing, ""))
    if paths:
        details = [Detail(path, "UNKNOWN_FIELD", "is not supported yet") for path in paths]
        raise RequestError(server_too_old(f"the field {paths[0]}", details))


def _set_fields(message: Message, missing: _Fields, path: str) -> Iterator[str]:
    """Yields the JSON paths of the fields in a message that are missing."""
    numbers = missing[message.DESCRIPTOR.full_name]
    for field, value in message.ListFields():
        name = join(path, field.json_name)
        if field.number in numbers:
            yield name
        elif field.message_type is not None:
            for at, each in _messages_in(field, value):
                yield from _set_fields(each, missing, f"{name}{at}")


def _messages_in(field: Any, value: Any) -> Iterator[tuple[str, Message]]:
    """Yields the messages of a field, with what follows its name in their paths."""
    if not field.is_repeated:
        yield "", value
    elif not field.message_type.GetOptions().map_entry:
        for index, each in enumerate(value):
            yield f"[{index}]", each
    else:
        for key in value:
            if isinstance(value[key], Message):
                yield f".{key}", value[key]
