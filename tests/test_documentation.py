"""The Markdown files: commands run, tables match the code, links and names resolve."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from google.api import annotations_pb2

from roster.v1 import http_pb2
from rosterd.server import cli
from rosterd.server.config import FILE, PREFIX, SETTINGS, URL
from rosterd.server.serving.console import ExitCode
from rosterd.server.serving.environment import SECRETS

from .bench import tables
from .cases import each
from .documents import (
    API,
    NAMES,
    OPERATION,
    README,
    ROOT,
    TESTS,
    anchors,
    code_blocks,
    fences,
    links,
    read,
    spans,
    table,
    tokens,
)
from .fronts import METHODS

MAX_README_LINES = 200
# Variables of the tests and of the example programs.
OTHER_VARIABLES = {
    f"{PREFIX}{name}"
    for name in (
        "BENCH",
        "CITUS",
        "FAULTS",
        "KEY",
        "LISTMONK",
        "POSTGRES",
        "TOOLS",
    )
}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
# Top-level folders of the repository.
FOLDERS = {"server", "http_gateway", "protos", "generated", "tests", ".ci", ".github"}

each_document = pytest.mark.parametrize("name", NAMES)


def test_readme_is_short_and_names_the_two_commands() -> None:
    assert len(read(README).splitlines()) <= MAX_README_LINES
    assert "make run" in read(README)
    assert "make test" in read(README)


@each_document
def test_json_is_well_formed(name: str) -> None:
    for text in fences(name, "json"):
        assert json.loads(text)


def test_table_of_settings_agrees_with_the_code() -> None:
    assert table(OPERATION, "setting | default | meaning") == [
        [f"`{row.environment}`", f"`{row.default}`" if row.default else "", row.help]
        for row in SETTINGS.values()
    ]


@each(("name", "in_readme"), [(TESTS, False), (README, True)])
def test_tables_of_benchmarks_have_the_form_that_the_script_writes(
    name: str, in_readme: bool
) -> None:
    names = tables.header(in_readme=in_readme)
    keys = {key for row in tables.ROWS for key in row.names if key}
    results = {f"{key}{suffix}": 1.0 for key in keys for suffix in ("", *tables.SUFFIXES)}

    assert [tables.form(cells, names) for cells in table(name, " | ".join(names))] == [
        tables.form(cells, names) for cells in tables.rows(results, in_readme=in_readme)
    ]


def test_table_of_exit_codes_agrees_with_the_code() -> None:
    rows = table(OPERATION, "exit code | `code` in JSON | meaning")

    assert [(int(number), name.strip("`") or "RowsFailed") for number, name, _ in rows] == [
        (code.value, code.code) for code in ExitCode
    ]


def test_table_of_operations_agrees_with_the_definitions() -> None:
    assert table(API, "rpc | HTTP | success") == [
        [f"`{method.containing_service.name}.{name}`", *http_of(name)]
        for name, method in METHODS.items()
    ]


def http_of(rpc: str) -> tuple[str, str]:
    """Returns the HTTP methods, path and status of an rpc in the format of the table."""
    options = METHODS[rpc].GetOptions()
    rule = options.Extensions[annotations_pb2.http]
    rules = [rule, *rule.additional_bindings]
    verbs = [item.WhichOneof("pattern") for item in rules]
    *others, last = [verb.upper() for verb in verbs]
    binding = ", ".join([*(f"`{verb}`" for verb in others), f"`{last} {getattr(rule, verbs[0])}`"])
    return binding, str(options.Extensions[http_pb2.success_status] or 200)


@each_document
def test_relative_links_lead_to_a_file_and_a_heading(name: str) -> None:
    for link in links(name):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(str(target.resolve().relative_to(ROOT))), link


@each_document
def test_paths_in_text_exist(name: str) -> None:
    assert [text for text in spans(name) if is_path(name, text) and not exists(name, text)] == []


def is_path(name: str, text: str) -> bool:
    """Whether code in a document is a path in the repository."""
    first, slash, _ = text.partition("/")
    if not re.fullmatch(r"[\w./-]+", text) or not first:
        return False
    folder = (ROOT / name).parent
    return text.endswith(".py") or bool(
        slash and (first in FOLDERS or (folder != ROOT and (folder / first).is_dir()))
    )


def exists(name: str, text: str) -> bool:
    """Whether a path exists in the repository or in the document's folder.

    A file name alone may be in any folder below that, or be that of a program in the document.
    """
    folder = (ROOT / name).parent
    if (ROOT / text).exists() or (folder / text).exists():
        return True
    if f"example: {text}" in (block.mark for block in code_blocks(name)):
        return True
    return "/" not in text and any(folder.rglob(text))


@each_document
def test_make_targets_exist(name: str) -> None:
    text = "\n".join(commands(name))
    named = re.findall(r"\bmake((?: [a-z-]+)+)\b", text)

    assert {target for words in named for target in words.split()} <= TARGETS


@each_document
def test_modules_that_are_run_exist(name: str) -> None:
    modules = re.findall(r"\bpython -m ((?:tests|rosterd)[\w.]*)", read(name))

    assert [module for module in modules if find_spec(module) is None] == []


@each_document
def test_variables_are_settings(name: str) -> None:
    named = set(re.findall(rf"\b{PREFIX}[A-Z_]+\b", read(name)))

    known = {setting.environment for setting in SETTINGS.values()}
    known |= {*SECRETS, *(f"{secret}{FILE}" for secret in SECRETS)}
    assert named <= known | OTHER_VARIABLES | {URL}


@each_document
def test_roster_commands_and_their_flags_exist(name: str) -> None:
    known: Any = cli.app
    for line in commands(name):
        match = re.search(r"(?:^|[ /])roster ([a-z].*)$", line)
        if match is None:
            continue
        command = known
        words = shlex.split(match[1], comments=True)
        while words and hasattr(command, "commands"):
            assert words[0] in command.commands, line
            command = command.commands[words.pop(0)]
        flags = {option for parameter in command.params for option in parameter.opts}
        given = {word.partition("=")[0] for word in words if word.startswith("-")}
        assert given - {"--help", "-h"} <= flags, line


def commands(name: str) -> Iterator[str]:
    """Yields the lines of shell blocks, continued lines joined, and the code within text."""
    for text in fences(name, "sh"):
        yield from text.replace("\\\n", " ").splitlines()
    yield from spans(name)


def test_every_document_is_found() -> None:
    assert {README, API, OPERATION, ".github/SECURITY.md", "server/README.md"} <= set(NAMES)
    assert all(Path(ROOT, name).is_file() and tokens(name) for name in NAMES)
