"""The tools of the policy that the guide shows."""

from __future__ import annotations

from actum import tool


@tool(effects={"read"})
def get_balance(account: str) -> dict[str, float]:
    """The balance of an account."""
    return {"balance": 1_000.0}


@tool(effects={"spend"})
def transfer(account: str, to: str, amount: float) -> str:
    """Transfer money."""
    return f"transferred {amount} from {account} to {to}"


@tool(effects={"write"})
def write_file(path: str, text: str) -> str:
    """Write a file."""
    return f"wrote {len(text)} characters to {path}"
