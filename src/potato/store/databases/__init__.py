"""How the store reaches its database, SQLite or PostgreSQL: connections, locks, the writer, copies of it as a whole."""
