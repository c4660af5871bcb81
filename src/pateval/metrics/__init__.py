"""Metrics from the literature, one file per idea."""
