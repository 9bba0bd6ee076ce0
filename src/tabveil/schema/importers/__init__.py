"""Other tools' schemas, one file each, read into drafts of ours, written from ours: IMPORTERS."""

from tabveil.schema.importers import dpmm, dpsynth, sdv, smartnoise
from tabveil.schema.importers.tool import Tool

IMPORTERS: dict[str, Tool] = {
    tool.name: tool for tool in (sdv.TOOL, dpsynth.TOOL, dpmm.TOOL, smartnoise.TOOL)
}

__all__ = ["IMPORTERS", "Tool"]
