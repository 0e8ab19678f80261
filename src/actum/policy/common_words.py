"""Words that stand in almost every sentence, and so do not tell who named a value: `to`, `me`, `the`, `给`, `请`.

A model that is hijacked may pass such a word on purpose, because the user's question holds it. `origins.py` therefore
takes a value of common words alone for the model's own, unless a whole message or a whole field says just that.

Limits: English and Chinese, and the most frequent words of German, French and Spanish. A person whose name is one of
these words (`Will`, `May`) is not recognised by that name alone.
"""

from __future__ import annotations

import re

WORDS_MAX = 3
"""A value of more words than this is a quotation, even where each word of it is common."""
LENGTH_MAX = 60
"""So is a value of more characters."""

_ENGLISH = """
    a about above accordingly across actually after again against ago all almost already also although always am
    among an and another answer any anybody anyone anything are aren't around as ask at away back be because been
    before behind being below between bit both but by call called can can't cannot could couldn't currently did
    didn't do does doesn't doing don't done down during each either else enough ever every everybody everyone
    everything exactly few finally first for from get gets getting give given go goes going gonna got had has hasn't
    have haven't having he hello help her here hers herself hey hi him himself his how however i i'd i'll i'm i've
    if in into is isn't it it's its itself just kind kindly know last later least less let let's like likely lot
    make many may maybe me might mine more most much must my myself near need needs neither never new next no nobody
    none nor not nothing now of off often ok okay old on once one ones only onto or other others our ours ourselves
    out over own per perhaps please put quite rather really reply right said same saw say says second see seem send
    sent set several shall she should shouldn't show since so some somebody someone something soon still such sure
    take tell than thank thanks that that's the their theirs them themselves then there there's therefore these they
    thing things third this those though through till to today together tomorrow tonight too toward towards two
    under until up upon us use used very via want wanted wants was wasn't way we we're well were weren't what what's
    when whenever where where's whether which while who who's whom whose why will with within without won't would
    wouldn't yes yesterday yet you you're your yours yourself
"""
_GERMAN = """
    aber als am an auch auf aus bei bin bis bitte da dann das dass dein dem den der des dich die dir doch du durch
    ein eine einem einen einer er es für haben hat ich ihm ihn ihr ihre im in ist ja kann kein keine mein meine mich
    mir mit nach nicht noch nur oder schon sein sich sie sind so und uns vom von vor war was wenn wer wie wir wird
    wo zu zum zur
"""
_FRENCH = """
    au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur lui ma mais mes moi mon ne nous
    on ou où par pas pour que qui sa se ses si son sur ta te toi ton tu un une vous à été
"""
_SPANISH = """
    al como con cuando de del el ella en es esta este esto está la las le lo los mas me mi muy más no nos o para
    pero por porque que qué se si sin sobre son su sus sí te tu un una uno y ya yo él
"""
_CHINESE = """
    谢谢 多谢 请 请问 请帮我 帮 帮我 帮忙 麻烦 劳驾 你 您 我 他 她 它 你们 您们 我们 他们 她们 它们 咱们 自己
    大家 别人 的 地 得 了 着 过 吗 呢 吧 啊 呀 嘛 么 哦 哈 嗯 是 不是 是不是 在 有 没有 有没有 和 与 及 跟 同
    或 或者 还是 以及 并 并且 而且 还有 但 但是 可是 不过 因为 所以 如果 虽然 想 想要 要 需要 不要 能 能不能
    可以 可不可以 会 会不会 应该 必须 给 让 叫 把 被 将 从 到 去 来 往 向 由 自 对 对于 为 为了 关于 多少 什么
    怎么 怎么样 怎样 如何 哪 哪个 哪些 哪里 哪儿 谁 几 几个 为什么 一下 一些 一个 一点 一样 这 这个 这些 这里
    这边 这样 那 那个 那些 那里 那边 那样 其 其他 其它 此 该 每 每个 各 各个 某 某个 任何 所有 全部 都 也 又 再
    还 就 才 只 很 太 更 最 比 非常 真 先 后 然后 接着 最后 之前 之后 以前 以后 时候 现在 目前 刚才 今天 明天
    后天 昨天 前天 上 下 里 中 内 外 前 左右 大概 大约 告诉 告诉我 知道 看 看看 看一下 说 说说 查看 一起 已经
    正在 曾经 可能 也许 好 好的 用 以 于 不 没 别 东西 事情 事 人 是谁 是什么 什么是 有什么 有哪些 发 发给 转
    转给 付 付给
"""
_SPACED = frozenset((_ENGLISH + _GERMAN + _FRENCH + _SPANISH).split())

_HAN = r"\u3005\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_RUN = re.compile(rf"[{_HAN}]+|[^\W{_HAN}]+(?:['’][^\W{_HAN}]+)*")
_UNSPACED = frozenset(_CHINESE.split())
_UNSPACED_MAX = max(map(len, _UNSPACED))


def is_common(plain: str) -> bool:
    """Whether a text consists of a few common words, single letters or single Chinese characters.

    Args:
        plain: the text, in lower case.

    >>> is_common("to"), is_common("给我"), is_common("ada"), is_common("mail")
    (True, True, False, False)
    """
    if len(plain) > LENGTH_MAX:
        return False
    runs = _RUN.findall(plain)
    return len(runs) <= WORDS_MAX and all(map(_is_common_run, runs))


def _is_common_run(run: str) -> bool:
    if len(run) == 1:
        return not run.isdecimal()
    return run.replace("’", "'") in _SPACED or _is_of_unspaced(run)


def _is_of_unspaced(run: str) -> bool:
    """Whether a run can be cut into common words of a language without spaces. A regular expression would try all of
    the ways to cut it, which double with every second character.
    """
    ends = {0}
    for at in range(len(run)):
        if at in ends:
            ends |= {at + size for size in range(1, _UNSPACED_MAX + 1) if run[at : at + size] in _UNSPACED}
    return len(run) in ends
