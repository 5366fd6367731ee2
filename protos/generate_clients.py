"""Generates clients for Go, TypeScript and other languages, for `make generate`.

    generate_clients.py OUT     a Go module at OUT/go, an npm package at OUT/typescript, and the
                                descriptor image OUT/roster.binpb for other languages

Files that are not generated, such as go.mod and package.json, are in clients/. The scripts in
.ci/tools install the plugins, whose versions are pinned in plugins/. A language without its
plugins is skipped with a message; if ROSTER_TOOLS is "required", as in CI, it is an error.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from generate import CLIENTS, FILES, PROTOS, SERVICES, copy_client, run

TOOLS = PROTOS.parent / ".tools" / "bin"
GO_MODULE = "roster.internal/go"

# The imports of roster/v1 except google/protobuf, and the details of gRPC errors. Go modules exist
# for them, but no npm packages, so the TypeScript package contains them.
ERROR_DETAILS = "google/rpc/error_details.proto"
IMPORTED = [
    "buf/validate/validate.proto",
    "google/api/annotations.proto",
    "google/api/http.proto",
    "google/api/httpbody.proto",
    "google/rpc/code.proto",
    ERROR_DETAILS,
]


def write_image(target: Path) -> None:
    """Writes the descriptors of roster/v1, its imports and the error details."""
    target.parent.mkdir(parents=True, exist_ok=True)
    run(
        "--include_imports",
        "--include_source_info",
        f"--descriptor_set_out={target}",
        *FILES,
        ERROR_DETAILS,
    )


def write_go(target: Path) -> None:
    """Writes a Go module. Options set its package names, so the protos do not contain them."""
    shutil.copytree(CLIENTS / "go", target, dirs_exist_ok=True)
    package = f"{GO_MODULE}/roster/v1;rosterv1"
    options = ",".join([f"module={GO_MODULE}", *(f"M{name}={package}" for name in FILES)])
    run(*plugin("go"), f"--go_out={options}:{target}", *FILES)
    run(*plugin("go-grpc"), f"--go-grpc_out={options}:{target}", *SERVICES)


def write_typescript(target: Path) -> None:
    """Writes an npm package: ES modules with types and comments."""
    copy_client("typescript", "package.json", target)
    options = "target=js+dts,import_extension=js"
    run(*plugin("es"), f"--es_out={options}:{target}", *FILES, *IMPORTED)
    modules = (name.replace(".proto", "_pb.js") for name in FILES)
    index = "".join(f'export * from "./{module}";\n' for module in modules)
    for name in ("index.js", "index.d.ts"):
        (target / name).write_text(f"// Generated from protos/; do not edit.\n{index}")


def plugin(name: str) -> list[str]:
    """Returns the protoc argument for a plugin installed by .ci/tools."""
    return [f"--plugin={TOOLS / f'protoc-gen-{name}'}"]


LANGUAGES = {
    "go": (write_go, ("protoc-gen-go", "protoc-gen-go-grpc")),
    "typescript": (write_typescript, ("protoc-gen-es",)),
}


def main() -> None:
    out = Path(sys.argv[1])
    write_image(out / "roster.binpb")
    # A plugin may need the interpreter that is installed with it.
    os.environ["PATH"] = f"{TOOLS}:{os.environ['PATH']}"
    for language, (write, plugins) in LANGUAGES.items():
        missing = [name for name in plugins if not (TOOLS / name).exists()]
        if not missing:
            shutil.rmtree(out / language, ignore_errors=True)
            write(out / language)
            continue
        message = (
            f"{', '.join(missing)} is not on this machine; .ci/tools/{language} installs it. "
            f"Neither written nor checked: generated/{language}.\n"
        )
        if os.environ.get("ROSTER_TOOLS") == "required":
            sys.exit(message)
        sys.stderr.write(message)


if __name__ == "__main__":
    main()
