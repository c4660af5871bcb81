"""The only place that checks what comes in: arrays, options, and the words of messages."""
