"""Writes the clients in other languages than Python; `make generate` runs it after generate.py.

    generate_clients.py OUT     a Go module at OUT/go, an npm package at OUT/typescript, and
                                OUT/roster.binpb, from which stubs in any language can be made

What is not made from the protos, such as go.mod and package.json, is kept in clients/.
The plugins are pinned in plugins/, and the scripts in .ci/tools install them. A language
whose plugins a machine lacks is passed over there, and said so; where ROSTER_TOOLS is
"required", as in CI, that is an error.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from generate import FILES, PROTOS, SERVICES, run

CLIENTS = PROTOS / "clients"
TOOLS = PROTOS.parent / ".tools" / "bin"
GO_MODULE = "roster.internal/go"

# Beside google/protobuf, whatever roster/v1 imports, and what errors carry on gRPC. Go has
# modules of its own for these; npm has not, so that they are part of the package there.
ERROR_DETAILS = "google/rpc/error_details.proto"
IMPORTED = [
    "buf/validate/validate.proto",
    "google/api/annotations.proto",
    "google/api/http.proto",
    "google/rpc/code.proto",
    ERROR_DETAILS,
]


def write_image(target: Path) -> None:
    """Writes the descriptors of roster/v1, of all that it imports, and of error details."""
    target.parent.mkdir(parents=True, exist_ok=True)
    run(
        "--include_imports",
        "--include_source_info",
        f"--descriptor_set_out={target}",
        *FILES,
        ERROR_DETAILS,
    )


def write_go(target: Path) -> None:
    """Writes a Go module. Where its packages are is said here, not in the protos."""
    shutil.copytree(CLIENTS / "go", target, dirs_exist_ok=True)
    package = f"{GO_MODULE}/roster/v1;rosterv1"
    options = ",".join([f"module={GO_MODULE}", *(f"M{name}={package}" for name in FILES)])
    run(*plugin("go"), f"--go_out={options}:{target}", *FILES)
    run(*plugin("go-grpc"), f"--go-grpc_out={options}:{target}", *SERVICES)


def write_typescript(target: Path) -> None:
    """Writes an npm package: ES modules, and their types with the comments of the protos."""
    shutil.copytree(CLIENTS / "typescript", target, dirs_exist_ok=True)
    options = "target=js+dts,import_extension=js"
    run(*plugin("es"), f"--es_out={options}:{target}", *FILES, *IMPORTED)
    modules = (name.replace(".proto", "_pb.js") for name in FILES)
    index = "".join(f'export * from "./{module}";\n' for module in modules)
    for name in ("index.js", "index.d.ts"):
        (target / name).write_text(f"// Generated from protos/; do not edit.\n{index}")


def plugin(name: str) -> list[str]:
    """Returns the protoc arguments for a plugin installed by .ci/tools."""
    return [f"--plugin={TOOLS / f'protoc-gen-{name}'}"]


LANGUAGES = {
    "go": (write_go, ("protoc-gen-go", "protoc-gen-go-grpc")),
    "typescript": (write_typescript, ("protoc-gen-es",)),
}


def main() -> None:
    out = Path(sys.argv[1])
    write_image(out / "roster.binpb")
    # A plugin may need the interpreter that was installed with it.
    os.environ["PATH"] = f"{TOOLS}:{os.environ['PATH']}"
    for language, (write, plugins) in LANGUAGES.items():
        missing = [name for name in plugins if not (TOOLS / name).exists()]
        if not missing:
            shutil.rmtree(out / language, ignore_errors=True)
            write(out / language)
            continue
        said = (
            f"{', '.join(missing)} is not on this machine; .ci/tools/{language} installs it. "
            f"Neither written nor checked: generated/{language}.\n"
        )
        if os.environ.get("ROSTER_TOOLS") == "required":
            sys.exit(said)
        sys.stderr.write(said)


if __name__ == "__main__":
    main()
