"""What stands in for the language model: it reads the question and the results, and knows nothing else."""

from __future__ import annotations

import re

import msgspec

from actum.core.json import JsonObject
from examples.local_services.ways import Heard, Step


def script(heard: Heard) -> Step:
    """Weather and news of the city that was named; for `And Shanghai?`, the conversation says what is wanted."""
    found = re.search(r"Beijing|Shanghai", heard.question)
    if found is None or "weather" not in " ".join([*heard.earlier, heard.question]):
        return Step("What do you want to know, and of which city?")
    place: JsonObject = {"city": found[0]}
    wanted = (("get_current_weather", place), ("get_news", place))
    if len(heard.results) < len(wanted):
        return Step(calls=wanted[len(heard.results) :])
    weather = heard.results[0].data
    news = msgspec.json.decode(heard.results[1].text, type=list[str])
    lines = [f"{number}. {headline}" for number, headline in enumerate(news, 1)]
    return Step("\n".join([f"{found[0]}: {weather['weather']}, {weather['temperature']} °C.", *lines]))
