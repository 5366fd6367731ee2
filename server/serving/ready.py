"""Reports that a process serves: to people, or to its supervisor."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import version
from shutil import which

from ..config import API_KEY, URL, Settings
from .console import echo
from .role import Role

_EXAMPLES = [
    f'  curl "${URL}/api/subscribers" -H "Authorization: Bearer ${API_KEY}" \\',
    "    -H 'Content-Type: application/json' \\",
    """    -d '{"email": "grace@example.com", "firstName": "Grace", "tags": ["first"]}'""",
    "",
    f'  curl "${URL}/api/subscribers" -H "Authorization: Bearer ${API_KEY}"',
    "",
]
_DEFAULT_HTTP = f"http://{Settings.http_address.default}"
_DEFAULT_DATABASE = Settings.database_url.default.removeprefix("sqlite:///")


@dataclass(frozen=True)
class Ready:
    """The addresses of a service; empty if it has none.

    `first_key` is the API key of the first account, if this start created it. `sign_in` is the
    URL that signs in to the only account once.
    """

    http: str = ""
    grpc: str = ""
    upstream: str = ""
    database: str = ""
    first_key: str = ""
    sign_in: str = ""
    metrics: str = ""

    def log_fields(self) -> dict[str, str | None]:
        """Returns the fields of a log line: the version, and the addresses without secrets."""
        addresses = {name: value or None for name, value in asdict(self).items()}
        del addresses["first_key"], addresses["sign_in"]
        return {"version": version("roster"), **addresses}


def is_terminal(role: Role) -> bool:
    """Whether the output of the service is shown on a terminal."""
    if role is Role.FURTHER:
        return False
    # The standard output of a supervised process is read by its supervisor.
    return (sys.stderr if role.is_supervised else sys.stdout).isatty()


def report(ready: Ready) -> None:
    """Reports to the supervisor, in one line on standard output."""
    print(json.dumps(asdict(ready)), flush=True)


def read_report(line: bytes) -> Ready:
    return Ready(**json.loads(line))


def announce(ready: Ready, processes: int = 1) -> None:
    """Prints the addresses of the service and how to try it."""
    if not ready.http and not ready.grpc:
        metrics = f" Metrics: {ready.metrics}" if ready.metrics else ""
        echo(f"The worker processes {ready.database}.{metrics}")
        return
    suffix = f" in {processes} processes" if processes > 1 else ""
    addresses = (
        ("HTTP", ready.http),
        ("gRPC", ready.grpc),
        ("upstream", ready.upstream),
        ("database", ready.database),
        ("metrics", ready.metrics),
        ("reference", f"{ready.http}/docs" if ready.http else ""),
    )
    lines = [
        f"Roster {version('roster')} is serving{suffix}. Ctrl-C stops it.",
        "",
        *(f"  {name:<9} {address}" for name, address in addresses if address),
        "",
        *_first_steps(ready),
    ]
    echo("\n".join(lines))


def _first_steps(ready: Ready) -> list[str]:
    """Returns how to call the service, and how to create another API key."""
    lines = []
    if ready.first_key:
        lines += ["The database is new. The API key of its first account is not shown again.", ""]
    if ready.sign_in:
        lines += ["To sign in with a browser, once in the next 10 minutes:", ""]
        lines += [f"  {ready.sign_in}", ""]
    if ready.http:
        lines += ["Try in another terminal:", "", f"  export {URL}={ready.http}"]
    if ready.http or ready.first_key:
        lines += [f"  export {API_KEY}={ready.first_key or 'rk_…'}", ""]
    if ready.http:
        lines += _EXAMPLES
    if ready.database:
        # The default of the flag, and the URL of a database server, which has a password.
        is_implied = ready.database == _DEFAULT_DATABASE or "://" in ready.database
        flag = "" if is_implied else f" --database-url sqlite:///{ready.database}"
        # The default of the flag. On other hosts, people use a URL that this program does not know.
        is_implied = ready.http == _DEFAULT_HTTP or "://127.0.0.1:" not in ready.http
        url = "" if is_implied else f" --url {ready.http}"
        lines += [
            "To create another API key or sign-in link, and to list the accounts:",
            "",
            f"  {_program()} keys create --scope admin{flag}",
            f"  {_program()} console link{flag}{url}",
            f"  {_program()} accounts list{flag}",
            "",
        ]
    return lines


def _program() -> str:
    """Returns the name of this program in the shell that started it."""
    path = sys.argv[0]
    return path if path.endswith("/roster") and which("roster") is None else "roster"
