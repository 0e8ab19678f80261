"""The tools of the travel desk: one looks, the other spends money and waits for a person each time."""

from __future__ import annotations

from actum import Context, tool
from actum.core.json import Json
from actum.toolsets.function import FunctionTool
from examples.local_services.client import ask


def desk(url: str) -> list[FunctionTool]:
    """The two tools, given the address of the flight desk."""

    @tool(effects={"read"})
    async def search_flights(origin: str, destination: str, date: str) -> Json:
        """查询航班和票价。

        Args:
            origin: 出发城市。
            destination: 到达城市。
            date: 日期，YYYY-MM-DD。
        """
        return await ask(url, "flights", origin=origin, destination=destination, date=date)

    @tool(effects={"spend"}, approval=True, idempotent=True, sinks=["passenger"])
    async def book_flight(flight: str, date: str, price: int, passenger: str, ctx: Context) -> Json:
        """预订一个航班，需要有人批准。

        Args:
            flight: 航班号。
            date: 日期，YYYY-MM-DD。
            price: 票价，单位元。
            passenger: 乘机人姓名。
        """
        return await ask(url, "book", flight=flight, passenger=passenger, key=ctx.key)

    return [search_flights, book_flight]
