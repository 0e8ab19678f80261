"""Commands for a shell where a question says them: `run git status`, `using the command echo %date%`, 执行 df -h.

Only what is announced as one, or follows the word that lets it run: a command that was made up is worse than none.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..text.clauses import Clause
from ..text.spans import Span

_FIRST = (
    r"(?!(?:the|an?|and|or|this|that|these|those|my|our|your|its?|some|all|any|each|another|one|two|command)\b)"
    r"[A-Za-z](?:[\w./~-]*\w)?"
)
_NEXT = r"(?:\s+(?!command\b)(?:\.{1,2}(?=\s|$)|\S*[^\s.,;!?]))"
_MORE = rf"(?P<said>{_FIRST}{_NEXT}{{0,15}}?)"
_END = (
    r"(?=[.?!,;]?\s*$|[.?!]\s|[,;]\s|[，。；、]|\s+\d+[.)]\s"
    r"|\s+(?:to|and|so that|then)\s+(?:then\s+)?(?:see|find|check|show|tell|get|list|know|look|give|send|report|let)\b"
    r"|\s+(?:please|for me|right now|(?:on|in|with|for|as|by|from|under) (?:the|my|an?|your))\b)"
)
_SAID = (
    re.compile(
        rf"\bcommand\s+(?:(?:is|line)\s+)?[:：]?\s*(?!prompt\b|line\b|to\b|that\b|which\b|in\b|for\b){_MORE}{_END}"
    ),
    re.compile(rf"\b(?:run|runs|running|execute|executing)\s+(?:the\s+)?{_MORE}\s+command\b", re.IGNORECASE),
    re.compile(rf"\b(?:use|using|with)\s+(?:the\s+)?(?P<said>{_FIRST}{_NEXT}{{1,8}}?)\s+command\b", re.IGNORECASE),
    re.compile(rf"\b(?:run|execute)\s+{_MORE}{_END}", re.IGNORECASE),
    re.compile(rf"\b(?:use|using|through)\s+(?P<said>{_FIRST}{_NEXT}{{1,15}}?){_END}", re.IGNORECASE),
    re.compile(
        r"(?:执行|运行|跑(?:一下|下)?|命令)(?:命令)?[:：]?\s*(?P<said>[A-Za-z](?:[\x20-\x7e]*[A-Za-z0-9_/*.%)\"'-])?)"
    ),
)


@lru_cache(maxsize=64)
def commands_in(clause: Clause) -> tuple[Span, ...]:
    """The commands of a clause, in the order of how plainly they are said; none within another."""
    found: list[Span] = []
    for pattern in _SAID:
        for match in pattern.finditer(clause.text, clause.start, clause.end):
            span = Span("command", *match.span("said"), match["said"], match["said"])
            if not any(span.overlaps(other) for other in found):
                found.append(span)
    return tuple(found)
