"""Tests the Java stubs that are generated from the descriptor image."""

from __future__ import annotations

import html

import pytest

from ..tools import program
from .in_java import stubs
from .proto_comments import lines_of_comments

pytestmark = pytest.mark.verify


def test_stubs_have_the_comments_of_the_protos() -> None:
    sources = (stubs(program("javac", "java")) / "sources/roster/v1").glob("*.java")

    text = html.unescape("".join(path.read_text() for path in sources))

    assert [line for line in lines_of_comments() if line not in text] == []
