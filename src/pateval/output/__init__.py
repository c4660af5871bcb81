"""Results as rows, text, frames, JSON and HTML."""
