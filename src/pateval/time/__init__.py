"""When steps were recorded: clocks, the steps of a recording that count, intervals."""
