"""Tests which servers a channel of roster.client sends its key to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from roster import client
from roster.v1.tags_pb2 import DeleteTagRequest, ListTagsRequest
from roster.v1.tags_pb2_grpc import TagServiceStub

from ..cases import each
from .authority import Authority
from .recorder import Recorder, recording


@each("open_channel", [client.channel, client.aio_channel])
@each(
    "target",
    [
        "roster.example.com:443",
        "10.0.0.3:50051",
        "dns:///roster:50051",
        "localhost.example.com:50051",
        "127.0.0.1.example.com:50051",
        "ipv4:127.0.0.1:50051,10.0.0.3:50051",
        "dns://10.0.0.3/localhost:50051",
    ],
)
def test_key_is_not_sent_to_other_hosts_in_plaintext(
    target: str, open_channel: Callable[..., Any]
) -> None:
    with pytest.raises(ValueError, match="not a loopback address"):
        open_channel(target, "rk_key", tls=None)


@each("target", ["localhost:1", "127.0.0.1:1", "[::1]:1", "dns:///localhost:1", "unix:/roster"])
def test_plaintext_is_accepted_for_loopback_addresses(target: str) -> None:
    client.channel(target, "rk_key", tls=None).close()


def test_plaintext_is_accepted_elsewhere_with_an_explicit_option() -> None:
    risk = {"dangerously_send_key_in_plaintext": True}

    client.channel("10.0.0.3:50051", "rk_key", tls=None, **risk).close()


@each("open_channel", [client.channel, client.aio_channel])
@each("key", ["", "rk_key\n", " rk_key", "rk key", "rk_k\u00e9y", "rk_\0key"])
def test_invalid_key_is_rejected_and_not_in_the_error(
    key: str, open_channel: Callable[..., Any]
) -> None:
    with pytest.raises(ValueError, match="Invalid API key") as refused:
        open_channel("127.0.0.1:1", key, tls=None)

    assert key == "" or key not in str(refused.value)


def credentials(
    authority: Authority, *, client_certificate: bool = False
) -> grpc.ServerCredentials:
    """Returns server credentials, which can require a client certificate."""
    certificate, key = authority.certify("server")
    return grpc.ssl_server_credentials(
        [(key, certificate)], authority.certificate, client_certificate
    )


def received_metadata(recorder: Recorder, tls: client.Tls) -> dict[str, str]:
    """Lists tags over TLS and returns the metadata that the server received."""
    with client.channel(recorder.address, "rk_key", tls=tls) as channel:
        TagServiceStub(channel).ListTags(ListTagsRequest())
    return recorder.calls[-1].metadata


def test_key_is_sent_over_tls_to_a_certified_server() -> None:
    authority = Authority()

    with recording(credentials(authority)) as recorder:
        metadata = received_metadata(recorder, client.Tls(ca=authority.certificate))

    assert metadata["authorization"] == "Bearer rk_key"


def test_client_certificate_is_sent_if_there_is_one() -> None:
    authority = Authority()
    certificate, private_key = authority.certify("client")
    tls = client.Tls(authority.certificate, certificate, private_key)

    with recording(credentials(authority, client_certificate=True)) as recorder:
        metadata = received_metadata(recorder, tls)

    assert metadata["authorization"] == "Bearer rk_key"
    assert private_key.decode() not in repr(tls)


@each("tls", [client.Tls(), client.Tls(ca=Authority().certificate)])
def test_key_is_not_sent_to_a_server_of_another_authority(tls: client.Tls) -> None:
    with (
        recording(credentials(Authority())) as recorder,
        client.channel(recorder.address, "rk_key", tls=tls) as channel,
        pytest.raises(grpc.RpcError) as refused,
    ):
        TagServiceStub(channel).DeleteTag(DeleteTagRequest())

    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert recorder.calls == []
