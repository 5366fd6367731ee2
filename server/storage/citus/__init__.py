"""Citus clusters of PostgreSQL databases."""

from .. import postgres as postgres  # checks that the driver is installed
