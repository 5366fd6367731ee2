"""Texts and identifiers use standard terms, not the words listed here."""

from __future__ import annotations

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Words that no text uses, by what replaces them.
WORDS = {
    "the client, the process, the caller": "whoever whosoever somebody nobody anybody everybody",
    "any, every": "whatever whichever",
    "returns, reports, sends, receives": "tell tells telling told hear hears heard hearing",
    "batch executor": "lane lanes",
    "encryption, encrypted": "vault vaults seal seals sealed sealing unsealed",
    "metrics": "crew glance glances",
    "maintenance": "upkeep",
    "range, bucket group": "chapter chapters",
    "to disable": "hopeless",
    "generated": "made-up",
}
PHRASES = {
    "recently": "of late",
    "at most": "as may be",
    "verbatim": "word for word",
    "are created": "come into being|comes into being",
    "available": "to be had",
    "clients that, rows that": "those who",
    "eventually": "by and by",
}
# Words that no identifier contains. `tell` is a method of files.
IDENTIFIERS = (
    *("told", "tells", "hear", "heard", "hearing", "lane", "lanes", "vault", "seal", "sealed"),
    *("crew", "upkeep", "hopeless", "chapter"),
)
TEXT = re.compile(
    rf"\b({'|'.join([*' '.join(WORDS.values()).split(), *PHRASES.values()])})\b", re.IGNORECASE
)
PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# In lower case, which is faster than ignoring the case.
ANY = re.compile(f"{TEXT.pattern}|{'|'.join(IDENTIFIERS)}")
EXCLUDED = re.compile(
    r"generated/|server/console/built/|tests/test_language\.py|.*(\.(lock|svg|png|binpb|sum)|-lock\.json)$"
)


def tracked_files() -> list[str]:
    command = ["git", "ls-files"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    if listed.returncode:
        pytest.skip("the files are listed by Git")
    names = listed.stdout.splitlines()
    return [name for name in names if not EXCLUDED.match(name) and (ROOT / name).is_file()]


def findings_in_python(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        line = token.start[0]
        if token.type == tokenize.NAME:
            if any(part.lower() in IDENTIFIERS for part in PARTS.findall(token.string)):
                yield f"{line}: {token.string}"
        elif token.type in (tokenize.STRING, tokenize.COMMENT):
            for match in TEXT.finditer(token.string):
                yield f"{line + token.string[: match.start()].count(chr(10))}: {match[0]}"


def findings_in_text(source: str) -> Iterator[str]:
    for number, line in enumerate(source.splitlines(), 1):
        for match in TEXT.finditer(line):
            yield f"{number}: {match[0]}"


def test_texts_and_identifiers_use_standard_terms() -> None:
    findings = []
    for name in tracked_files():
        source = (ROOT / name).read_text()
        if not ANY.search(source.lower()):
            continue
        find = findings_in_python if name.endswith(".py") else findings_in_text
        findings += [f"{name}:{finding}" for finding in find(source)]

    assert findings == []
