"""Rows in JSON with a value that cannot be stored, their invalid field, and their email."""

from __future__ import annotations

INVALID_VALUES = [
    (r'{"email": "a@b.io", "firstName": "cut \ud83d"}', "firstName", "a@b.io"),
    (r'{"email": "a@b.io", "tags": ["\ude00"]}', "tags", "a@b.io"),
    (r'{"email": "a@b.io", "customFields": {"\ud83d": "x"}}', "customFields", "a@b.io"),
    (r'{"email": "a@b.io", "\ud83d": 1}', "\ufffd", "a@b.io"),
    (r'{"email": "a\ud83d@b.io"}', "email", "a\ufffd@b.io"),
    ('{"email": "a@b.io", "firstName": "A", "firstName": "A"}', "firstName", "a@b.io"),
    ('{"email": "a@b.io", "customFields": {"x": 1, "x": 2}}', "customFields", "a@b.io"),
    ('{"email": "a@b.io", "customFields": {"x": 1e999}}', "customFields", "a@b.io"),
    ('{"email": "a@b.io", "customFields": {"x": %s}}' % ("9" * 400), "customFields", "a@b.io"),
    (r'{"firstName": "\ud83d", "email": ["a@b.io"]}', "firstName", ""),
]
