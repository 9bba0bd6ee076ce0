"""How much memory a run took."""

import sys

if sys.platform == "win32":

    def peak_gigabytes() -> float:
        """Not known here: this system keeps no account of children that ended."""
        return float("nan")

else:
    import resource

    # Kilobytes everywhere but on macOS, where they are bytes.
    UNITS = 1e9 if sys.platform == "darwin" else 1e6

    def peak_gigabytes() -> float:
        """The most memory that this process ever had, and the largest of its children."""
        people = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        return sum(resource.getrusage(who).ru_maxrss for who in people) / UNITS
