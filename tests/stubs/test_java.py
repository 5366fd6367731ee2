"""The stubs in Java, as they are made from the descriptor image."""

from __future__ import annotations

import html
from pathlib import Path

from .. import tools
from .comments import lines_of_comments
from .in_java import make


def test_comments_of_the_protos_are_the_documentation(tmp_path: Path) -> None:
    make(tmp_path)
    sources = tools.file("java/stubs-sources/roster/v1", "java")

    text = html.unescape("".join(path.read_text() for path in sources.glob("*.java")))

    assert [line for line in lines_of_comments() if line not in text] == []
