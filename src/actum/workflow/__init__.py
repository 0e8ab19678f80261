"""Workflows: graphs of calls that a person draws. A workflow is carried out as a run, like the loop of an agent.

    from actum.workflow import Workflow

    workflow = Workflow.load("flight_desk.workflow.yaml", tools=[search_flights, book_flight])

To read the code, start with `graph.py` and `flow.py`.
"""

from ..core.definition import TextProblem
from .definition.text import BadWorkflow
from .published import PublishedWorkflows
from .workflow import Workflow

__all__ = ["BadWorkflow", "PublishedWorkflows", "TextProblem", "Workflow"]
