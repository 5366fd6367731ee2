"""The stubs in Java, as they are made from the descriptor image."""

from __future__ import annotations

import html

import pytest

from ..tools import program
from .comments import lines_of_comments
from .in_java import stubs

pytestmark = pytest.mark.verify


def test_comments_of_the_protos_are_the_documentation() -> None:
    sources = (stubs(program("javac", "java")) / "sources/roster/v1").glob("*.java")

    text = html.unescape("".join(path.read_text() for path in sources))

    assert [line for line in lines_of_comments() if line not in text] == []
