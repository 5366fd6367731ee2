"""roster serve: the gRPC server and the gateway in one process, on one event loop.

The order of the start: the database (lock, migrations), the services, the gRPC
port, the HTTP port, the first account, ready. The order of the stop, at SIGTERM
or SIGINT: not ready; HTTP, then gRPC, takes nothing new and finishes what runs;
the writer's queue is emptied; exit with 0.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated

import grpc
import uvloop
from aiohttp import web

from http_gateway.app import Gateway
from http_gateway.channel.in_process import InProcessChannel
from http_gateway.edge import BACKLOG

from ..accounts import store
from ..accounts.rules import hash_secret, make_secret
from ..app import MAX_METADATA_BYTES, SERVICES, App, newest_id
from ..clock import system_clock
from ..config import (
    IN_PROCESS,
    OVER_GRPC,
    SETTINGS,
    Address,
    Place,
    Rate,
    check_bootstrap_key,
    check_choice,
    check_secret_key,
    parse_address,
    parse_database_pool,
    parse_database_url,
    parse_rate_limit,
)
from ..logs import LEVELS, configure
from ..storage.transaction import Transaction
from .beside import to_serve
from .output import DatabaseUrl, console, option
from .secret_key import open_vault

# How long calls in flight may take to finish once the service is asked to stop.
# HTTP takes it twice at most, then gRPC once, so that all ends within 30 seconds.
GRACE_SECONDS = 8.0
FIRST_ACCOUNT = "owner@roster.local"


class PortInUse(Exception):
    """An address cannot be listened on; the text says which and why."""


@dataclass(frozen=True)
class Options:
    """What `serve` was told, checked."""

    http: Address
    grpc: Address
    database: Place
    connections: int
    bootstrap_key: str
    secret_key: str
    in_process: bool
    rate_limit: Rate | None
    log_calls: bool


def serve(
    http_address: Annotated[str, option("http_address")] = SETTINGS["http_address"].default,
    grpc_address: Annotated[str, option("grpc_address")] = SETTINGS["grpc_address"].default,
    database_url: DatabaseUrl = SETTINGS["database_url"].default,
    database_pool: Annotated[str, option("database_pool")] = SETTINGS["database_pool"].default,
    bootstrap_api_key: Annotated[str, option("bootstrap_api_key")] = "",
    http_channel: Annotated[str, option("http_channel")] = SETTINGS["http_channel"].default,
    secret_key: Annotated[str, option("secret_key")] = "",
    rate_limit: Annotated[str, option("rate_limit")] = "",
    log_level: Annotated[str, option("log_level")] = SETTINGS["log_level"].default,
) -> None:
    """Serve gRPC and JSON over HTTP from one process."""
    configure(check_choice("log_level", log_level, LEVELS))
    channel = check_choice("http_channel", http_channel, (IN_PROCESS, OVER_GRPC))
    options = Options(
        http=parse_address("http_address", http_address),
        grpc=parse_address("grpc_address", grpc_address),
        database=parse_database_url(database_url),
        connections=parse_database_pool(database_pool),
        bootstrap_key=check_bootstrap_key(bootstrap_api_key),
        secret_key=check_secret_key(secret_key),
        in_process=channel == IN_PROCESS,
        rate_limit=parse_rate_limit(rate_limit),
        log_calls=log_level in ("debug", "info"),
    )
    uvloop.run(_serve(options))


async def _serve(options: Options) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with AsyncExitStack() as stack:
        database = to_serve(options.database, options.connections)
        await database.open()
        stack.push_async_callback(database.close)
        database.ids.start_past(await database.read(newest_id))
        app = App(
            database,
            system_clock,
            await open_vault(options.secret_key, options.database, database),
            rate_limit=options.rate_limit,
            log_calls=options.log_calls,
        )
        stack.callback(app.close)
        await app.set_serving(serving=False)
        grpc_address = await _serve_grpc(app, options.grpc, stack)
        http_address = await _serve_http(app, options, grpc_address, stack)
        # Last, when nothing can fail any more: the key is shown this once.
        first_key = await database.write(lambda tx: bootstrap(options.bootstrap_key, tx))
        await app.set_serving(serving=True)
        _spare_the_collector()
        _announce(http_address, grpc_address, options.database, first_key)

        await stopping.wait()
        await app.set_serving(serving=False)


def _spare_the_collector() -> None:
    # What was made at the start stays; looking through it again and again for
    # garbage, as the defaults have it, takes a tenth of a busy process's time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


async def _serve_grpc(app: App, address: Address, stack: AsyncExitStack) -> Address:
    server = app.grpc_server()
    try:
        port = server.add_insecure_port(str(address))
    except RuntimeError as error:
        raise _port_in_use("grpc_address", address) from error
    await server.start()
    stack.push_async_callback(server.stop, GRACE_SECONDS)
    return address._replace(port=port)


async def _serve_http(
    app: App, options: Options, grpc_address: Address, stack: AsyncExitStack
) -> Address:
    channel: grpc.aio.Channel
    if options.in_process:
        channel = InProcessChannel(app.register, app.interceptors)
    else:
        channel = grpc.aio.insecure_channel(
            str(grpc_address), options=(("grpc.max_metadata_size", MAX_METADATA_BYTES),)
        )
    await stack.enter_async_context(channel)
    runner = web.ServerRunner(
        Gateway(channel, SERVICES, asks_first=True).server(), shutdown_timeout=GRACE_SECONDS
    )
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    site = web.TCPSite(
        runner, options.http.host, options.http.port, backlog=BACKLOG, reuse_port=False
    )
    try:
        await site.start()
    except OSError as error:
        raise _port_in_use("http_address", options.http) from error
    return options.http._replace(port=runner.addresses[0][1])


def _port_in_use(name: str, address: Address) -> PortInUse:
    return PortInUse(
        f"{address} cannot be listened on, most likely because another program does so."
        f" Choose another address with {SETTINGS[name].environment} or {SETTINGS[name].flag}."
    )


def bootstrap(key: str, tx: Transaction) -> str | None:
    """Creates the first account of an empty database and returns its key; None if it has one."""
    if store.list_accounts(tx):
        return None
    secret = key or make_secret()
    account = store.create_account(FIRST_ACCOUNT, tx, verified=True)
    store.create_key(account.id, "first key", "admin", hash_secret(secret), tx)
    return secret


def _announce(http: Address, grpc: Address, database: Place, first_key: str | None) -> None:
    """Says where the service is, and how to try it."""
    base = f"http://{http}"
    lines = [
        f"Roster {version('roster')} is serving.",
        "",
        f"  HTTP      {base}",
        f"  gRPC      {grpc}",
        f"  database  {database}",
        "",
    ]
    if first_key is not None:
        lines += [
            "The database is new. This is the API key of its first account; it is not shown again:",
            "",
            f"  {first_key}",
            "",
        ]
    else:
        lines += ["Put a key of an account into ROSTER_API_KEY to try it:", ""]
    key = first_key or "$ROSTER_API_KEY"
    grace = '{"email": "grace@example.com", "firstName": "Grace", "tags": ["first"]}'
    lines += [
        f'  curl {base}/api/subscribers -H "Authorization: Bearer {key}" \\',
        f"    -H 'Content-Type: application/json' -d '{grace}'",
        "",
        f'  curl {base}/api/subscribers -H "Authorization: Bearer {key}"',
        "",
    ]
    console.print("\n".join(lines), soft_wrap=True)
