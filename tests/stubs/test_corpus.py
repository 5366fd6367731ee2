"""Tests that each language decodes and encodes the messages of the corpus without loss."""

from __future__ import annotations

import base64
import json

import pytest
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor_pool import Default
from google.protobuf.message import Message

from . import corpus
from .programs import Programs


def test_corpus_has_every_type_and_field() -> None:
    known = {(item.type, item.binary) for item in corpus.read()}

    missing = [
        (entry.type, entry.case)
        for entry in corpus.entries()
        if (entry.type, entry.binary) not in known
    ]

    assert missing == [], "run python -m tests.stubs.corpus"


@pytest.fixture(scope="module")
def lines(programs: Programs) -> list[dict[str, object]]:
    """The output of the program of a language, one line per entry."""
    return [json.loads(line) for line in programs.run([*programs.corpus, str(corpus.FILE)])]


@pytest.mark.verify
def test_language_decodes_the_same_values(lines: list[dict[str, object]]) -> None:
    entries = corpus.read()

    assert len(lines) == len(entries)
    for line, entry in zip(lines, entries, strict=True):
        assert line["json"] == entry.json, (entry.type, entry.case)


@pytest.mark.verify
def test_language_encodes_messages_without_loss(lines: list[dict[str, object]]) -> None:
    for line, entry in zip(lines, corpus.read(), strict=True):
        reencoded = decoded(entry.type, str(line["binary"]))
        assert reencoded == decoded(entry.type, entry.binary), (entry.type, entry.case)


def test_json_and_binary_of_an_entry_are_equal() -> None:
    for entry in corpus.read():
        message = decoded(entry.type, entry.binary)
        assert json_format.MessageToDict(message) == entry.json, (entry.type, entry.case)


def decoded(name: str, binary: str) -> Message:
    """Decodes a message of a type from base64."""
    descriptor = Default().FindMessageTypeByName(name)
    return message_factory.GetMessageClass(descriptor).FromString(base64.b64decode(binary))
