"""A database with Citus: the extension if the server has it, a stand-in otherwise.
The stand-in has the functions and the view that the distribution uses. It records the calls and
rejects what Citus is documented to reject: keys, unique indexes and foreign keys without the
account, foreign keys between tables that are not colocated, and a second distribution of a table.
"""

from __future__ import annotations

from contextlib import suppress

import psycopg

from ..postgres import Postgres

STAND_IN = """
CREATE SCHEMA stand_in;

CREATE TABLE stand_in.distribution (
    name regclass PRIMARY KEY, kind text, col text, colocation int
);
CREATE TABLE stand_in.calls (number serial, text text);

CREATE VIEW public.citus_tables AS
    SELECT name AS table_name, kind AS citus_table_type, coalesce(col, '<none>') AS
        distribution_column, colocation AS colocation_id FROM stand_in.distribution;

CREATE FUNCTION stand_in.reject_distributed(checked regclass) RETURNS void AS $$
BEGIN
    IF EXISTS (SELECT FROM stand_in.distribution WHERE name = checked) THEN
        RAISE 'table % is already distributed', checked;
    END IF;
END $$ LANGUAGE plpgsql;

CREATE FUNCTION public.create_reference_table(table_name regclass) RETURNS void AS $$
BEGIN
    PERFORM stand_in.reject_distributed(table_name);
    INSERT INTO stand_in.distribution VALUES (table_name, 'reference', NULL, 1);
    INSERT INTO stand_in.calls (text) VALUES ('reference ' || table_name);
END $$ LANGUAGE plpgsql;

CREATE FUNCTION public.create_distributed_table(
    table_name regclass, distribution_column text, distribution_type text DEFAULT 'hash',
    colocate_with text DEFAULT 'default'
) RETURNS void AS $$
DECLARE
    number smallint; missing text; colocation_group int;
BEGIN
    PERFORM stand_in.reject_distributed(table_name);
    SELECT attnum INTO STRICT number FROM pg_attribute
        WHERE attrelid = table_name AND attname = distribution_column;
    SELECT max(indexrelid::regclass::text) INTO missing FROM pg_index
        WHERE indrelid = table_name AND (indisunique OR indisexclusion)
        AND NOT number = ANY (indkey);
    IF missing IS NOT NULL THEN
        RAISE 'cannot create constraint on "%": % leaves the column out', table_name, missing;
    END IF;
    IF colocate_with = 'none' THEN
        SELECT coalesce(max(s.colocation), 1) + 1 INTO colocation_group
            FROM stand_in.distribution s;
    ELSE
        SELECT s.colocation INTO STRICT colocation_group FROM stand_in.distribution s
            WHERE name = colocate_with::regclass;
    END IF;
    SELECT max(conname) INTO missing FROM pg_constraint
        LEFT JOIN stand_in.distribution s ON s.name = confrelid
        WHERE conrelid = table_name AND contype = 'f' AND s.kind IS DISTINCT FROM 'reference'
        AND (s.colocation IS DISTINCT FROM colocation_group OR NOT number = ANY (conkey));
    IF missing IS NOT NULL THEN
        RAISE 'cannot create foreign key constraint %', missing;
    END IF;
    INSERT INTO stand_in.distribution VALUES
        (table_name, 'distributed', distribution_column, colocation_group);
    INSERT INTO stand_in.calls (text) VALUES
        (format('distributed %s by %s with %s', table_name, distribution_column, colocate_with));
END $$ LANGUAGE plpgsql;

CREATE FUNCTION public.truncate_local_data_after_distributing_table(function_table_name regclass)
RETURNS void AS $$
BEGIN
    PERFORM FROM stand_in.distribution WHERE name = function_table_name;
    IF NOT FOUND OR EXISTS (
        SELECT FROM pg_constraint WHERE confrelid = function_table_name AND contype = 'f'
        AND conrelid NOT IN (SELECT name FROM stand_in.distribution)
    ) THEN
        RAISE 'cannot truncate %', function_table_name;
    END IF;
    INSERT INTO stand_in.calls (text) VALUES ('truncated ' || function_table_name);
END $$ LANGUAGE plpgsql;
"""


def database_with_citus(postgres: Postgres) -> tuple[str, bool]:
    """Creates an empty database. Returns its URL and whether it has the real Citus."""
    url = postgres.new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        with suppress(psycopg.Error):
            connection.execute("CREATE EXTENSION citus")
            # A coordinator without workers stores the shards itself.
            connection.execute("SELECT citus_set_coordinator_host('localhost')")
            connection.execute(
                "SELECT citus_set_node_property(nodename, nodeport,"
                " 'shouldhaveshards', true) FROM pg_dist_node"
            )
            return url, True
        connection.execute(STAND_IN)
    return url, False
