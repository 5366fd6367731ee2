"""Every language reads the same messages from the same bytes, and writes them back whole."""

from __future__ import annotations

import base64
import json

import pytest
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor_pool import Default
from google.protobuf.message import Message

from . import corpus
from .programs import Programs


def test_corpus_holds_every_type_and_field_of_the_protos() -> None:
    held = {(each.type, each.binary) for each in corpus.read()}

    missing = [
        (each.type, each.case) for each in corpus.make() if (each.type, each.binary) not in held
    ]

    assert missing == [], "run python -m tests.stubs.corpus"


@pytest.fixture(scope="module")
def lines(programs: Programs) -> list[dict[str, object]]:
    """What the language's program says of each entry."""
    return [json.loads(line) for line in programs.run([*programs.corpus, str(corpus.FILE)])]


@pytest.mark.verify
def test_language_reads_the_same_values(lines: list[dict[str, object]]) -> None:
    entries = corpus.read()

    assert len(lines) == len(entries)
    for line, entry in zip(lines, entries, strict=True):
        assert line["json"] == entry.json, (entry.type, entry.case)


@pytest.mark.verify
def test_language_loses_nothing_when_it_writes(lines: list[dict[str, object]]) -> None:
    for line, entry in zip(lines, corpus.read(), strict=True):
        again = decoded(entry.type, str(line["binary"]))
        assert again == decoded(entry.type, entry.binary), (entry.type, entry.case)


def test_json_of_the_corpus_is_that_of_its_bytes() -> None:
    for entry in corpus.read():
        message = decoded(entry.type, entry.binary)
        assert json_format.MessageToDict(message) == entry.json, (entry.type, entry.case)


def decoded(name: str, binary: str) -> Message:
    """Returns the message of a type that bytes in base64 stand for."""
    kind = Default().FindMessageTypeByName(name)
    return message_factory.GetMessageClass(kind).FromString(base64.b64decode(binary))
