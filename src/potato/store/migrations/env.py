"""Alembic's entry: run the migrations on the engine that `Database.migrate` passes."""

from alembic import context

from potato.store.databases.postgresql import sort_by_code_points
from potato.store.tables import metadata

with context.config.attributes["engine"].connect().execution_options(potato_write=True) as connection:
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()
        if connection.dialect.name == "postgresql":
            sort_by_code_points(connection)
    connection.commit()
