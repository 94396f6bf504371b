"""The server's side of agents: their tokens, who may do which job, and the bytes that they send."""
