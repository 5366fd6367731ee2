"""Passes the session of a browser on: the token in its cookie becomes metadata of the call.

Browsers add cookies to requests that other websites make, so a request with one must prove that a
page of the same origin made it: by Sec-Fetch-Site, which scripts cannot set, and by Origin. If both
are present, both must. This also applies to the request that sets the cookie; otherwise another
website could sign a person in to an account of its own.

Over HTTPS, the prefix of the name keeps other hosts and unencrypted responses from setting the
cookie. Without TLS there are sessions only if the browser runs on the machine of the gateway; as
cookies do not depend on the port, the name then contains it.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from .headers import Metadata, printable
from .options import Options
from .policy import CookiePolicy
from .request import Request
from .request_errors import RequestError, request_error
from .routing.bindings import Binding

_COOKIE, _ORIGIN, _FETCH_SITE = "Cookie", "Origin", "Sec-Fetch-Site"
_FORWARDED_PROTO = "X-Forwarded-Proto"
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class _Site:
    """The origin of a request as its browser names it, and the host and port in it."""

    scheme: str
    host: str
    port: int

    @property
    def origin(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @property
    def is_local(self) -> bool:
        """Whether the host is the machine of the browser, which resolves these names itself."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


class Cookies:
    """Reads and writes the session cookie, if the policy has one."""

    def __init__(self, options: Options) -> None:
        self._policy = options.policy.cookie
        self._proxies = options.trusted_proxies
        self._path = options.path or "/"

    def metadata(self, request: Request, binding: Binding) -> Metadata:
        """Returns the metadata with the token in the cookie, if there is one. Raises RequestError.

        A request with credentials in a header is not a request of a session.
        """
        policy, headers = self._policy, request.headers
        if policy is None:
            return ()
        if binding.is_public:
            if binding.cookie is not None:
                self._check_sign_in(request, policy)
            return ()
        if _COOKIE not in headers or not binding.takes_cookie:
            return ()
        site = self._site(request)
        if site is None or any(name in headers for name in policy.replaced_by):
            return ()
        tokens = _values(request, self._name(site, policy))
        if tokens:
            _check_origin(request, site)
            # Shared caches store no responses to requests with Authorization, but others.
            request.response_headers = {"Cache-Control": "no-store"}
        return tuple((policy.metadata, printable(token)) for token in tokens)

    def headers(self, request: Request, token: str) -> dict[str, str]:
        """Returns the header that sets the cookie, or deletes it if the token is empty."""
        policy, site = self._policy, self._site(request)
        name = self._name(site, policy) if site is not None and policy is not None else ""
        if policy is None or site is None or not name:
            return {}
        seconds = policy.max_age if token else 0
        secure = "; Secure" if site.scheme == "https" else ""
        attributes = f"Path={self._path}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
        return {"Set-Cookie": f"{name}={token}; {attributes}"}

    def _check_sign_in(self, request: Request, policy: CookiePolicy) -> None:
        """Raises RequestError if a session cannot begin."""
        site = self._site(request)
        if site is None or not self._name(site, policy):
            raise _https_required()
        _check_origin(request, site)

    def _name(self, site: _Site, policy: CookiePolicy) -> str:
        """Returns the name of the cookie; empty if a site can have none."""
        if site.scheme == "https":
            return f"__{'Host' if self._path == '/' else 'Secure'}-{policy.name}"
        return f"{policy.name}-{site.port}" if site.is_local else ""

    def _site(self, request: Request) -> _Site | None:
        """Returns the site of a request; None if its Host is invalid."""
        scheme = "https" if request.secure or self._is_forwarded_https(request) else "http"
        try:
            url = urlsplit(f"//{request.host}")
            port = url.port or _DEFAULT_PORTS[scheme]
        except ValueError:
            return None
        return _Site(scheme, url.hostname or "", port) if url.hostname else None

    def _is_forwarded_https(self, request: Request) -> bool:
        """Whether a trusted proxy states that it received the request over HTTPS."""
        forwarded = ",".join(request.headers.getall(_FORWARDED_PROTO, ()))
        # The last value is that of the nearest proxy.
        if forwarded.rpartition(",")[2].strip().lower() != "https":
            return False
        try:
            peer = ip_address(request.remote or "")
        except ValueError:
            return False
        return any(peer in network for network in self._proxies)


def _values(request: Request, name: str) -> list[str]:
    """Returns the values of the cookies of a name. The server rejects different ones."""
    prefix = f"{name}="
    cookies = [
        cookie.strip() for header in request.headers.getall(_COOKIE) for cookie in header.split(";")
    ]
    return [cookie[len(prefix) :] for cookie in cookies if name and cookie.startswith(prefix)]


def _check_origin(request: Request, site: _Site) -> None:
    """Raises RequestError unless a page of the same origin sent the request."""
    fetch_sites = request.headers.getall(_FETCH_SITE, [])
    origins = request.headers.getall(_ORIGIN, [])
    if not fetch_sites and not origins:
        raise _cross_origin(f"It has neither {_FETCH_SITE} nor {_ORIGIN}.")
    if any(each != "same-origin" for each in fetch_sites):
        raise _cross_origin(f"Its {_FETCH_SITE} is not same-origin.")
    if any(each != site.origin for each in origins):
        raise _cross_origin(
            f"Its {_ORIGIN} is not {site.origin}. A reverse proxy must pass on the Host header, and"
            f" over HTTPS {_FORWARDED_PROTO}, and be a trusted one."
        )


def _cross_origin(reason: str) -> RequestError:
    message = (
        "A request with a session must come from a page of the same origin. Programs use an API"
        f" key instead. {reason}"
    )
    return request_error("CROSS_ORIGIN_REQUEST", message)


def _https_required() -> RequestError:
    return request_error(
        "HTTPS_REQUIRED",
        "Signing in requires HTTPS, because others on the network path could read the session"
        " cookie. Without it, open this server at http://localhost on its own machine, or through"
        " an SSH tunnel to it. A reverse proxy must be a trusted one that sends X-Forwarded-Proto.",
    )
