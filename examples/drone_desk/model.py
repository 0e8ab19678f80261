"""What stands in for the language model. It is trusting: what a tool returns it reports as what was asked for."""

from __future__ import annotations

import re

import msgspec

from actum.core.json import Json, JsonObject
from examples.local_services.ways import Heard, Result, Step

ASK = "请问您要查询哪个城市的天气？"


def script(heard: Heard) -> Step:
    """Four calls to the question; to the city that the user adds, one."""
    if heard.earlier and heard.earlier[-1].endswith(ASK):
        if not heard.results:
            return Step(calls=(("weather_query", {"city": heard.question}),), thought="用户补充了城市。")
        return Step(_weather(heard.results[0]))
    found = re.search(r"无人机\s*(\d+)", heard.question)
    id_ = found[1] if found else ""
    wanted: tuple[tuple[str, JsonObject], ...] = (
        ("drone_data_query", {"drone_id": id_}),
        ("weather_query", {"city": ""}),
        ("search", {"query": "什么是无人机"}),
        ("search", {"query": "无人机的飞控是什么"}),
    )
    if len(heard.results) < len(wanted):
        return Step(calls=wanted[len(heard.results) :], thought="要查无人机的状态和天气，两个概念先搜索。")
    drone, weather, *pages = heard.results
    return Step("\n".join([_drone(id_, drone), *map(_page, pages), _weather(weather)]))


def _drone(id_: str, result: Result) -> str:
    data = result.data
    if not data:
        return f"无人机 {id_}：没有拿到它的数据。{result.text}"
    return f"无人机 {id_}：{data['status']}，电量 {data['battery']}%，高度 {data['altitude_m']} 米。"


def _weather(result: Result) -> str:
    data = result.data
    return f"{data['city']}今天{data['weather']}，气温 {data['temperature']}℃。" if data else ASK


def _page(result: Result) -> str:
    first, *_ = msgspec.json.decode(result.text, type=list[dict[str, Json]])
    return f"{first['title']}：{first['text']}（{first['url']}）"
