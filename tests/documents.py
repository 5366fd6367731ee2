"""The Markdown files of the repository, and the code, tables and links in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parent.parent
README = "README.md"
API, CLIENTS = "protos/README.md", "generated/README.md"
OPERATION, GATEWAY, TESTS = (
    f"{folder}/README.md" for folder in ("server/deploy", "http_gateway", "tests")
)
# Languages of code blocks that are no programs.
_DATA = {"json", "http", "html", "text", ""}
# Other folders hold tools and caches.
_FOLDERS = (".github", "generated", "http_gateway", "protos", "server", "tests")
NAMES = sorted(
    str(path.relative_to(ROOT))
    for path in (*ROOT.glob("*.md"), *(file for f in _FOLDERS for file in (ROOT / f).rglob("*.md")))
    if "node_modules" not in path.parts
)


@cache
def read(name: str) -> str:
    """Returns the text of a document."""
    return (ROOT / name).read_text()


@cache
def tokens(name: str) -> tuple[Token, ...]:
    """Returns the tokens of a document, those within paragraphs and cells included."""
    blocks = MarkdownIt("commonmark").enable("table").parse(read(name))
    return tuple(inner for block in blocks for inner in (block, *(block.children or ())))


class CodeBlock(NamedTuple):
    """A code block: the last heading, the comment before it, and its language.

    `is_alternative` is whether it follows a block that shows the same in another language. The
    pages of the guides have the same rule.
    """

    section: str
    mark: str
    language: str
    text: str
    is_alternative: bool


def code_blocks(name: str) -> list[CodeBlock]:
    """Returns the code blocks of a document. The language of grpcurl commands is `grpcurl`."""
    found: list[CodeBlock] = []
    section = mark = ""
    languages: set[str] = set()
    for token, following in pairwise((*tokens(name), Token("end", "", 0))):
        if token.type == "fence":
            is_grpcurl = token.info == "sh" and "grpcurl " in token.content
            language = "grpcurl" if is_grpcurl else token.info
            is_alternative = bool(languages) and language not in languages
            is_alternative = is_alternative and not _DATA & {*languages, language}
            found.append(CodeBlock(section, mark, language, token.content, is_alternative))
            languages = languages | {language} if is_alternative else {language}
        if token.type == "html_block":
            mark = token.content.strip().removeprefix("<!-- ").removesuffix(" -->")
            continue
        mark = ""
        if token.type == "heading_open":
            section = following.content
        if token.type != "fence":
            languages = set()
    return found


def code(name: str, mark: str) -> str:
    """Returns the code block below the comment `<!-- mark -->`."""
    (found,) = (block.text for block in code_blocks(name) if block.mark == mark)
    return found


def fences(name: str, language: str) -> list[str]:
    """Returns the code blocks in a language."""
    return [t.content for t in tokens(name) if t.type == "fence" and t.info == language]


def spans(name: str) -> list[str]:
    """Returns the code within text."""
    return [token.content for token in tokens(name) if token.type == "code_inline"]


def table(name: str, header: str) -> list[list[str]]:
    """Returns the rows of the table with this header, as Markdown; `|` separates cells."""
    _, separator, rest = read(name).partition(f"| {header} |\n")
    assert separator, f"{name} has no table {header!r}"
    rows = rest.partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def links(name: str) -> Iterator[str]:
    """Yields the targets of links and images."""
    for token in tokens(name):
        if token.type in ("link_open", "image"):
            yield str(token.attrs["src" if token.type == "image" else "href"])


@cache
def anchors(name: str) -> frozenset[str]:
    """Returns the fragments that lead to the headings of a document, as GitHub names them."""
    seen: Counter[str] = Counter()
    found = set()
    blocks = tokens(name)
    for block, content in pairwise(blocks):
        if block.type == "heading_open":
            anchor = re.sub(r"[^\w\- ]", "", content.content.lower()).replace(" ", "-")
            found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
            seen[anchor] += 1
    return frozenset(found)
