"""PATE: zones, curve, score, explanation."""
