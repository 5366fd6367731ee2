"""The comments of the protos, which every language's stubs hand on to those who use them."""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from .programs import ROOT

IMAGE = FileDescriptorSet.FromString((ROOT / "generated" / "roster.binpb").read_bytes())
# The number of what a file says of its package, among the fields of FileDescriptorProto.
PACKAGE = 2


def lines_of_comments(*, packages: bool = False) -> list[str]:
    """Returns the lines of all comments on declarations, less the blanks around them.

    That a package has a comment as well is known to some languages only; `packages` adds those.
    """
    return [
        line.strip()
        for file in IMAGE.file
        if file.package == "roster.v1"
        for place in file.source_code_info.location
        if packages or place.path[:1] != [PACKAGE]
        for line in place.leading_comments.splitlines()
    ]
