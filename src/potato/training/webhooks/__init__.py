"""Telling other programs of runs and pre-labels: what is told, to whom, and seeing that it arrives."""
