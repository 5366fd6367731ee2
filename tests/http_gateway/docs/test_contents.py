"""The reference shows all operations, fields, bounds and errors of the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import Descriptor, FileDescriptor

from roster.v1 import errors_pb2
from rosterd.http_gateway.body import MAX_BODY_BYTES
from rosterd.http_gateway.codec.strict_json import MAX_DEPTH, MAX_VALUES
from rosterd.http_gateway.request_errors import error_code_of
from rosterd.http_gateway.routing.query import MAX_PARAMETERS
from rosterd.server.app import SERVICES
from rosterd.server.serving.gateway_policy import POLICY

from ...cases import each
from .html import DOCUMENT, DOCUMENTATION, section, text_of, topic

OPERATIONS = {
    operation["operationId"]: (verb.upper(), path, operation)
    for path, item in DOCUMENT["paths"].items()
    for verb, operation in item.items()
}
# Operations that differ only in their method are shown once, under the ID of the first.
SHOWN = [name for name in OPERATIONS if not name.endswith("ByPatch")]


def resolved(item: dict[str, Any]) -> dict[str, Any]:
    """Returns an object of the document, or the component that it refers to."""
    while "$ref" in item:
        target: Any = DOCUMENT
        for step in item["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        item = target
    return item


@each("name", SHOWN)
def test_operation_is_shown_with_its_path_and_parameters(rendered: str, name: str) -> None:
    verb, path, operation = OPERATIONS[name]
    text = text_of(section(rendered, name))

    assert verb in text
    assert path in text
    for parameter in operation["parameters"]:
        assert resolved(parameter)["name"] in text


@each("name", SHOWN)
def test_errors_of_an_operation_are_shown_with_their_status(rendered: str, name: str) -> None:
    _, _, operation = OPERATIONS[name]
    text = text_of(section(rendered, name))

    for status, reference in operation["responses"].items():
        for content in resolved(reference).get("content", {}).values():
            for code in content.get("examples", ()):
                assert re.search(rf"{status}\s*{code}", text), (status, code)


def test_operation_with_two_methods_is_shown_once_with_both_anchors(rendered: str) -> None:
    text = text_of(section(rendered, "UpdateTag"))

    assert "PUT PATCH /api/tags/{id}" in text
    assert '<span id="UpdateTagByPatch"></span>' in rendered
    assert '<section class="operation" id="UpdateTagByPatch"' not in rendered


def test_all_error_codes_are_shown_with_their_status(rendered: str) -> None:
    introduction = text_of(rendered[: rendered.index('<section class="resource"')])

    for value in errors_pb2.Error.Reason.DESCRIPTOR.values:
        if value.number:
            code = rf"{POLICY.errors.statuses[value.name]}\s*{error_code_of(value.name)}"
            assert re.search(code, introduction), value.name


def test_introduction_states_the_base_url_authentication_and_guides(rendered: str) -> None:
    introduction = text_of(topic(rendered, "introduction"))

    assert DOCUMENTATION.http_url in introduction
    assert "Authorization: Bearer <key>" in introduction
    assert f"export {DOCUMENTATION.key_variable}=" in introduction
    for guide in DOCUMENTATION.guides:
        assert f'href="/docs/guides/{guide.name}"' in topic(rendered, "introduction")


def test_descriptions_name_fields_as_json_does() -> None:
    messages = [message for service in SERVICES for message in all_messages(service.file)]
    names = {field.name for message in messages for field in message.fields if "_" in field.name}

    for text in descriptions(DOCUMENT):
        assert names.isdisjoint(re.findall(r"\w+", re.sub("`[^`]*`", "", text))), text


def all_messages(file: FileDescriptor) -> list[Descriptor]:
    """Returns the messages of a file, with nested ones."""
    messages = list(file.message_types_by_name.values())
    for message in messages:
        messages += message.nested_types
    return messages


def descriptions(item: Any) -> Iterator[str]:
    """Yields every description in a document."""
    members = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    if isinstance(item, dict) and isinstance(item.get("description"), str):
        yield item["description"]
    for member in members:
        yield from descriptions(member)


def test_limits_agree_with_the_code(rendered: str) -> None:
    limits = text_of(topic(rendered, "limits"))

    assert f"{MAX_BODY_BYTES // 1024**2} MiB" in limits
    assert f"{MAX_DEPTH} deep" in limits
    assert f"{MAX_VALUES:,} values" in limits
    assert f"{MAX_PARAMETERS} parameters" in limits
