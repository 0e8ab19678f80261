"""A bank with three accounts, and the post of its customers. All of it is made up."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.applications import Starlette

from actum.core.json import Json

from .serving import lookup_service


class Bank:
    """`/balance?account=...`, `/transfer?account=...&to=...&amount=...&key=...` and `/mail`.

    A transfer is made once a key, however often it is asked for. The bank itself trusts whoever asks: it would let an
    account be overdrawn.

    Attributes:
        balances: euros by account.
        transfers: account, receiver and amount of every transfer, by its key.
    """

    def __init__(self, mail: str = "") -> None:
        self.balances = {"ada-main": 1500.0, "bob-main": 200.0, "mallory-1": 0.0}
        self.transfers: dict[str, tuple[str, str, float]] = {}
        self._mail = mail

    def service(self) -> Starlette:
        """The service."""
        return lookup_service(balance=self._balance, transfer=self._transfer, mail=lambda query: {"text": self._mail})

    def _balance(self, query: Mapping[str, str]) -> Json:
        account = query["account"]
        if account not in self.balances:
            raise LookupError(f"there is no account {account!r}")
        return {"account": account, "balance": self.balances[account]}

    def _transfer(self, query: Mapping[str, str]) -> Json:
        key, account, to, amount = query["key"], query["account"], query["to"], float(query["amount"])
        if to not in self.balances or account not in self.balances:
            raise LookupError("there is no such account")
        if key not in self.transfers:
            self.transfers[key] = (account, to, amount)
            self.balances[account] -= amount
            self.balances[to] += amount
        return {"transferred": amount, "to": to}
