"""Automatic retraining: what has to come about before a run starts by itself, and the thread that looks."""
