"""The location of a database: a SQLite file or a PostgreSQL URL."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit


class PostgresUrl(NamedTuple):
    """The URL of a PostgreSQL database. Its string form omits the password."""

    url: str

    def __str__(self) -> str:
        url = urlsplit(self.url)
        user, at, host = url.netloc.rpartition("@")
        return f"{url.scheme}://{user.partition(':')[0]}{at}{host}{url.path}"


DatabaseLocation = Path | PostgresUrl


def parse_database_url(text: str) -> DatabaseLocation:
    """Returns the path of a SQLite file (absolute after four slashes) or a PostgreSQL URL.

    Raises ValueError, whose message omits the password.
    """
    url = urlsplit(text)
    if url.scheme in ("postgresql", "postgres"):
        return PostgresUrl(text)
    path = unquote(url.path[1:])
    if url.scheme != "sqlite" or url.netloc or not path or url.query or url.fragment:
        shown = re.sub(r":[^:/@]+@", ":...@", text)
        raise ValueError(
            f"must be sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME, not {shown!r}."
        )
    return Path(path)
