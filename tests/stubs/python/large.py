"""Lists and exports subscribers with a client that has default settings."""

from __future__ import annotations

import json
import os

import grpc

from roster.v1.subscribers_pb2 import ExportSubscribersRequest, ListSubscribersRequest
from roster.v1.subscribers_pb2_grpc import SubscriberServiceStub


def main() -> None:
    key = (("authorization", f"Bearer {os.environ['ROSTER_API_KEY']}"),)
    with grpc.insecure_channel(os.environ["ROSTER_GRPC_ADDRESS"]) as channel:
        subscribers = SubscriberServiceStub(channel)
        page = subscribers.ListSubscribers(ListSubscribersRequest(limit=100), metadata=key)
        parts = subscribers.ExportSubscribers(ExportSubscribersRequest(), metadata=key)
        exported = sum(len(part.subscribers) for part in parts)
    print(json.dumps({"listed": len(page.subscribers), "exported": exported}))


if __name__ == "__main__":
    main()
