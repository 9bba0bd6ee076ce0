"""What leaves the building: a release, saved and loaded, its rows, and what it says of itself."""

from tabveil.release.release import Release

load = Release.load

__all__ = ["Release", "load"]
