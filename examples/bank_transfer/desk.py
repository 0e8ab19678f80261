"""The tools of the bank desk. None of them knows who may do what: that stands in `policy.toml`."""

from __future__ import annotations

from actum import Context, tool
from actum.core.json import Json
from actum.toolsets.function import FunctionTool
from examples.local_services.client import ask


def desk(url: str) -> list[FunctionTool]:
    """The three tools, given the address of the bank."""

    @tool(effects={"read"})
    async def get_balance(account: str) -> Json:
        """The balance of an account, in euros.

        Args:
            account: Number of the account.
        """
        return await ask(url, "balance", account=account)

    @tool(effects={"read"})
    async def read_mail() -> Json:
        """The latest mail of the user."""
        return await ask(url, "mail")

    @tool(effects={"spend"}, idempotent=True, sinks=["to"], sequential=True)  # no two between a look and its transfer
    async def transfer(account: str, to: str, amount: float, ctx: Context) -> Json:
        """Transfer money.

        Args:
            account: The account that pays.
            to: The account that receives.
            amount: How much, in euros.
        """
        return await ask(url, "transfer", account=account, to=to, amount=str(amount), key=ctx.key)

    return [get_balance, read_mail, transfer]
