"""The operations of our own API: the one list that the routes and the document are made from.

Each subject has its operations, with their bodies and handlers, in a room of its own.
"""

from __future__ import annotations

from ...features.operation import Operation
from . import audit, sessions
from .approvals import operations as approvals
from .runs import operations as runs
from .tasks import operations as tasks
from .tools import operations as tools
from .workflows import operations as workflows
from .workflows import versions

OPERATIONS: tuple[Operation, ...] = (
    *tools.OPERATIONS,
    *runs.OPERATIONS,
    *workflows.OPERATIONS,
    *versions.OPERATIONS,
    *tasks.OPERATIONS,
    *approvals.OPERATIONS,
    *sessions.OPERATIONS,
    *audit.OPERATIONS,
)
