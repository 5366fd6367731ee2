"""Processes of `serve`, `serve-grpc`, `serve-http` and `worker`: options, ports, start and stop."""
