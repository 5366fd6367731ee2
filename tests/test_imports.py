"""Checks which modules may import which, from the source of every module."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("server", "http_gateway")
# A room may import the rooms of the rows above its own, and none of its own row.
ROOMS = (
    {"events", "idempotency"},
    {"accounts"},
    {"tags", "custom_fields"},
    {"suppressions"},
    {"subscribers"},
    {"merge_tags"},
    {"webhooks"},
    {"maintenance", "health", "reflection"},
)
# The same, of the gateway.
GATEWAY_ROOMS = (
    {"codec", "channel"},
    {"routing"},
    {"streams"},
    {"openapi"},
    {"docs"},
)
# What makes and reads messages without being a service.
SPEAKS_MESSAGES = {
    "server.subscribers.import_pipeline",
    "server.subscribers.list_query",
    "server.webhooks.service_deliveries",
}
PURE = {"anyascii"}


def name_of(file: Path) -> str:
    """Returns the dotted name of a module; a package is called by its folder."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {
    name_of(file): file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))
}


@cache
def imported(name: str) -> set[str]:
    """Returns what a module imports: modules of this project by full name, others as written."""
    file = FILES[name]
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(file.read_text(), str(file))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: 1 - node.level or None] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            for alias in node.names:
                whole = f"{source}.{alias.name}"
                found.add(whole if whole in FILES else source)
    return found


class Imports(Mapping[str, set[str]]):
    """What each module imports; a module is read when that is asked."""

    def __getitem__(self, name: str) -> set[str]:
        return imported(name)

    def __iter__(self) -> Iterator[str]:
        return iter(FILES)

    def __len__(self) -> int:
        return len(FILES)


IMPORTS = Imports()


def inside(name: str, packages: Iterable[str]) -> bool:
    """Whether a module is one of the packages or lies in one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def users(*packages: str) -> set[str]:
    """Returns the modules that import anything of the packages."""
    return {name for name, modules in IMPORTS.items() if any(inside(m, packages) for m in modules)}


def last(name: str) -> str:
    """Returns the last word of a dotted name."""
    return name.rpartition(".")[2]


def folder(name: str, package: str = "server") -> str:
    """Returns the folder of a package that a module lies in; empty for those right in it."""
    parts = name.split(".")
    file = FILES[name]
    deep = len(parts) > 2 or (len(parts) == 2 and file.name == "__init__.py")
    return parts[1] if parts[0] == package and deep else ""


def is_store(name: str) -> bool:
    """Whether a module is the store of a room, or a part of one that is split."""
    return folder(name) in set().union(*ROOMS) and last(name).partition("_")[0] == "store"


def is_pure(name: str) -> bool:
    """Whether a module holds rules, which do no I/O."""
    return last(name) == "rules" or name == "server.subscribers.fields"


def assert_no_circle(graph: dict[str, set[str]]) -> None:
    """Holds if the graph can be put in order; the error names the circle otherwise."""
    list(TopologicalSorter(graph).static_order())


def test_reader_sees_every_form_of_import() -> None:
    assert "server.accounts.store" in IMPORTS["server.cli.keys"]  # from ..accounts import store
    assert "server.storage.backups.restore" in IMPORTS["server.cli.restore"]  # as a module
    assert "server.storage.executor.batch_executor" in IMPORTS["server.storage.sqlite.database"]
    assert "playhouse.apsw_ext" in IMPORTS["server.storage.sqlite.database"]
    assert "apsw" in IMPORTS["server.storage.sqlite.database"]
    assert "psycopg" in IMPORTS["server.storage.postgres.database"]
    assert len(FILES) > 50


def test_gateway_knows_nothing_of_the_server() -> None:
    assert not {name for name in users("server") if inside(name, ["http_gateway"])}


def test_what_serves_alone_hands_a_channel_to_the_gateway() -> None:
    assert {name for name in users("http_gateway") if inside(name, ["server"])} == {
        "server.serving.documentation",
        "server.serving.ports",
        "server.serving.services",
    }


def test_command_line_does_without_grpc_and_http_until_it_needs_them() -> None:
    late = {"grpc", "google.protobuf", "aiohttp"}
    program = f"import sys, server.cli; print(*sys.modules.keys() & {late})"

    words = [sys.executable, "-c", program]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=60)

    assert (done.returncode, done.stdout) == (0, "\n")


def test_nothing_imports_the_tests() -> None:
    assert users("tests") == set()


@pytest.mark.parametrize("name", [name for name in FILES if is_pure(name)])
def test_rules_only_think(name: str) -> None:
    own = {"server.clock", "server.errors", "server.emails", "server.texts"}

    others = {
        module
        for module in IMPORTS[name]
        if module.partition(".")[0] not in sys.stdlib_module_names | PURE
        and module not in own
        and not is_pure(module)
    }

    assert others == set()


def test_stores_models_and_storage_alone_know_peewee() -> None:
    allowed = {
        name
        for name in FILES
        if is_store(name) or last(name) == "models" or inside(name, ["server.storage"])
    }

    assert users("peewee", "playhouse", "apsw", "psycopg") <= allowed


def test_services_interceptors_and_the_app_alone_know_grpc_in_the_server() -> None:
    allowed = {
        name
        for name in FILES
        if last(name) in {"service", "messages"}
        or inside(name, ["server.interceptors", "server.app", "server.serving", *["http_gateway"]])
    }

    assert users("grpc", "grpc_status", "grpc_health", "grpc_reflection") <= allowed
    assert users("roster") - allowed == SPEAKS_MESSAGES


def test_only_encryption_imports_cryptography_and_it_imports_no_service() -> None:
    assert users("cryptography") == {"server.encryption"}
    assert not {name for name in IMPORTS["server.encryption"] if inside(name, PACKAGES)}


@pytest.mark.parametrize(("package", "rooms"), [("server", ROOMS), ("http_gateway", GATEWAY_ROOMS)])
def test_rooms_import_only_the_rooms_below_them(package: str, rooms: tuple[set[str], ...]) -> None:
    level = {room: number for number, row in enumerate(rooms) for room in row}
    wrong = {
        (name, module)
        for name, modules in IMPORTS.items()
        for module in modules
        if module in FILES
        and (room := folder(name, package)) in level
        and (other := folder(module, package)) in level
        and other != room
        and level[other] >= level[room]
    }

    assert wrong == set()


def test_rooms_and_storage_import_nothing_that_stands_above_them() -> None:
    rooms = {*set().union(*ROOMS), "storage"}
    above = ["server.interceptors", "server.cli", "server.serving", "server.app"]

    assert {name for name in users(*above) if folder(name) in rooms} == set()


def test_app_alone_imports_the_interceptors() -> None:
    outside = {n for n in users("server.interceptors") if folder(n) != "interceptors"}

    assert outside == {"server.app"}


def test_nothing_imports_the_command_line_but_itself() -> None:
    outside = {n for n in users("server.cli") if not inside(n, ["server.cli"])}

    assert outside == {"server.__main__"}
    assert {folder(name) for name in users("server.app", "server.serving")} == {"cli", "serving"}


def test_every_room_has_a_place_in_the_order() -> None:
    others = {"", "cli", "deploy", "interceptors", "observability", "serving", "storage"}

    assert {folder(name) for name in FILES if inside(name, ["server"])} - others <= set().union(
        *ROOMS
    )
    assert {folder(name, "http_gateway") for name in FILES} - {""} <= set().union(*GATEWAY_ROOMS)


def test_gateway_rooms_know_nothing_of_the_app_that_joins_them() -> None:
    inner = {n for n in users("http_gateway.app") if folder(n, "http_gateway")}

    assert inner == set()


def test_service_reaches_the_data_of_no_other_room_but_through_its_store() -> None:
    services = [name for name in FILES if last(name) == "service"]

    assert not {name for name in services if any(last(m) == "models" for m in IMPORTS[name])}


def test_room_knows_of_others_their_stores_models_and_rules_alone() -> None:
    rooms = set().union(*ROOMS)
    wrong = {
        (name, module)
        for name, modules in IMPORTS.items()
        for module in modules & FILES.keys()
        if folder(name) in rooms
        and folder(module) in rooms - {folder(name)}
        and not (is_store(module) or last(module) in {"models", "rules", "idempotent_database"})
    }

    assert wrong == set()


def test_modules_do_not_import_in_circles() -> None:
    assert_no_circle({name: modules & FILES.keys() for name, modules in IMPORTS.items()})


def test_folders_do_not_import_in_circles() -> None:
    graph: dict[str, set[str]] = {}
    for name, modules in IMPORTS.items():
        others = {folder(module) for module in modules & FILES.keys()}
        graph.setdefault(folder(name), set()).update(others - {folder(name), ""})
    graph.pop("")

    assert_no_circle(graph)
