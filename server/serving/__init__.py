"""Processes of `serve`, `server`, `gateway` and `worker`: options, ports, start and stop."""
