"""Lists the tables of a database from its catalog."""

from __future__ import annotations

from graphlib import TopologicalSorter

from peewee import Database

from .migrate import HISTORY


def in_dependency_order(database: Database) -> list[str]:
    """Returns all tables except the migration history, referenced tables first."""
    links = {
        table: {link.dest_table for link in database.get_foreign_keys(table)}
        for table in sorted(database.get_tables())
        if table != HISTORY
    }
    return list(TopologicalSorter(links).static_order())
