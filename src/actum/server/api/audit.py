"""`/v1/audit`: who did what, when, with what, and why it was allowed."""

from __future__ import annotations

from ...features.operation import ApiReply, ApiRequest
from .api import Api
from .bodies import AuditPage, AuditQuery


async def list_audit(api: Api, asked: ApiRequest[AuditQuery, None]) -> ApiReply:
    """The lines of the audit of the caller's tenant."""
    lines, following = await api.records.audit(asked.query, asked.who)
    return ApiReply(AuditPage(items=tuple(lines), next=following))
