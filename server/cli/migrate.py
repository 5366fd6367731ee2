"""roster migrate"""

from __future__ import annotations

from ..config import SETTINGS
from .beside import bring_up_to_date
from .output import DatabaseUrl, Json, console, print_json


def migrate(
    database_url: DatabaseUrl = SETTINGS["database_url"].default, json: Json = False
) -> None:
    """Bring the database to the schema of this program. `serve` does so by itself."""
    applied = bring_up_to_date(database_url)
    if json:
        print_json({"applied": applied})
    elif applied:
        console.print("\n".join(f"applied {name}" for name in applied))
    else:
        console.print("The schema is up to date.")
