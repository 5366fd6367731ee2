"""Many rows in and out: `roster import` and `roster export`, over HTTP to a running service."""
