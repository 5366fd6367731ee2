"""Generates the TypeScript types of the API for the console, from the OpenAPI document.

generate_console.py OUT     types of messages and operations at OUT
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rosterd.http_gateway.openapi.document import document
from rosterd.server.app import SERVICES
from rosterd.server.serving.gateway_policy import POLICY

HEAD = """\
// Generated from the OpenAPI document by protos/generate_console.py (make generate). Do not edit.
"""
_METHODS = ("get", "post", "put", "patch", "delete")
_PRIMITIVES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def type_of(schema: Mapping[str, Any]) -> str:
    """Returns the TypeScript type of a schema."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for combination in ("oneOf", "anyOf"):
        if combination in schema:
            return " | ".join(dict.fromkeys(map(type_of, schema[combination])))
    types = schema.get("type", "object")
    names = [types] if isinstance(types, str) else types
    if "enum" in schema:
        values = " | ".join(json.dumps(value) for value in schema["enum"])
        return f"{values} | null" if "null" in names and None not in schema["enum"] else values
    return " | ".join(_simple(name, schema) for name in names)


def _simple(name: str, schema: Mapping[str, Any]) -> str:
    if name == "array":
        item = type_of(schema.get("items", {}))
        return f"({item})[]" if " " in item else f"{item}[]"
    if name == "object":
        if "properties" in schema:
            return f"{{ {' '.join(_members(schema))} }}"
        values = schema.get("additionalProperties")
        return f"Record<string, {type_of(values) if isinstance(values, dict) else 'unknown'}>"
    return _PRIMITIVES.get(name, name)


def _members(schema: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required", ())
    for name, value in schema["properties"].items():
        # A key that requests may contain, and that is ignored, has a description only.
        if value.keys() - {"description"}:
            yield f"{name}{'' if name in required else '?'}: {type_of(value)};"


def _interfaces(schemas: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in schemas.items():
        if "properties" in schema:
            members = "".join(f"  {member}\n" for member in _members(schema))
            yield f"export interface {name} {{\n{members}}}\n"
        else:
            yield f"export type {name} = {type_of(schema)};\n"


def _operations(paths: Mapping[str, Any]) -> Iterator[str]:
    yield "/** All operations by method and path. */\nexport interface Operations {\n"
    for path, item in paths.items():
        for method in _METHODS:
            if path.startswith("/api/") and method in item:
                yield _operation(f"{method.upper()} {path}", item[method])
    yield "}\n"


def _operation(key: str, operation: Mapping[str, Any]) -> str:
    parameters = [each for each in operation["parameters"] if "$ref" not in each]
    groups = {
        place: " ".join(
            f"{each['name']}{'' if each.get('required') else '?'}: {type_of(each['schema'])};"
            for each in parameters
            if each["in"] == place
        )
        for place in ("path", "query")
    }
    body = _json(operation.get("requestBody", {}), "undefined")
    success = next(r for status, r in operation["responses"].items() if status.startswith("2"))
    return (
        f'  "{key}": {{\n'
        f"    path: {{ {groups['path']} }};\n"
        f"    query: {{ {groups['query']} }};\n"
        f"    body: {body};\n"
        f"    response: {_json(success, 'undefined')};\n"
        "  };\n"
    )


def _json(content: Mapping[str, Any], otherwise: str) -> str:
    """Returns the type of a body: `otherwise` without one, `unknown` if it is not JSON."""
    types = content.get("content", {})
    if not types:
        return otherwise
    json_type = types.get("application/json")
    return type_of(json_type["schema"]) if json_type else "unknown"


if __name__ == "__main__":
    api = document(SERVICES, POLICY)
    parts = (HEAD, *_interfaces(api["components"]["schemas"]), "".join(_operations(api["paths"])))
    Path(sys.argv[1]).write_text("\n".join(parts), "utf-8")
