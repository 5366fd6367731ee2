"""A copy of the repository with a new field of each kind, made as server/README.md describes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

ROOT = Path(__file__).parents[1]

# The declarations in fields.py, the columns in models.py, and the types in protobuf.
DECLARED = {
    "phone": "Annotated[str, Profile(Kind.TEXT, max_length=40)]",
    "score": "Annotated[float | None, Profile(Kind.NUMBER)]",
    "renewed_at": "Annotated[int | None, Profile(Kind.TIME)]",
    "is_vip": "Annotated[int | None, Profile(Kind.FLAG)]",
}
COLUMNS = {
    "phone": "TextField(constraints=[SQL(\"DEFAULT ''\")])",
    "score": "DoubleField(null=True)",
    "renewed_at": "BigIntegerField(null=True)",
    "is_vip": "SmallIntegerField(null=True)",
}
TYPES = {
    "phone": "string phone = 101",
    "score": "optional double score = 102",
    "renewed_at": "google.protobuf.Timestamp renewed_at = 103",
    "is_vip": "optional bool is_vip = 104",
}
MAX_LENGTH = "(buf.validate.field).string.max_len = 40"
# The messages with the fields, and the options of each.
MESSAGES: dict[str, dict[str, str]] = {
    "Subscriber": {},
    "CreateSubscriberRequest": {"phone": MAX_LENGTH},
    "UpdateSubscriberRequest": {
        "phone": f"{MAX_LENGTH}, (null_clears) = true",
        **dict.fromkeys(("score", "renewed_at", "is_vip"), "(null_clears) = true"),
    },
    "BulkSubscriber": {},
    "ImportSubscriber": {"renewed_at": "(date_like) = true"},
}
MIGRATION = """
from peewee import *


def up(migrator, db):
    class Subscriber(Model):
{columns}
        class Meta:
            table_name = "subscriber"

    for name in {names!r}:
        column = getattr(Subscriber, name).ddl(db.get_sql_context())
        definition, _ = db.get_sql_context().sql(column).query()
        db.execute_sql(f"ALTER TABLE subscriber ADD COLUMN {{definition}}")
"""


_NODE_MODULES = shutil.ignore_patterns("node_modules")


def insert_after(file: Path, line: str, *lines: str) -> None:
    """Inserts lines after the only line of a file that starts with a text."""
    text = file.read_text()
    assert text.count(f"\n{line}") == 1, line
    end = text.index("\n", text.index(f"\n{line}") + 1)
    file.write_text("\n".join([text[:end], *lines]) + text[end:])


def make_copy(folder: Path, add_more: Callable[[Path], None] = lambda _: None) -> None:
    """Copies the repository to a folder, adds the fields, and runs the generator.

    `add_more` edits the protobuf files in the folder that it is given.
    """
    for name in ("server", "http_gateway", "protos", ".packages"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=_NODE_MODULES)
    # The generated client has its version.
    shutil.copy(ROOT / "pyproject.toml", folder)
    features = folder / "server/features/subscribers"
    row = [f"    {name}: {declared}" for name, declared in DECLARED.items()]
    insert_after(features / "fields.py", "    last_name: Annotated", *row)
    columns = [f"    {name} = {column}" for name, column in COLUMNS.items()]
    insert_after(features / "models.py", "    last_name = TextField", *columns)
    models = (features / "models.py").read_text()
    models = models.replace(
        "BigIntegerField, CompositeKey", "BigIntegerField, CompositeKey, DoubleField"
    )
    (features / "models.py").write_text(models)
    migrations = folder / "server/storage/migrations"
    number = max(int(file.name[:4]) for file in migrations.glob("[0-9]*.py")) + 1
    text = MIGRATION.format(
        columns="\n".join("    " + line for line in columns), names=list(COLUMNS)
    )
    (migrations / f"{number:04}_new_fields.py").write_text(text)
    protos = folder / "protos/roster/v1"
    for message, options in MESSAGES.items():
        fields = [
            f"  // New.\n  {kind} {f'[{options[name]}]' if name in options else ''};"
            for name, kind in TYPES.items()
        ]
        insert_after(protos / "subscribers.proto", f"message {message} {{", *fields)
    # A sign-up can only set the text.
    insert_after(
        protos / "signups.proto", "message SignUpRequest {", f"  // New.\n  {TYPES['phone']};"
    )
    add_more(protos)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for arguments in (["generated"], ["--image", "image.binpb"]):
        command = [sys.executable, "protos/generate.py", *arguments]
        subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, check=True)


def imports_of(folder: Path) -> Sequence[str]:
    """Returns the program under which a process imports the copy."""
    return ("env", f"PYTHONPATH={folder / '.packages'}:{folder / 'generated/python'}")


class Messages:
    """The message types of the copy, which are not those of this process."""

    def __init__(self, folder: Path) -> None:
        files = descriptor_pb2.FileDescriptorSet.FromString((folder / "image.binpb").read_bytes())
        self._pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            self._pool.Add(file)

    def __getattr__(self, name: str) -> Any:
        descriptor = self._pool.FindMessageTypeByName(f"roster.v1.{name}")
        return message_factory.GetMessageClass(descriptor)
