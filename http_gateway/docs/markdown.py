"""Renders Markdown: descriptions of declarations, and guides.

Descriptions have paragraphs, lists and code; all other markup stays text, so that no description
can contain a link, an image or a tag. Guides are CommonMark with tables, without HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from .documentation import Documentation, Guide
from .highlight import highlight, placeholder
from .samples import Sample

_DESCRIPTION = MarkdownIt("zero").enable(["backticks", "list"])
_GUIDE = MarkdownIt("commonmark").enable("table").disable("html_inline")
# Languages of code blocks by the word after the fence: the one to highlight, and its name.
_LANGUAGES = {
    "sh": ("curl", "Shell"),
    "python": ("python", "Python"),
    "javascript": ("javascript", "JavaScript"),
    "go": ("go", "Go"),
    "json": ("json", "JSON"),
    "http": ("headers", "HTTP"),
    "html": ("", "HTML"),
}
_DATA = {"json", "headers", ""}


@lru_cache(maxsize=2048)
def prose(text: str) -> Markup:
    """Returns a description as HTML."""
    # HTML is not enabled, so everything is escaped.
    return Markup(_DESCRIPTION.render(text))  # noqa: S704


@dataclass(frozen=True)
class Section:
    """A section of a guide for the navigation and the search; `text` has no markup."""

    anchor: str
    title: str
    text: str


@dataclass(frozen=True)
class Block:
    """A part of a guide: HTML, or code samples, which are alternatives in several languages."""

    html: Markup
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True)
class RenderedGuide:
    """A guide as HTML. The first section is the text before the first heading of level 2."""

    guide: Guide
    title: str
    summary: str
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...]


class GuideRenderer:
    """Renders the guides of a service.

    Code such as `CreateTag` or `POST /api/tags` becomes a link if `urls` contains it. A link to
    another guide, `name.md`, leads to its page. Images are inserted as SVG elements, so that
    they follow the theme of the page.
    """

    def __init__(self, documentation: Documentation, urls: Mapping[str, str], folder: str) -> None:
        self._documentation = documentation
        self._urls = urls
        self._folder = folder

    def render(self, guide: Guide) -> RenderedGuide:
        """Returns a guide as HTML."""
        tokens = [token for token in _GUIDE.parse(guide.text) if token.type != "html_block"]
        sections = tuple(_sections(tokens))
        paragraphs = (inline for opening, inline in pairwise(tokens) if _is(opening, "p"))
        for opening, inline in pairwise(tokens):
            if inline.type == "inline":
                inline.children = list(self._inline(opening, inline.children or []))
        return RenderedGuide(
            guide=guide,
            title=sections[0].title,
            summary=next((_text(inline) for inline in paragraphs), ""),
            blocks=tuple(self._blocks(tokens)),
            sections=sections,
        )

    def _inline(self, opening: Token, children: list[Token]) -> Iterator[Token]:
        heading = opening.tag in ("h2", "h3")
        if heading:
            anchor = _anchor(_plain(children))
            opening.attrSet("id", anchor)
            yield _token("link_open", "a", {"class": "anchor", "href": f"#{anchor}"})
        in_link = heading
        for child in children:
            if child.type in ("link_open", "link_close"):
                in_link = child.type == "link_open"
            url = self._urls.get(child.content) if child.type == "code_inline" else None
            if child.type == "link_open":
                child.attrSet("href", self._target(str(child.attrs["href"])))
            if child.type == "image":
                image = self._documentation.images[str(child.attrs["src"])]
                if image.startswith("data:"):
                    tag = Markup('<img src="{}" alt="{}">').format(image, child.content)
                    image = str(tag)
                yield Token("html_inline", "", 0, content=image)
            elif url and not in_link:
                yield from (_token("link_open", "a", {"href": url}), child, _closing())
            else:
                yield child
        if heading:
            yield _closing()

    def _target(self, link: str) -> str:
        name, suffix, fragment = link.partition(".md")
        is_guide = suffix and any(guide.name == name for guide in self._documentation.guides)
        return f"{self._folder}{name}{fragment}" if is_guide else link

    def _blocks(self, tokens: list[Token]) -> Iterator[Block]:
        """Yields blocks; consecutive code blocks in different programming languages are one."""
        rest: list[Token] = []
        samples: list[Sample] = []
        for token in [*tokens, Token("end", "", 0)]:
            sample = self._sample(token) if token.type == "fence" else None
            if samples and (sample is None or not _is_alternative(sample, samples)):
                yield Block(Markup(), tuple(samples))
                samples = []
            if sample is not None:
                if rest:
                    yield _html(rest)
                    rest = []
                samples.append(sample)
            elif token.type != "end":
                rest.append(token)
        if rest:
            yield _html(rest)

    def _sample(self, fence: Token) -> Sample:
        language, name = _LANGUAGES.get(fence.info, ("", "Text"))
        if language == "curl":
            for program, key, label in (("grpcurl ", "grpc", "gRPC"), ("curl ", "curl", "curl")):
                if program in fence.content:
                    language, name = key, label
                    break
        url = self._documentation.http_url
        code = fence.content.rstrip("\n").replace("\t", "  ")
        return Sample(
            language, name, highlight(code.replace(url, placeholder("base", url)), language)
        )


def _is_alternative(sample: Sample, samples: list[Sample]) -> bool:
    """Whether a code block shows the same as those before it, in another language."""
    languages = [item.language for item in (*samples, sample)]
    return len(set(languages)) == len(languages) and not _DATA & set(languages)


def _html(tokens: list[Token]) -> Block:
    # Guides are part of the service, and their HTML is left out.
    return Block(Markup(_GUIDE.renderer.render(tokens, _GUIDE.options, {})))  # noqa: S704


def _sections(tokens: list[Token]) -> Iterator[Section]:
    title, texts = "", list[str]()
    for opening, inline in pairwise(tokens):
        if _is(opening, "h1"):
            title = _text(inline)
        elif _is(opening, "h2"):
            yield _section(title, texts)
            title, texts = _text(inline), []
        elif inline.type == "inline":
            texts.append(_text(inline))
    yield _section(title, texts)


def _section(title: str, texts: Iterable[str]) -> Section:
    return Section(_anchor(title), title, " ".join(texts))


def _is(token: Token, tag: str) -> bool:
    return token.nesting == 1 and token.tag == tag


def _text(inline: Token) -> str:
    return _plain(inline.children or [])


def _plain(tokens: Iterable[Token]) -> str:
    return "".join(" " if "break" in token.type else token.content for token in tokens)


def _anchor(title: str) -> str:
    """Returns the anchor of a heading as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _token(kind: str, tag: str, attributes: dict[str, str]) -> Token:
    return Token(kind, tag, 1, attrs=dict(attributes))


def _closing() -> Token:
    return Token("link_close", "a", -1)
