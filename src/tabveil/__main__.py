"""`python -m tabveil` is the command line."""

from tabveil.cli import main

main()
