"""``python -m pateval``."""

from pateval.cli import main

if __name__ == "__main__":
    main()
