"""The program of `make faults`: scenarios of faults, and clients and models that check them.

Nothing outside imports it, except test_promises.py. Of the other tests, it imports only modules
that start and call services (`components`, `conftest`, `fork_server`, `fronts`, `load`, `postgres`,
`processes`, `reaper`, `relay`, `releases`, `signed_links`, `citus`, `stubs.lossy_proxy`,
`features.webhooks.receiver`), read a database (`storage.helpers`), or
generate requests (`behavior.helpers`, `behavior.requests`, `contract.schemathesis_run`).
"""
