"""What stands in for the language model: it reads the question and the observations, and knows nothing else."""

from __future__ import annotations

import re

from examples.local_services.ways import Heard, Step


def script(heard: Heard) -> Step:
    """Look whether the way leads abroad, then what that country wants to see. It calls `dest` by another name."""
    found = re.fullmatch(r"从(?P<origin>.+?)去(?P<destination>.+?)需要护照吗？", heard.question)
    if found is None:
        return Step("请问您从哪里去哪里？")
    results = heard.results
    if not results:
        return Step(calls=(("check_route", found.groupdict()),), thought="先确认这段路程是否出境。")
    route = results[0].data
    if not route["international"]:
        return Step("不需要护照，这段路程不出境。")
    if len(results) == 1:
        country = route["dest_country"]
        return Step(
            calls=(("entry_requirements", {"country": country}),), thought=f"目的地在{country}，要查它的入境规定。"
        )
    entry = results[1].data
    way = f"从{found['origin']}去{found['destination']}要进入{entry['country']}"
    return Step(f"需要{entry['document']}：{way}，{entry['visa']}。")
