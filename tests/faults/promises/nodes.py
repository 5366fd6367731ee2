"""P10: a node of a Citus cluster stops or freezes under load from accounts on all nodes.

Accounts on the other nodes are served. Calls for accounts on the node are served or fail with
503. The exception is a write that was being committed: its outcome is unknown, and it is sent
again with the others at the end, when the database is compared with all responses.
"""

from __future__ import annotations

import math
import random
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from rosterd.server.features.accounts import store, store_keys
from rosterd.server.features.accounts.rules import ADMIN, hash_secret, make_secret

from ...citus.cluster import INSTALLATION, Cluster, installation, running
from ...citus.node import Node
from ...load import Exchange
from ...processes import Service, start
from .checker import NO_VIOLATIONS, Results, total
from .clients import Clients, Target, record_all_events
from .kills import checked
from .recorder import Recorder

ACCOUNTS_PER_NODE = 2
# Seconds under load before a failure, without the node, and after its return.
BEFORE, WITHOUT, AFTER = 2.0, (5.0, 8.0), 6.0
STOPPED, FROZEN = "nodes stopped", "nodes frozen"
FAILED_ELSEWHERE = "failed on other nodes"
INTERNAL = "internal errors except unknown commits"
RECOVERY = "slowest recovery, seconds"
AT_MOST = {**NO_VIOLATIONS, FAILED_ELSEWHERE: 0, INTERNAL: 0, RECOVERY: 5}
AT_LEAST = {"acknowledged": 1, "acknowledged on other nodes": 1}
# Account and API key creation writes to all nodes, so it fails while one is missing.
RPCS = ("CreateSubscriber", "BulkCreateSubscribers")
_NODE_OF = (
    "SELECT nodeport FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE shardid ="
    " get_shard_id_for_distribution_column('subscriber', '{account}'::text)"
)


class Tenant(NamedTuple):
    """An account on a node."""

    target: Target
    node: Node
    recorder: Recorder


def needs() -> str:
    """Returns what is missing on this machine, or an empty text."""
    return "" if installation() else f"{INSTALLATION} is not set"


def run(repetitions: int) -> Results:
    """Makes so many nodes fail in turns and returns the results."""
    programs = installation()
    assert programs is not None, needs()
    rng, results = random.Random(), Results()
    with tempfile.TemporaryDirectory() as folder, running(programs) as cluster:
        url = cluster.new_roster()
        service = start(
            Path(folder),
            ROSTER_DATABASE_URL=url,
            ROSTER_SECRET_KEY=cluster.secret_key,
            ROSTER_LOG_LEVEL="error",
        )
        try:
            tenants = create_tenants(cluster, service)
            for number in range(repetitions):
                node = cluster.workers[number // 2 % len(cluster.workers)]
                found = disturb(node, tenants, f"r{number}", rng, freezes=bool(number % 2))
                slowest = max(found.pop(RECOVERY), results.get(RECOVERY, 0))
                results = total(results, found) | {RECOVERY: slowest}
            stored = Results()
            for tenant in tenants:
                stored = total(stored, checked(url, tenant.target, tenant.recorder, rng))
        finally:
            service.stop()
        unknown = service.log.read_text().count("the outcome of a commit is unknown")
    results[INTERNAL] = max(results[INTERNAL] - unknown, 0)
    return results | {"unknown commits": unknown} | stored


def create_tenants(cluster: Cluster, service: Service) -> list[Tenant]:
    """Creates accounts until each node has enough of them."""
    database = service.database_url.rsplit("/", 1)[1]
    wanted = {node.port: ACCOUNTS_PER_NODE for node in cluster.workers}
    nodes = {node.port: node for node in cluster.workers}
    tenants = []
    while any(wanted.values()):
        key = make_secret()
        with service.unit_of_work() as tx:
            account = store.create_account(f"{key}@example.com", tx, verified=True).id
            store_keys.create_key(account, "key", ADMIN, hash_secret(key), tx)
        ((port,),) = cluster.run(_NODE_OF.replace("{account}", account), database)
        if wanted[port]:
            wanted[port] -= 1
            target = Target(account, key, service.http, service.grpc)
            record_all_events(target)
            tenants.append(Tenant(target, nodes[port], Recorder()))
    return tenants


def disturb(
    node: Node, tenants: list[Tenant], prefix: str, rng: random.Random, *, freezes: bool
) -> Results:
    """Lets a node fail and return under load, and returns what the clients observed."""
    loads = [
        (tenant, Clients(tenant.target, tenant.recorder, f"{prefix}-{number}", rpcs=RPCS))
        for number, tenant in enumerate(tenants)
    ]
    with ExitStack() as stack:
        for _, clients in loads:
            stack.enter_context(clients.calling())
        time.sleep(BEFORE)
        failed_at = time.monotonic()
        if freezes:
            node.freeze()
        else:
            node.stop()
        try:
            time.sleep(rng.uniform(*WITHOUT))
        finally:
            if freezes:
                node.thaw()
            else:
                node.start()
        returned_at = time.monotonic()
        time.sleep(AFTER)
    results: Results = {
        STOPPED: int(not freezes),
        FROZEN: int(freezes),
        **dict.fromkeys((FAILED_ELSEWHERE, INTERNAL, "acknowledged on other nodes"), 0),
        RECOVERY: 0,
    }
    for tenant, clients in loads:
        exchanges = clients.load.exchanges
        if tenant.node == node:
            results[INTERNAL] += sum(exchange.status == 500 for exchange in exchanges)
            served = (each.ended for each in exchanges if _is_served(each))
            recovered_at = min(filter(returned_at.__le__, served), default=math.inf)
            results[RECOVERY] = max(results[RECOVERY], recovered_at - returned_at)
        else:
            during = [each for each in exchanges if failed_at < each.ended < returned_at]
            results[FAILED_ELSEWHERE] += sum(not _is_served(each) for each in exchanges)
            results["acknowledged on other nodes"] += sum(map(_is_served, during))
    return results


def _is_served(exchange: Exchange) -> bool:
    return exchange.status in (200, 201)
