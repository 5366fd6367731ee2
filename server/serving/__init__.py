"""What `serve`, `server` and `gateway` have in common: ports, processes, and what they print."""
