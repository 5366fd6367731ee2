"""Decodes the messages of the corpus with the Python stubs, and prints each as JSON."""

from __future__ import annotations

import base64
import json
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

from google.protobuf import json_format
from google.protobuf.message import Message

from roster import v1

PACKAGE = "roster.v1."


def class_of(name: str) -> type[Message]:
    """Returns the class of a type such as roster.v1.Error.Detail."""
    outer, *nested = name.removeprefix(PACKAGE).split(".")
    modules = (import_module(PACKAGE + found.name) for found in pkgutil.iter_modules(v1.__path__))
    cls: type[Message] = next(vars(found)[outer] for found in modules if outer in vars(found))
    for part in nested:
        cls = getattr(cls, part)
    return cls


def main() -> None:
    for entry in json.loads(Path(sys.argv[1]).read_text()):
        message = class_of(entry["type"]).FromString(base64.b64decode(entry["binary"]))
        binary = base64.b64encode(message.SerializeToString()).decode()
        print(json.dumps({"binary": binary, "json": json_format.MessageToDict(message)}))


if __name__ == "__main__":
    main()
