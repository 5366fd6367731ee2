"""PostgreSQL databases. The driver is an optional dependency."""

from __future__ import annotations

from ..database import StorageError

try:
    from psycopg import Error as DriverError
except ImportError as error:
    raise StorageError(
        "PostgreSQL requires the package psycopg, which is not installed:"
        " pip install 'roster[postgres]'"
    ) from error

__all__ = ["DriverError"]
