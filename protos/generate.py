"""Generates the Python package and the descriptor image from the protos, for `make generate`.

    generate.py OUT             the Python package at OUT/python: stubs, descriptors with comments,
                                and the files in clients/python
    generate.py --image FILE    the descriptor image with comments, for buf

google/api and google/rpc are in googleapis-common-protos. protovalidate contains the descriptor
of buf/validate but no .proto file, so protoc gets it as a descriptor set. The descriptor is in a
private module; the lock file pins the version of protovalidate.
"""

from __future__ import annotations

import re
import shutil
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    duration_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
)
from grpc_tools import protoc
from protovalidate._gen.buf.validate import validate_pb

PROTOS = Path(__file__).parent
FILES = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.glob("roster/v1/*.proto"))
SERVICES = [name for name in FILES if "\nservice " in (PROTOS / name).read_text()]
CLIENTS = PROTOS / "clients"
CACHES = shutil.ignore_patterns("__pycache__")
HEADER = "# Generated from protos/ by `make generate`; do not edit.\n"


def write_validate_descriptors(target: Path) -> None:
    """Writes the descriptors of buf/validate and of the google.protobuf files that are imported."""
    files = descriptor_pb2.FileDescriptorSet()
    modules = (any_pb2, descriptor_pb2, duration_pb2, field_mask_pb2, struct_pb2, timestamp_pb2)
    for module in modules:
        module.DESCRIPTOR.CopyToProto(files.file.add())
    files.file.add().ParseFromString(validate_pb.desc().proto.to_binary())
    target.write_bytes(files.SerializeToString())


def run(*arguments: str) -> None:
    """Runs protoc with the import paths of the protos. Exits with 1 if it fails."""
    common = sysconfig.get_paths()["purelib"]
    with tempfile.TemporaryDirectory() as folder:
        validate = Path(folder) / "validate.binpb"
        write_validate_descriptors(validate)
        command = ["protoc", f"--descriptor_set_in={validate}", f"-I{PROTOS}", f"-I{common}"]
        if protoc.main([*command, *arguments]):
            sys.exit(1)


def write_descriptors(target: Path, *more: str) -> None:
    """Writes the descriptors of the protos with their comments."""
    run("--include_source_info", f"--descriptor_set_out={target}", *more, *FILES)


def write_python(target: Path) -> None:
    """Writes the Python package."""
    target.mkdir(parents=True, exist_ok=True)
    messages = (f"--python_out={target}", f"--mypy_out=quiet:{target}")
    run(*messages, *FILES)
    run(f"--grpc_python_out={target}", f"--mypy_grpc_out=quiet:{target}", *SERVICES)
    run(*messages, "buf/validate/validate.proto")
    move_validate(target)
    for package in ("roster", "roster/v1", "roster/buf", "roster/buf/validate"):
        (target / package / "__init__.py").write_text(HEADER)
        (target / package / "py.typed").write_text("")
    write_descriptors(target / "roster/v1/descriptors.binpb")
    copy_client("python", "pyproject.toml", target)


def copy_client(language: str, package: str, target: Path) -> None:
    """Copies the files of a client that are not generated, with the service's version."""
    shutil.copytree(CLIENTS / language, target, dirs_exist_ok=True, ignore=CACHES)
    project = tomllib.loads((PROTOS.parent / "pyproject.toml").read_text())["project"]
    file = target / package
    file.write_text(file.read_text().replace("0.0.0", project["version"]))


def move_validate(target: Path) -> None:
    """Moves the package buf into the package roster, as other distributions contain buf too."""
    (target / "buf").rename(target / "roster" / "buf")
    for module in target.glob("roster/**/*_pb2.py*"):
        text = module.read_text()
        module.write_text(
            re.sub(r"\b(from|import) buf\.validate\b", r"\1 roster.buf.validate", text)
        )


def main() -> None:
    if sys.argv[1] == "--image":
        write_descriptors(Path(sys.argv[2]), "--include_imports")
        return
    write_python(Path(sys.argv[1]) / "python")


if __name__ == "__main__":
    main()
