"""The flags that tell a command of the service."""

from __future__ import annotations

from typing import Annotated

import typer

from ...config import API_KEY

Url = Annotated[str, typer.Option(metavar="URL", help="Where the service is.")]
Key = Annotated[
    str,
    typer.Option(
        "--api-key",
        metavar="KEY",
        envvar=API_KEY,
        help="The API key. Others on this machine may see a flag, but not the environment.",
    ),
]
LOCAL = "http://127.0.0.1:8080"
