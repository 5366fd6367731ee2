"""Converts sessions and sign-in links to messages."""

from __future__ import annotations

from google.protobuf.json_format import ParseDict

from roster.v1 import sessions_pb2 as pb

from .store import SessionRow, SignInLinkRow


def session_message(row: SessionRow) -> pb.Session:
    return ParseDict(row.as_json(), pb.Session())


def link_message(row: SignInLinkRow) -> pb.SignInLink:
    return ParseDict(row.as_json(), pb.SignInLink())
