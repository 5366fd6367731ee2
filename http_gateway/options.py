"""Options of a gateway: names that it sends, allowed origins, and the limits of clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from ipaddress import IPv4Network, IPv6Network

from .policy import DEFAULT, Policy


@dataclass(frozen=True, slots=True)
class WebApp:
    """A web application that the gateway serves, to whose start page it leads browsers from `/`."""

    # The path of the application, such as /app/.
    prefix: str
    # A folder with index.html and a folder `assets`. The names of assets contain a hash of their
    # content. index.html is the response for all other paths below the prefix. The text {{base}}
    # in it is replaced by the path of the application in URLs of browsers.
    folder: Traversable
    # The Content-Security-Policy and the other headers of index.html.
    content_security_policy: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a gateway. Times are in seconds."""

    # The value of the response header Server.
    server_name: str = "http-gateway"
    # The number of seconds for which browsers use HTTPS only; 0 without TLS.
    strict_transport_seconds: int = 0
    # What is known about the services.
    policy: Policy = DEFAULT
    # The origins whose web pages can call the rpcs with the option `cross_origin`, in lower case,
    # such as https://www.example.com; "*" for any.
    cors_origins: frozenset[str] = frozenset()
    # The reverse proxies whose X-Forwarded-Proto states whether a client uses HTTPS.
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    # The path of the gateway in URLs of browsers, if a reverse proxy removes it.
    path: str = ""
    # None if there is none.
    web_app: WebApp | None = None

    # Calls at once: twice as many as a writer puts into one commit, so that the next commit is
    # full while one is being synced.
    max_calls: int = 512
    # Connections of rejected clients that are read again per second, in the order of rejection.
    # This rate also determines Retry-After.
    resumed_per_second: int = 200
    # Connections at once, and connections beyond the limit that get an error response at once.
    max_connections: int = 10_000
    max_rejected_connections: int = 100

    # Time for the request line and headers, from the first byte.
    head_seconds: float = 10.0
    # Time for a body, and for the next data of a body that is a stream.
    body_seconds: float = 10.0
    stream_idle_seconds: float = 30.0
    # Time after which a client that accepts no byte of a response is disconnected.
    write_seconds: float = 10.0
    # Time that a connection may be idle; aiohttp's default is an hour.
    keepalive_seconds: float = 30.0
    # Time for which the rest of a rejected request is discarded, so that the client reads the
    # response before its connection is reset. A stream of an authenticated client is discarded
    # while it arrives, up to these limits: browsers read no response before their upload ends,
    # and repeat a request whose connection is reset.
    lingering_seconds: float = 2.0
    discarded_seconds: float = 300.0
    discarded_bytes: int = 256 * 1024 * 1024
    # Time after the last bytes of a streamed response until a keepalive record is written.
    stream_keepalive_seconds: float = 15.0

    @property
    def head_lines(self) -> str:
        """The lines of the head of every response, except for the status line and the date."""
        lines = f"Server: {self.server_name}\r\nX-Content-Type-Options: nosniff\r\n"
        if self.strict_transport_seconds:
            lines += f"Strict-Transport-Security: max-age={self.strict_transport_seconds}\r\n"
        return lines
