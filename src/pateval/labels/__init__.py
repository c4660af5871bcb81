"""What labels say: events, and classes that mean an anomaly."""
