"""Reads the comments of the protos, which the stubs of each language contain."""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from ..documents import ROOT

IMAGE = FileDescriptorSet.FromString((ROOT / "generated" / "roster.binpb").read_bytes())
# Field number of `package` in FileDescriptorProto.
PACKAGE = 2


def lines_of_comments(*, packages: bool = False) -> list[str]:
    """Returns the stripped lines of all comments on declarations.

    Only some languages have comments on packages; `packages` includes these.
    """
    return [
        line.strip()
        for file in IMAGE.file
        if file.package == "roster.v1"
        for location in file.source_code_info.location
        if packages or location.path[:1] != [PACKAGE]
        for line in location.leading_comments.splitlines()
    ]
