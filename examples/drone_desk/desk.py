"""The tools of the drone desk: each asks a service on the network."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from actum import ToolError
from actum.core.json import Json
from examples.local_services.client import ask


def desk(drone_url: str, weather_url: str, page_url: str) -> list[Callable[..., Awaitable[Json]]]:
    """The four tools, given the addresses of the services."""

    async def drone_data_query(drone_id: str) -> Json:
        """查询一架无人机的实时状态：飞行状态、电量、高度。

        Args:
            drone_id: 无人机的编号，例如“2040”。
        """
        data = await ask(drone_url, "drone", id=drone_id)
        about = data.get("drone_id") if isinstance(data, dict) else None
        if about != drone_id:  # the service answers about another drone where it does not have this one
            raise ToolError(f"问的是无人机 {drone_id}，服务返回的却是无人机 {about} 的数据，不能采用。")
        return data

    async def weather_query(city: str) -> Json:
        """查询一个城市今天的天气。

        Args:
            city: 城市名，例如“北京”。
        """
        return await ask(weather_url, "weather", city=city)

    async def search(query: str) -> Json:
        """在网上搜索，返回网页的标题、地址和摘要。

        Args:
            query: 要搜索的内容。
        """
        return await ask(page_url, "search", query=query)

    async def crawl(url: str) -> Json:
        """读取一个网页的全文。

        Args:
            url: 网页的地址。
        """
        return await ask(page_url, "page", url=url)

    return [drone_data_query, weather_query, search, crawl]
