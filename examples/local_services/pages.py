"""A search engine over a handful of pages, and the pages themselves."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.applications import Starlette

from actum.core.json import Json, JsonObject

from .serving import lookup_service

PAGES = {
    "https://pedia.example/wurenji": (
        "无人机",
        "无人机是不载驾驶员、由无线电遥控或由机载程序自主飞行的航空器，按结构分为固定翼、直升机和多旋翼等。",
    ),
    "https://pedia.example/feikong": (
        "飞控（飞行控制系统）",
        "飞控是无人机的控制核心：它读取陀螺仪、加速度计、气压计和卫星定位的数据，算出电机或舵面的指令，使飞机保持姿态并按航线飞行。",
    ),
    "https://pedia.example/duoxuanyi": (
        "多旋翼",
        "多旋翼是有三个以上旋翼轴的飞行器，靠改变各旋翼的转速来改变姿态，能垂直起降和悬停。",
    ),
    "https://pedia.example/lidianchi": (
        "锂聚合物电池",
        "锂聚合物电池能量密度高、放电电流大，常用于航模，不宜过充和过放。",
    ),
}
FOUND_MAX = 2


def page_service() -> Starlette:
    """`/search?query=...`: title, address and beginning of the pages that fit best. `/page?url=...`: a whole page."""
    return lookup_service(search=_search, page=_page)


def _search(query: Mapping[str, str]) -> Json:
    """A pair of characters counts by how rare it is, and again where it stands in the title."""
    wanted = _pairs(query.get("query", ""))
    pages = [(url, title, text, _pairs(title + text)) for url, (title, text) in PAGES.items()]
    weight = {pair: 1 / max(1, sum(pair in pairs for *_, pairs in pages)) for pair in wanted}
    fit = {url: sum(weight[pair] * (1 + (pair in title)) for pair in wanted & pairs) for url, title, _, pairs in pages}
    found = sorted((url for url in PAGES if fit[url]), key=lambda url: -fit[url])[:FOUND_MAX]
    return [_found(url) for url in found]


def _page(query: Mapping[str, str]) -> Json:
    url = query.get("url", "")
    if url not in PAGES:
        raise LookupError(f"there is no page at {url!r}")
    return _found(url)


def _found(url: str) -> JsonObject:
    title, text = PAGES[url]
    return {"title": title, "url": url, "text": text}


def _pairs(text: str) -> set[str]:
    """The pairs of neighbouring characters: words enough for Chinese."""
    return {text[at : at + 2] for at in range(len(text) - 1)}
