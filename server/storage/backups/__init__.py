"""Creates, verifies, restores and deletes backups of SQLite databases."""
