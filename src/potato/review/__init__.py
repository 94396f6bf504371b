"""The review queue: pre-labels, least confident first, a key each for accept, correct and reject."""
