"""When an endpoint is sent the schema of an answer (`Request.output_schema`), and what becomes of a refusal. Pure."""

from __future__ import annotations

import logging
import re
from typing import Literal

from msgspec import structs

from ..core.errors import ModelRejected
from ..core.model import Request

_log = logging.getLogger(__name__)

SendSchema = Literal["always", "alone", "never"]
"""`alone`: where the request has no tools. Many servers would hold calls to the schema as well, or refuse the two
together."""

_STATUSES = frozenset({400, 404, 415, 422, 500, 501})
"""With which servers refuse a field that they do not know."""

_NAMES_SCHEMA = re.compile(
    r"response.?(format|mime|schema)|json.?schema|structured|output.?(config|format|schema)|text\.format|guided|grammar",
    re.IGNORECASE,
)
"""A refusal is about the schema only where it says so: a server refuses requests for many reasons."""


class AnswerSchema:
    """Knows of one endpoint whether it is sent the schema of an answer.

    The schema is left out only where the instructions tell it as well, as those of an agent do. The agent checks each
    answer in any case.

    Args:
        name: of the model, for the log.
        send: when the schema is sent.
    """

    def __init__(self, name: str, send: SendSchema) -> None:
        self._name = name
        self._send = send
        self._refused: set[bool] = set()  # in requests with tools, in those without

    def fitted(self, request: Request) -> Request:
        """The request with its schema, if the endpoint is to be sent it, else without."""
        if request.output_schema is None or request.untold_schema is not None:
            return request
        has_tools = bool(request.tools)
        takes = self._send == "always" or (self._send == "alone" and not has_tools)
        if takes and has_tools not in self._refused:
            return request
        return structs.replace(request, output_schema=None)

    def is_refused(self, request: Request, error: ModelRejected) -> bool:
        """Whether a refusal is about the schema: then the endpoint is not sent one again in a request of this kind."""
        if request.output_schema is None or request.untold_schema is not None:
            return False
        if error.status not in _STATUSES or not _NAMES_SCHEMA.search(str(error)):
            return False
        self._refused.add(bool(request.tools))
        _log.warning("%s: asked again without the schema of the answer, which was refused: %s", self._name, error)
        return True
