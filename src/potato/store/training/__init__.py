"""What the store keeps of training: runs, predictions, verdicts on them, agents, webhooks, models on the Hub."""
