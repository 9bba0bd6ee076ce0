"""`python -m tabveil` is the command line."""

from tabveil.cli import main

if __name__ == "__main__":  # worker processes import this file, too
    main()
