"""`actum references`: the quotes of a run, checked once more: an operation of the API."""

from __future__ import annotations

from ...server.api.runs.operations import OPERATIONS as RUNS
from ...server.api.runs.references import OPERATIONS
from ..operated import command_of

show_references = command_of((*OPERATIONS, *RUNS), "listReferences", {})
