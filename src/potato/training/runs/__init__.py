"""A run's life: the queue, the states, the supervisor that sees one through at a time, its journal."""
