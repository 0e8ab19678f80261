"""What stands in for the language model: it reads the question, the results and the names of the tools."""

from __future__ import annotations

import re

from examples.local_services.ways import Heard, Step


def script(heard: Heard) -> Step:
    """The weather of the city that was named. Where the results tell of the air, the answer has it too."""
    found = re.search(r"in (\w+)", heard.question)
    if found is None:
        return Step("Of which city?")
    if not heard.results:
        return Step(calls=(("get_current_weather", {"city": found[1]}),))
    weather = heard.results[0].data
    return Step(f"{found[1]}: {weather['weather']}, {weather['temperature']} °C.")


def script_with_air(heard: Heard) -> Step:
    """The weather and the air of the city: one call for the program, one for the server."""
    found = re.search(r"in (\w+)", heard.question)
    if found is None:
        return Step("Of which city?")
    if not heard.results:
        place = {"city": found[1]}
        return Step(calls=(("get_air_quality", {**place}), ("get_current_weather", {**place})))
    results = {result.tool: result for result in heard.results}
    weather, air = results["get_current_weather"].data, results["get_air_quality"].text
    return Step(f"{found[1]}: {weather['weather']}, {weather['temperature']} °C. The air is {air}.")
