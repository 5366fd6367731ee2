"""PostgreSQL databases. The driver is an optional dependency."""

from __future__ import annotations

import sys

from ..database import StorageError

try:
    from psycopg import Error as DriverError
except ImportError as error:
    raise StorageError(
        "PostgreSQL requires the package psycopg, which is not installed. Run in the checkout of"
        f" Roster: {sys.executable} -m pip install --editable '.[postgres]'"
    ) from error

__all__ = ["DriverError"]
