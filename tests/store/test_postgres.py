"""A store in PostgreSQL."""

from __future__ import annotations

import psycopg

from postgres import Postgres


def test_each_test_gets_an_empty_schema_of_a_real_server(postgres: Postgres, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as conn:
        assert conn.execute("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()").fetchone() == (0,)
        conn.execute("CREATE TABLE mine (n int)")
    assert postgres.admin("SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = 'potato'") == [(False, False)]
