"""Python functions as tools."""

from .function import FunctionTool, FunctionToolset, methods_of, tool

__all__ = ["FunctionTool", "FunctionToolset", "methods_of", "tool"]
