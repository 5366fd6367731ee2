"""Checks which modules may import which, from the source of every module."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from .cases import each

ROOT = Path(__file__).parent.parent
PACKAGES = ("server", "http_gateway")
# Rooms by layer. A room may import those of the layers above it in this list.
LAYERS = (
    {"events", "statistics", "audit", "files"},
    {"accounts"},
    {"sessions"},
    {"tags", "custom_fields"},
    {"suppressions"},
    {"subscribers"},
    {"merge_tags", "segments", "operations", "links"},
    {"imports", "exports", "signups"},
    {"webhooks"},
)
FEATURES = set().union(*LAYERS)
# Rooms that features use. `idempotency` stores responses, so features do not import it.
BELOW_FEATURES = ({"values"}, {"rpc"}, {"config"}, {"security"}, {"storage"}, {"idempotency"})
# The layers of the gateway.
GATEWAY_LAYERS = (
    {"codec", "channel"},
    {"routing"},
    {"streams"},
    {"openapi"},
    {"docs"},
)
# Modules other than services that read or create protobuf messages.
MESSAGE_MODULES = {
    "server.features.exports.service_files",
    "server.features.links.service_pages",
    "server.features.imports.jobs.file_reader",
    "server.features.imports.jobs.inspection",
    "server.features.imports.jobs.job_import",
    "server.features.imports.jobs.job_inspection",
    "server.features.imports.jobs.service_upload",
    "server.features.imports.pipeline",
    "server.features.imports.row_reader",
    "server.rpc.field_options",
    "server.features.subscribers.query.request",
    "server.features.subscribers.service_history",
    "server.features.subscribers.service_mailability",
    "server.features.subscribers.service_statistics",
    "server.features.suppressions.imports",
    "server.features.webhooks.personal_data",
    "server.features.webhooks.service_deliveries",
}
PURE_LIBRARIES = {"anyascii"}


def name_of(file: Path) -> str:
    """Returns the dotted name of a module or package."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {
    name_of(file): file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))
}


@cache
def imports_of(name: str) -> set[str]:
    """Returns the modules that a module imports, those of this repository by full name."""
    file = FILES[name]
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    modules = set()
    for node in ast.walk(ast.parse(file.read_text(), str(file))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: 1 - node.level or None] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])]).removeprefix("rosterd.")
            for alias in node.names:
                full_name = f"{source}.{alias.name}"
                modules.add(full_name if full_name in FILES else source)
    return modules


class Imports(Mapping[str, set[str]]):
    """The imports of each module, read on first access."""

    def __getitem__(self, name: str) -> set[str]:
        return imports_of(name)

    def __iter__(self) -> Iterator[str]:
        return iter(FILES)

    def __len__(self) -> int:
        return len(FILES)


IMPORTS = Imports()


def is_in(name: str, packages: Iterable[str]) -> bool:
    """Whether a module is in one of the packages."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def importers(*packages: str) -> set[str]:
    """Returns the modules that import anything from the packages."""
    return {name for name, modules in IMPORTS.items() if any(is_in(m, packages) for m in modules)}


def last_name(name: str) -> str:
    return name.rpartition(".")[2]


def room(name: str) -> str:
    """Returns the room of the server that a module is in, or an empty string.

    Rooms are modules and packages of `server`, and packages of `features` and `rpc`.
    """
    package, *parts = name.split(".")
    if package != "server" or not parts:
        return ""
    inner = FILES.get(".".join([package, *parts[:2]]))
    is_inner = parts[0] in {"features", "rpc"} and len(parts) > 1 and inner is not None
    return parts[1] if is_inner and inner.name == "__init__.py" else parts[0]


def gateway_room(name: str) -> str:
    """Returns the package of the gateway that a module is in, or an empty string."""
    package, *parts = name.split(".")
    is_inner = package == "http_gateway" and (len(parts) > 1 or FILES[name].name == "__init__.py")
    return parts[0] if is_inner and parts else ""


def storage_folder(name: str) -> str:
    """Returns the package of the storage that a module is in, or an empty string."""
    folder = ".".join(name.split(".")[:3])
    is_in_folder = is_in(name, ["server.storage"]) and folder in FILES
    return folder if is_in_folder and FILES[folder].name == "__init__.py" else ""


def is_store(name: str) -> bool:
    """Whether a module is a store, or part of one that is split into several modules."""
    rooms = {*FEATURES, "idempotency"}
    return room(name) in rooms and last_name(name).partition("_")[0] == "store"


def is_pure(name: str) -> bool:
    """Whether a module contains rules, which do no I/O."""
    return last_name(name) == "rules" or name == "server.features.subscribers.fields"


def assert_acyclic(graph: dict[str, set[str]]) -> None:
    """Raises CycleError with the cycle if the graph has one."""
    list(TopologicalSorter(graph).static_order())


def test_every_form_of_import_is_recognized() -> None:
    keys = "server.features.accounts.store_keys"
    assert keys in IMPORTS["server.cli.keys"]  # from ..accounts import store_keys
    assert "server.storage.backups.restore" in IMPORTS["server.cli.restore"]  # as a module
    assert "server.storage.executor.batch_executor" in IMPORTS["server.storage.sqlite.database"]
    assert "playhouse.apsw_ext" in IMPORTS["server.storage.sqlite.database"]
    assert "apsw" in IMPORTS["server.storage.sqlite.database"]
    assert "psycopg" in IMPORTS["server.storage.postgres.database"]
    assert len(FILES) > 50


def test_migrations_do_not_import_code_that_can_change() -> None:
    migrations = [name for name in FILES if name.startswith("server.storage.migrations.")]
    own = {name: {each for each in imports_of(name) if each in FILES} for name in migrations}

    assert migrations
    assert {name: modules for name, modules in own.items() if modules} == {}


def test_gateway_imports_neither_the_server_nor_the_api() -> None:
    assert not {n for n in importers("server", "roster") if is_in(n, ["http_gateway"])}


def test_gateway_does_not_name_the_service() -> None:
    files = [file for file in (ROOT / "http_gateway").rglob("*") if file.is_file()]
    texts = {file: file.read_bytes().lower() for file in files if "__pycache__" not in file.parts}

    assert len(texts) > 100
    assert [str(file) for file, text in texts.items() if b"roster" in text] == []


def test_only_serving_modules_and_imports_of_files_import_the_gateway() -> None:
    assert {name for name in importers("http_gateway") if is_in(name, ["server"])} == {
        "server.cli.transfer.import_rows",
        "server.features.imports.jobs.file_reader",
        "server.rpc.field_options",
        "server.cli.transfer.import_source",
        "server.serving.documentation",
        "server.serving.gateway_policy",
        "server.serving.ports",
        "server.serving.services",
        "server.serving.web_console",
    }


def test_command_line_does_not_import_grpc_or_http_at_start() -> None:
    heavy = {"grpc", "google.protobuf", "aiohttp"}
    program = f"import sys, rosterd.server.cli; print(*sys.modules.keys() & {heavy})"

    words = [sys.executable, "-c", program]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=60)

    assert (done.returncode, done.stdout) == (0, "\n")


def test_nothing_imports_the_tests() -> None:
    assert importers("tests") == set()


@each("name", [name for name in FILES if is_pure(name)])
def test_rules_do_no_io(name: str) -> None:
    allowed = {
        "server.values.actors",
        "server.values.clock",
        "server.rpc.errors",
        "server.values.emails",
        "server.values.file_addresses",
        "server.values.suggestions",
        "server.values.texts",
    }

    unexpected = {
        module
        for module in IMPORTS[name]
        if module.partition(".")[0] not in sys.stdlib_module_names | PURE_LIBRARIES
        and module not in allowed
        and not is_pure(module)
    }

    assert unexpected == set()


def test_only_stores_models_and_storage_import_database_libraries() -> None:
    allowed = {
        name
        for name in FILES
        if is_store(name) or last_name(name) == "models" or is_in(name, ["server.storage"])
    }

    assert importers("peewee", "playhouse", "apsw", "psycopg") <= allowed


def test_only_services_interceptors_and_the_app_import_grpc() -> None:
    allowed = {
        name
        for name in FILES
        if last_name(name) in {"service", "messages"}
        or is_in(
            name, ["server.rpc.interceptors", "server.app", "server.serving", *["http_gateway"]]
        )
    }

    assert importers("grpc", "grpc_status", "grpc_health", "grpc_reflection") <= allowed
    assert importers("roster") - allowed == MESSAGE_MODULES


def test_only_security_imports_cryptography_and_encryption_imports_no_service() -> None:
    allowed = {"server.security.encryption", "server.security.tls"}
    assert importers("cryptography") == allowed
    assert not {name for name in IMPORTS["server.security.encryption"] if is_in(name, PACKAGES)}


@pytest.mark.parametrize(
    ("room_of", "layers"),
    [(room, (*BELOW_FEATURES, *LAYERS)), (gateway_room, GATEWAY_LAYERS)],
    ids=["server", "gateway"],
)
def test_rooms_import_only_lower_layers(
    room_of: Callable[[str], str], layers: tuple[set[str], ...]
) -> None:
    level = {name: number for number, layer in enumerate(layers) for name in layer}
    violations = {
        (name, module)
        for name, modules in IMPORTS.items()
        for module in modules & FILES.keys()
        if (importing := room_of(name)) in level
        and (imported := room_of(module)) in level
        and imported != importing
        and level[imported] >= level[importing]
    }

    assert violations == set()


def test_features_and_storage_do_not_import_the_app() -> None:
    packages = {*FEATURES, "storage"}
    above = ["server.rpc.interceptors", "server.cli", "server.serving", "server.app"]

    assert {name for name in importers(*above) if room(name) in packages} == set()


def test_only_the_app_imports_the_interceptors() -> None:
    outside = {n for n in importers("server.rpc.interceptors") if room(n) != "interceptors"}

    assert outside == {"server.app"}


def test_only_the_entry_point_imports_the_command_line() -> None:
    outside = {n for n in importers("server.cli") if not is_in(n, ["server.cli"])}

    assert outside == {"server.__main__"}
    assert {room(name) for name in importers("server.app", "server.serving")} == {
        "cli",
        "serving",
    }


def test_every_feature_has_a_layer() -> None:
    features = {name for name in FILES if name.startswith("server.features.")}

    assert {room(name) for name in features} == FEATURES
    assert {gateway_room(name) for name in FILES} - {""} <= set().union(*GATEWAY_LAYERS)


def test_gateway_packages_do_not_import_the_gateway_app() -> None:
    inner = {n for n in importers("http_gateway.app") if gateway_room(n)}

    assert inner == set()


def test_services_do_not_import_models() -> None:
    services = [name for name in FILES if last_name(name) == "service"]

    assert not {name for name in services if any(last_name(m) == "models" for m in IMPORTS[name])}


def test_features_import_only_stores_models_and_rules_of_others() -> None:
    violations = {
        (name, module)
        for name, modules in IMPORTS.items()
        for module in modules & FILES.keys()
        if room(name) in FEATURES
        and room(module) in FEATURES - {room(name)}
        and not (
            is_store(module)
            or last_name(module)
            in {"models", "rules", "fields", "linked", "history", "profile", "audited_database"}
            or is_in(module, ["server.features.subscribers.query"])
            # Pure rules of their own.
            or last_name(module) == "value_conversion"
            # Imports and exports are methods of the service of subscribers.
            or (room(name) in {"imports", "exports"} and room(module) == "subscribers")
            # The replay of a webhook and the undo of an import return an operation, an export
            # checks a selection as an operation does, a session returns its account or API key.
            or (
                room(name) in {"webhooks", "sessions", "imports", "exports"}
                and last_name(module) == "messages"
            )
            # The pages of links and forms have one design.
            or last_name(module) in {"pages", "page_responses"}
        )
    }

    assert violations == set()


def test_module_imports_are_acyclic() -> None:
    assert_acyclic({name: modules & FILES.keys() for name, modules in IMPORTS.items()})


@each("room_of", [room, storage_folder])
def test_package_imports_are_acyclic(room_of: Callable[[str], str]) -> None:
    graph: dict[str, set[str]] = {}
    for name, modules in IMPORTS.items():
        others = {room_of(module) for module in modules & FILES.keys()}
        graph.setdefault(room_of(name), set()).update(others - {room_of(name), ""})
    graph.pop("")

    assert graph
    assert_acyclic(graph)
