"""The account of a key over every front."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any
from zlib import crc32

import grpc
import pytest

from roster.v1.accounts_pb2 import UpdateAccountRequest

from ..conftest import Account
from ..fronts import GrpcFront, error_response, to_json


def png(width: int = 3, height: int = 2, rows: bytes = b"", more: bytes = b"") -> bytes:
    """Returns an image with eight bits for each color. `more` is the content of a text chunk."""
    rows = rows or (b"\0" + b"\x1a\x5f\xb4" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"tEXt", more), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", crc32(name + content))
        for name, content in chunks
    )


def gif(version: bytes = b"GIF89a", side: int = 1) -> bytes:
    screen = struct.pack("<HHBBB", side, side, 0, 0, 0)
    return version + screen + b"\x2c\0\0\0\0\1\0\1\0\0\2\2\x44\1\0\x3b"


def webp(width: int = 5, canvas: int = 5) -> bytes:
    extended = b"VP8X" + struct.pack("<II", 10, 0) + struct.pack("<HBHB", canvas - 1, 0, 3, 0)
    pixels = b"VP8L" + struct.pack("<IBIB", 6, 0x2F, width - 1 | 3 << 14, 0)
    content = b"WEBP" + extended + pixels
    return b"RIFF" + struct.pack("<I", len(content)) + content


JPEG = (
    b"\xff\xd8\xff\xe0\0\4JF\xff\xc0\0\x0b\x08\0\2\0\3\1\1\x11\0"
    b"\xff\xda\0\x08\1\1\0\0\x3f\0\x55\xff\xd9"
)
IMAGES = {
    "PNG": png(),
    "JPEG": JPEG,
    "GIF87a": gif(b"GIF87a"),
    "GIF89a": gif(),
    "WebP": webp(),
}
LOGO = base64.b64encode(IMAGES["PNG"]).decode()
BRANDING = {"displayName": "Analytical Letters", "color": "#1a5fb4", "logo": LOGO}
EMPTY = {"displayName": "", "color": "", "logo": ""}


def text(data: bytes) -> str:
    """Returns bytes as JSON has them."""
    return base64.b64encode(data).decode()


def get(account: Account) -> dict[str, Any]:
    found: dict[str, Any] = account.ok("GetAccount")["account"]
    return found


def test_update_mask_selects_the_fields(grpc_account: Account) -> None:
    changed = grpc_account.ok("UpdateAccount", **BRANDING)["account"]

    without_mask = update(grpc_account, UpdateAccountRequest(display_name="New"))
    request = UpdateAccountRequest(display_name="Newer", color="#000000")
    request.update_mask.paths.append("color")
    masked = update(grpc_account, request)
    cleared = update(grpc_account, UpdateAccountRequest(update_mask={"paths": ["*"]}))

    assert without_mask == {**changed, "displayName": "New"}
    assert masked == {**changed, "displayName": "New", "color": "#000000"}
    assert cleared == {**changed, **EMPTY}


def update(account: Account, request: UpdateAccountRequest) -> Any:
    """Returns the account, or the violations of an error."""
    assert isinstance(account.front, GrpcFront)
    metadata = [("authorization", f"Bearer {account.key}")]
    try:
        reply = account.front.stub("UpdateAccount")(request, metadata=metadata, timeout=60)
    except grpc.RpcError as error:
        return error_response(error).violations
    return to_json(reply)["account"]


@pytest.mark.parametrize("data", IMAGES.values(), ids=IMAGES)
def test_image_is_stored_verbatim(account: Account, data: bytes) -> None:
    assert account.ok("UpdateAccount", logo=text(data))["account"]["logo"] == text(data)
    assert get(account)["logo"] == text(data)


@pytest.mark.parametrize(
    "data",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        png().replace(b"IDAT", b"IDOT"),
        png(rows=bytes(1 << 24)),
        png(rows=b"\0"),
        gif() + b"<script>",
        JPEG.replace(b"\xff\xc0", b"\xff\xe1"),
        b"\x89PNG\r\n\x1a\n" + JPEG,
        *(image[:length] for image in IMAGES.values() for length in (12,)),
    ],
)
def test_file_that_is_not_a_whole_image_is_rejected(account: Account, data: bytes) -> None:
    error = account.fails("ValidationError", "UpdateAccount", displayName="New", logo=text(data))

    assert error.violations == [("logo", "INVALID_FORMAT")]
    assert {key: get(account)[key] for key in EMPTY} == EMPTY


@pytest.mark.parametrize(
    "data", [png(2_049, 1), png(1, 60_000), gif(side=5_000), webp(2_049, 2_049)]
)
def test_logo_is_at_most_2048_pixels_wide_and_high(account: Account, data: bytes) -> None:
    error = account.fails("ValidationError", "UpdateAccount", logo=text(data))

    assert error.violations == [("logo", "OUT_OF_RANGE")]
