"""What leaves the building: rows drawn from a release, saved and loaded, and what it says about
itself."""

from tabveil.release.release import Release

load = Release.load

__all__ = ["Release", "load"]
