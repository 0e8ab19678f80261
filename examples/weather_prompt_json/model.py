"""What stands in for the language model: it reads the question and the results, and knows nothing else."""

from __future__ import annotations

import re

from examples.local_services.ways import Heard, Step


def script(heard: Heard) -> Step:
    """Call `weather` for the city in the question, then put what came back into a sentence."""
    if not heard.results:
        found = re.search(r"今天(.+?)的天气", heard.question)
        return Step(calls=(("weather", {"city": found[1]}),)) if found else Step("我可以查询一个城市今天的天气。")
    data = heard.results[-1].data
    return Step(f"{data['city']}今天{data['weather']}，气温 {data['temperature']}℃。") if data else Step("没有查到。")
