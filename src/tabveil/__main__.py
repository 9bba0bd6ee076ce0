"""The command `tabveil`, and `python -m tabveil`: the device wakes while all else is loaded."""

import gc
import sys

from tabveil.fitting import device


def main() -> None:
    """Set up the device, then run the command line."""
    fits = sys.argv[1:2] == ["fit"]
    if fits:
        device.wake_driver()
    device.set_up()
    if fits:
        device.wake()
    from tabveil import cli

    try:
        cli.main()
    finally:
        # memory goes back when the process ends; looking through it for garbage takes longer
        gc.freeze()


if __name__ == "__main__":  # worker processes import this file, too
    main()
