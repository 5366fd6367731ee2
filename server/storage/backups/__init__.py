"""Backups of a SQLite file: making one beside a service, putting one back, keeping some."""
