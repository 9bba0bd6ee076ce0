"""The command `tabveil`, and `python -m tabveil`: the device wakes while everything else is loaded."""

import sys

from tabveil import device


def main() -> None:
    """Set up the device, then run the command line."""
    device.set_up()
    if sys.argv[1:2] == ["fit"]:
        device.wake()
    from tabveil import cli

    cli.main()


if __name__ == "__main__":  # worker processes import this file, too
    main()
