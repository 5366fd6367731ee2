"""`roster import` and `roster export`, which call a running service over HTTP."""
