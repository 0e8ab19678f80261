"""What stands in for the language model: it reads the question and the results, and knows nothing else."""

from __future__ import annotations

import re

from examples.local_services.ways import Heard, Result, Step

ASK = "请问您想查询哪个城市的天气？"


def script(heard: Heard) -> Step:
    """The weather on a singer's birthday, or of today."""
    found = re.fullmatch(r"(?P<singer>.+?)生日那天(?P<city>.+?)的天气怎么样？", heard.question)
    return _birthday(found["singer"], found["city"], heard.results) if found else _today(heard)


def _birthday(singer: str, city: str, results: tuple[Result, ...]) -> Step:
    """Two steps, the second made of the first's result."""
    if not results:
        return Step(calls=(("birthday", {"singer": singer}),))
    if len(results) == 1:
        return Step(calls=(("weather", {"city": city, "date": results[0].data["birthday"]}),))
    data = results[1].data
    return Step(f"{singer}的生日是 {data['date']}，那天{city}{data['weather']}，气温 {data['temperature']}℃。")


def _today(heard: Heard) -> Step:
    """Try it without a city, as models do, and ask the user when that is turned away."""
    city = heard.question if heard.earlier and heard.earlier[-1] == ASK else ""
    if not heard.results:
        return Step(calls=(("weather", {"city": city}),))
    data = heard.results[-1].data
    return Step(f"{data['city']}今天{data['weather']}，气温 {data['temperature']}℃。" if data else ASK)


def stubborn(heard: Heard) -> Step:
    """A model that never asks: it leaves the city out until the user has named it."""
    if heard.results and heard.results[-1].data:
        return _today(heard)
    return Step(calls=(("weather", {"city": "" if "天气" in heard.question else heard.question}),))
