"""Potato: annotate, train where the GPU is, and get the model's suggestions back."""

__version__ = "2.14.0"
