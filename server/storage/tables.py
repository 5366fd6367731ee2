"""The tables of a database, as it says itself: what goes through all of them needs no list."""

from __future__ import annotations

from graphlib import TopologicalSorter

from peewee import Database

from .migrate import HISTORY


def in_dependency_order(database: Database) -> list[str]:
    """Returns every table but the history of migrations, after those that it refers to."""
    links = {
        table: {link.dest_table for link in database.get_foreign_keys(table)}
        for table in sorted(database.get_tables())
        if table != HISTORY
    }
    return list(TopologicalSorter(links).static_order())
