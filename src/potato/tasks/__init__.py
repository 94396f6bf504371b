"""Child processes that do the long work, so that the server never does."""
