"""Selects subscribers: from a request to one tree of conditions, a plan, and a page."""
