"""Options of gRPC core for the gRPC port, which limit what clients without an API key can use.

`tests/faults/http2_attacks.py` implements attacks. gRPC core has no limits per client address. A
proxy can add them (`server/deploy/haproxy.cfg`).
"""

from __future__ import annotations

from ..rpc.messages import MAX_MESSAGE_BYTES

MAX_METADATA_BYTES = 16 * 1024
# The process keeps file descriptors for them (`http_gateway/http_server.py`).
MAX_CONNECTIONS = 1_000

_OPTIONS = {
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    # Both limits are equal, because core rejects calls at random between them.
    "grpc.max_metadata_size": MAX_METADATA_BYTES,
    "grpc.absolute_max_metadata_size": MAX_METADATA_BYTES,
    # Further connections are closed. Without a limit, they use up the file descriptors, which the
    # HTTP port and the database need too.
    "grpc.max_allowed_incoming_connections": MAX_CONNECTIONS,
    # Closes connections that do not send the preface of HTTP/2, or finish the handshake of TLS.
    # The default is two minutes.
    "grpc.server_handshake_timeout_ms": 15_000,
    # Closes connections without calls, so that they do not count forever. Clients connect again.
    "grpc.max_connection_idle_ms": 5 * 60_000,
    # Further calls of a connection wait at its client, or are refused. As many as the streams of a
    # process (2 * MAX_STREAMS), because a gateway has one connection for all of them.
    "grpc.max_concurrent_streams": 512,
    # Calls that have arrived and not started. By default core rejects calls at random from 1,000,
    # and always from 3,000.
    "grpc.server.max_pending_requests": 3_000,
    # A connection without calls may ping this often; three pings too many close it. The default of
    # five minutes would close the connection of an import that pauses, because clients ping more
    # often; a gateway pings every ten seconds.
    "grpc.http2.min_ping_interval_without_data_ms": 5_000,
}


def core_options(*, shares_port: bool = False) -> tuple[tuple[str, int], ...]:
    """Returns the options of a server.

    With `shares_port`, several processes can listen on the same port, and the kernel distributes
    the connections.
    """
    return (*_OPTIONS.items(), ("grpc.so_reuseport", int(shares_port)))
