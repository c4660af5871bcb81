"""Arrays in, arrays out, nothing checked: the arithmetic that metrics share."""
