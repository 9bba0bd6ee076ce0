"""Schemas of other tools, read into a draft of ours and written from ours, one tool per file;
IMPORTERS."""

from tabveil.schema.importers import dpmm, dpsynth, sdv, smartnoise
from tabveil.schema.importers.tool import Tool

IMPORTERS: dict[str, Tool] = {
    tool.name: tool for tool in (sdv.TOOL, dpsynth.TOOL, dpmm.TOOL, smartnoise.TOOL)
}

__all__ = ["IMPORTERS", "Tool"]
