"""`/metrics`: how the server does, for Prometheus."""
