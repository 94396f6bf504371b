"""What the trainers that fine-tune a transformer share. torch and transformers are imported inside functions alone."""
