"""A run's model on the Hugging Face Hub: its files, its card, and everything that is checked before it leaves."""
