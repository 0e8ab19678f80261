"""What the examples of several subjects show in the document."""

from __future__ import annotations

RUN = "run_9f2c4d1e8b7a6c5d4e3f"
ASK = "ask_5b1f0c7d2e9a8b3c4d6f"
ASKED_AT = 1_790_000_000.25
APPROVAL = {
    "id": ASK,
    "kind": "approval",
    "run": RUN,
    "agent": "desk",
    "principal": "ann",
    "message": "pay wants to spend: approve?",
    "tool": "pay",
    "arguments": {"to": "Ada", "amount": 20},
    "origins": {},
    "asked_at": ASKED_AT,
    "expires": None,
    "verdicts": ["approve", "deny"],
    "approvers": [],
    "needs": 1,
    "agreed": [],
    "missing": ["anybody"],
    "schema": None,
    "url": "",
    "request": None,
    "question": "Pay Ada.",
    "turn": f"{RUN}.3",
    "risk": None,
}

RUN_INFO = {
    "id": RUN,
    "status": "done",
    "kind": "agent",
    "agent": "desk",
    "model": "openai:gpt-5",
    "question": "What is 2 and 3?",
    "session": "c1",
    "principal": "ann",
    "parent": "",
    "started": ASKED_AT,
    "ended": ASKED_AT + 1,
}
