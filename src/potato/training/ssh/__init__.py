"""Logging in to another machine: one ssh process, one stream of frames, Potato's own code at its other end."""
