"""The words by which `mood` tells an order from what is forbidden, taken back, past, imagined or to be drafted, in
English and Chinese.
"""

from __future__ import annotations

import re

from .text.words import keys_of


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_B, _E = r"(?<![\w@/-])", r"(?![\w@]|[./-]\w)"
"""Where a word begins and ends: `if.txt` has no `if` in it."""


def _word(*words: str) -> str:
    return rf"{_B}(?:{'|'.join(words)}){_E}"


_NT = r"(?:do|does|did|is|are|was|were|has|have|had|ca|could|wo|would|should|must|need|might|sha|ai)\s?n['’´`]?t|dnt"
_SUBJECT = r"(?:i|we|they|he|she|who|that|which|people|there|it|[a-z]+ (?:who|that))"
_SOFT = (
    r"(?:please|pls|just|but|and|so|then|or|also|now|actually|really|ok|okay|hey|no|wait|well|you|kindly"
    r"|for now|um|uh)"
)

SENTENCE_END = re.compile(r"(?<!\b[Nn]o)[.!?]+(?=[\s\"”’)]|$|[A-Z])|[。！？\n]+|…+|\.{2,}")
CUT = _pattern(
    r",(?!\s?\d)|[;:()，；：（）—–]|\s-+\s",
    _word("but", "and", "or", "nor", "so", "because", "since", "then", "yet(?= (?:do|don))"),
    "但是|但|可是|然后|所以|因为|而且|并且|不过",
)
JOINED = re.compile(r"\s*(?:and|or|nor|并|或|和)(?!\w)(?!\s*(?:please|instead|then|just|now)\b)", re.IGNORECASE)
"""What a part begins with that goes on with the part before."""

HARMLESS = _pattern(
    # English: orders and courtesies that have a negation or an `if` in them
    rf"{_B}(?:don['’]?t|dont|do\s?n['’]t|do not|never|not|mustn['’]t|must not|not to)\s+(?:you\s+|ever\s+)?"
    r"(?:forget|hesitate|fail|miss|neglect|omit|worry|panic|be (?:afraid|shy|scared)|delay|hold back"
    r"|ask(?: me| again| questions| why)?(?=\W*$|\W+(?:just|for))|mind(?= \w+ing| if|\W*$)|stop(?= \w+ing))\b",
    r"\bwhy (?:don['’]?t|not|can['’]?t|couldn['’]?t) ?(?:you|we|i)?\b",
    r"^\W*(?:can|could|wo|would)n?['’]t you\b",
    r"\b(?:not only|not just|no (?:problem|worries|matter|doubt|hurry|rush|longer|more|later|less|fewer|earlier"
    r"|sooner)"
    r"|not (?:a problem|later|more|less|earlier|bad)|nothing (?:but|else|special)|or not)\b|\bno\.(?= ?\S)"
    r"|\bno(?= ?\d)",
    r"\bif (?:at all |that['’]s |that is |it['’]?s |it is |it isn['’]t |it is not |it['’]s not )?(?:at all )?"
    r"(?:possible|ok|okay|all right|alright|fine|convenient|no trouble|no bother|(?:not )?too (?:much|late)[^,]*|any"
    r"|need(?:ed)?(?: be)?|necessary|available|there (?:is|are) (?:any|some|one))\b",
    r"\bif (?:you|u) (?:can|could|may|would|like|want|please|wish|don['’]?t mind|do not mind|wouldn['’]t mind"
    r"|will|have (?:(?:a |the |some )?(?:time|moment|minute|chance)|it|one|any|them|some)|get (?:a "
    r"|the )?chance|are able|['’]d be so kind)\b",
    r"\bif i may\b|\beven if\b|\bas if\b",
    r"\b(?:grateful|glad|great|nice|appreciate(?: it)?|lovely|wonderful|helpful|happy|love it|good|cool|kind"
    r"|wondering)"
    r" if (?:you|we|u)\b",
    r"\b(?:i|we) ha(?:ve|d)(?: not|n['’]t) (?!decided|agreed|approved|confirmed|allowed|asked|said)(?:\w+ed"
    r"|paid|sent|bought|made|done)\b",
    r"\b(?:it|they|this|that)(?:['’]s| is| are| has| have)(?: not|n['’]t) (?:been )?(?:\w+ed|paid|sent|bought"
    r"|made|done) yet\b",
    r"\bask(?:ing|s)? (?:\w+ ){0,3}(?:if|whether)\b",
    r"\b(?:let me know|tell me|see|check|know|find out|verify|determine|test) (?:if|whether)"
    r"(?= (?:it|there|that|this|these|those|they|he|she|the|any|an?|two)(?:['’]s)?\b)",
    r"\b(?:i|we) (?:really |also |still )?(?:don['’]?t|do not|can['’]?t|cannot|didn['’]?t|did not) (?:really |even )?"
    r"(?:care|have|know(?! (?:if|whether|that|why))|remember|mind|speak|drive|smoke|drink|own|eat)\b",
    r"\b(?:when|whenever|once) (?:you|u) (?:can|have|get|are ready|find)\b",
    # Chinese
    r"别让我忘|(?:千万|可)?(?:别|不要|勿|不能|不可)(?:再)?(?:忘|忘记|忘了|犹豫|客气|担心|介意|着急|急|错过|耽误|问)",
    r"不用(?:担心|客气|谢|着急|急|问)|(?:特|级|性|区|分|告|个|类|识|离|辨|差|鉴|国|派|席|餐)别|别(?:人|的|墅|处"
    r"|针|致|名|称|扭|样)",
    r"出没|淹没|沉没|埋没|没收|(?<=\w)不[？?。\s]*$|不着急|不急",
    r"不好意思|不客气|没问题|没关系|没事|不错|不仅|不但|不只|不管|不论|无论|不久|不得不|差不多|不多不少|不少于"
    r"|不超过|不低于"
    r"|不晚于|不早于|不迟于|不多于|不如(?=直接|就|把|删|发|订)|要不然",
    r"能不能|可不可以|可以不可以|行不行|好不好|方便不方便|肯不肯|愿不愿意",
    r"(?:如果|要是|若|若是)?(?:您|你)?(?:可以|方便|有空|有时间|不麻烦|没问题|能行|行)的话"
    r"|如果(?:您|你)?(?:可以|方便|有空|有时间|不麻烦|没问题|不介意|愿意|行)",
    r"(?:能|可以|帮我|请)[^，。？]{0,30}了吗",
)
"""What only looks like an objection."""

NEGATION = _pattern(
    _word(
        _NT, "dont", "not", "never", "no", "none", "nobody", "nothing", "neither", "nor", "cannot", "without", "refrain"
    ),
    _word(
        "avoid(?:ing)?", "instead of", "rather than", "(?:am|are|is|['’]m|advise) against", "hold(?:ing)? off", "hardly"
    ),
    _word(
        "prevent(?:ing|ed)?", "forbid(?:den)?", "prohibit(?:ed|ing)?", "leave out", "skip(?:ping)?", "refus(?:e|ing)"
    ),
    r"别|不|没|勿|甭|毋|无需|无须|禁止|严禁|避免|切忌|拒绝",
)
"""What speaks against a call where it stands before the word for what the tool does."""

UNWANTED = _pattern(
    rf"\b(?:{_NT}|dont|do not|not|never) (?:want|wish|like|plan|intend|mean|dare|ask|asking|let|allow|think"
    rf"|agree|ready|sure|going)\b",
    r"不(?:想|愿|打算|准备|同意|能|可|该|应)|没(?:有)?(?:让|叫|要求|打算|同意)",
)
"""What says that something is not wanted, though it is no prohibition."""

FORBIDS = _pattern(
    r"^\W*not (?:yet|now|today)\W*$",
    rf"^\W*(?:{_SOFT}\W+)*(?:don['’´`]?t|dont|do\s?n['’]t|do not|never|not(?= to\b| yet| now| today|\W*$)"
    rf"|mustn['’]t|must not|no(?= (?:\w+ing|need|way))){_E}",
    r"\byou (?:must|should|shall|may|can|need|will|are)\s?(?:n['’]t|not)\b(?!.*\?)",
    r"\b(?:don['’]?t|do not|never)(?=\W*$| (?:\w+ )?(?:it|that|this|them|so|yet)\b)",
    r"(?:千万|可|先|都|也|就|请|暂时|还是|但)?(?:别|不要|不用|不必|不许|不准|不得|不可|不应|不该|不能|请勿|勿"
    r"|甭|无需|无须|禁止)",
    r"(?:先|还是|就|暂时|都|也)不(?!是|在|会|知)|我不(?=\W*$|[发删订转买做寄付想要])|^\W*不(?:\w了|发|删|订|转"
    r"|买|做|寄|付|要)?了?\W*$",
)
"""A prohibition; of a call where it points at one."""

UNLIKE = re.compile(r"^(?:no|not|none|never|without)\b|[不无免]", re.IGNORECASE)
"""A value that holds a negation itself."""

NO_MORE = re.compile(r"^\s*(?:no|nothing|none|nobody|neither)\b(?! later| more| less)|^\s*不得", re.IGNORECASE)
POINTS = _pattern(
    r"(?:n['’]?t|not|never|no) (?:you )?(?:\w+ )?(?:it|that|this|them|those|so|one|yet|dare|either|any of)\b",
    r"(?:n['’]?t|not|never) (?:you )?(?:do|send|make|execute|run|change|touch|start|carry out|go|act)"
    r"(?: (?:it|that|this|so|yet|now|off|out|ahead|anything|through))*\W*$",
    r"(?:别|不要|不用|不必|勿|不)(?:再|急着|马上|真的?)?(?:做|动|执行|发|删|订|转|买|付|去)?(?:它|这|那|了|吧"
    r"|出去|掉|这个|那个|任何东西)*\W*$",
)
"""What points at a call."""

RELATED = re.compile(
    rf"\b(?:that|which|who|whose|where|because|as|{_SUBJECT})\s+(?:\w+\s+){{0,2}}?(?:{_NT}|do not|does not"
    rf"|did not|not|never)\b",
    re.IGNORECASE,
)
"""A negation that tells something and forbids nothing: `files that do not end in .txt`, `I don't like him`."""

CONTRAST = _pattern(
    rf"{_B}(?:not|never|except(?: for)?|apart from|instead of|rather than|other than|excluding|unlike|leave out"
    rf"|don['’]?t"
    r"|do not)\s+(?:(?:to|the|an?|my|on|in|for|at|with|file|folder|room|number)\s+){0,3}[\"“'‘]?$",
    r"(?:不是|而不是|除了|不要|别|而非|不用|不包括)\s*[“\"]?$",
)
"""What stands before a value that is not meant."""

CALLED_OFF = _pattern(
    _word(
        r"never\s?mind(?=\W*$|[,.;!]| that| it| about| then| all)",
        r"forget (?:it|that|this|about|what|the whole|everything)",
        r"(?:scratch|strike|scrap|skip|ignore|disregard|cancel|stop|drop|abort|undo|belay) (?:it|that|this|what)",
        r"(?:no|oh|actually|hmm|hm|sorry|and|but)\W+wait",
        r"wait (?:a|one|just a)? ?(?:minute|second|sec|moment|tick)",
        r"(?:hold|hang) (?:on|it|off)(?! to)",
        r"(?:on|upon|at) second thoughts?",
        r"(?:changed|change|changing) (?:my|our) minds?",
        r"change of plans?",
        r"call(?:ing)? (?:it|that|this|the \w+)? ?off",
        r"leave (?:it|that|this|them)(?: alone| be| as| where|(?=\W*$))",
        r"take (?:it|that|this) back",
        r"(?:was|is|made) (?:a|my) mistake|my mistake|by mistake|i didn['’]?t mean|i did not mean|was wrong"
        r"|just kidding|joking",
        r"(?:better|rather) not|i['’]d rather not|(?:absolutely|certainly|definitely|of course|maybe|probably"
        r"|surely) not",
        r"no way|no thanks|no thank you|nope|nah|i don['’]?t want (?:that|it|this)|i don['’]?t want to(?=\W*$)",
        r"(?:i|we) (?:refused|declined|said no)|too late|hold your horses|stand down|put (?:it|that) on hold",
    ),
    r"^\W*(?:stop|cancel|abort|halt|undo|wait|don['’]?t|do not)\W*$",
    r"^\W*no(?=\W*$|\.\s)|^\W*(?:(?:but|and|please|maybe|just)\W+)*not (?:yet|now|today|any ?more)\b",
    r"算了|等一等|等等|等一下|慢着|且慢|罢了|作罢|当我没说|改主意|改变主意|后悔|还是不|不用了|不要了|不必了"
    r"|取消吧|不(?:删|发|订|转|买|做|寄|付)了"
    r"|收回(?:刚才)?的?话|搞错了|说错了|弄错了|开玩笑",
)
"""What takes back what was said before."""

NO_ANSWER = _pattern(
    r"^\W*(?:(?:please|oh|um|uh|well|actually|sorry|just|maybe|perhaps|no|hm+)\W+)*(?:no|none|not|nothing"
    r"|nobody|nope|nah|skip|later|wait|quit|exit|stop|cancel|abort"
    r"|end|don['’]?t|do not|forget|leave|let['’]?s not|rather not|better not|why|what|huh|who"
    r"|how)\b(?!\W+\w+\W+\w+\W+\w+)",
    r"\b(?:send|book|do|write|delete|pay|say) (?:it|that|this|them|anything|nothing|the (?:message|mail|email))\b",
    r"^\W*(?:不|别|没|无|算|取消|停|以后|晚点|等|先|什么|为什么|怎么)",
    r"(?:发|删|订|转|买|做)(?:了|它|吧)\W*$|以后再说",
)
"""An answer that is none: the user would rather not go on, or asks back."""

CALLS_OFF = _pattern(
    _word(
        r"cancel(?:l?ing|l?ed)?",
        "call(?:ing)? off",
        r"abort(?:ing)?",
        r"undo(?:ing)?",
        r"revok(?:e|ing)",
        r"withdraw(?:ing)?",
        r"retract(?:ing)?",
        r"revert(?:ing)?",
        r"unsend(?:ing)?",
        r"recall(?:ing)?",
        r"revers(?:e|ing)",
        r"stop(?:ping)?",
        r"halt(?:ing)?",
        r"quit(?:ting)?",
        r"ceas(?:e|ing)",
        r"suspend(?:ing)?",
        r"postpon(?:e|ing)",
    ),
    "取消|撤销|撤回|撤消|中止|终止|停止|作废|别再|暂停|推迟(?=给|发|删|订|转|预)",
)
"""Verbs that end something: an order to a tool that does that, and to no other."""

REASON = _pattern(
    r"\b(?:changed (?:my|our) minds?|mistake|too late|was wrong|don['’]?t want|didn['’]?t mean)\b|后悔|改主意"
    r"|改变主意|不要了|不用了|搞错|弄错",
)
"""What takes back an order, and is the very reason for cancelling or returning something."""

TAKES_BACK = keys_of(
    "cancel refund return unsubscribe revoke terminate undo withdraw exchange 取消 退货 退款 退订 换货 退换货"
)

REMOVES = keys_of(
    "delete remove refund drop clear unsubscribe end close terminate revoke stop decline reject undo revert cancel"
    " disable 删除 取消"
)

CONDITION = _pattern(
    _word("if", "unless", "in case", "providing that", r"assuming(?! the \w+ is)"),
    r"\b(?:suppos(?:e|ing)|imagin(?:e|ing))\b(?= (?:that|you|i|we|he|she|they|it|the|\w+ing|[a-z]+ (?:is|has"
    r"|comes|says|agrees))\b)",
    _word(
        "hypothetically",
        "as long as",
        "as soon as",
        "in the event",
        "on condition",
        "only (?:when|once|after)",
        "depending on",
    ),
    _word("until", "till")
    + r"(?= (?:i|you|we|he|she|ada|they|\w+ (?:say|tell|agree|confirm|approve|come|is|are|has|have))s?\b)",
    r"^\W*(?:(?:please|but|so|and)\W+)*(?:once|when|whenever|were) (?:i|you|he|she|we|they|some\w+|every\w+"
    r"|it (?:rains|snows|gets|starts|stops|becomes)|\w+ (?:agrees|says|confirms|approves|comes|arrives|replies"
    r"|calls|asks|wants|pays|leaves))\b",
    r"\bprovided (?:that|you|he|she|it|they|we|i|\w+ (?:is|are|has|have|agrees?|says?|pays?|wants?|comes?))\b",
    r"^\W*should (?!i\b|we\b|you\b)\w+ \w+",
    "如果|要是|假如|假设|假使|倘若|若是|万一|除非|只要|只有|一旦|的话|等[^，。]{0,10}(?:再|以后|之后|后)",
)
"""What a call depends on."""

IMAGINED = (
    _pattern(
        r"\b(?:what|how|where|which|why)\b[^?]{0,60}\b(?:would|could|might|happens?|happen)\b",
        r"\bwhat (?:does|do|is|are) [^?]{0,40}\b(?:do|mean|consequences)\b",
        r"\b(?:how|where) (?:do|does|can|could|would|should|to|may|might)\b(?! you do\b)",
        r"\b(?:should|shall|ought) (?:i|we|one|you|he|she|they|it|the)\b|\b(?:if|whether) (?:i|we|to)\b",
        r"\b(?:am i|are we) (?:allowed|able|supposed)\b|\bwould you (?:ever|recommend|advise|suggest)\b",
        r"\b(?:explain|describe|wonder(?:ing)?|tell me) "
        r"(?:how(?! (?:long|much|many|far|often|old|big|high|fast))|what|why|whether)\b",
        r"\b(?:i|we) (?:might|may|plan to|am thinking|are thinking|was thinking|think about|consider(?:ing)?)\b",
    ),
    _pattern(
        r"怎么样[？?]?$|该不该|要不要|是否(?:应该|要|可以)|应该[^，。]*吗|怎么(?!了|样)|如何|怎样",
    ),
)
"""What is only thought of."""

RISK = _pattern(
    r"\b(?:would|is|was|could|might|isn['’]t|wouldn['’]t) (?:it|that|this|there)\b[^?]{0,20}\b(?:be |a )?(?:ok"
    r"|okay|safe|wise|good|bad"
    r"|idea|risky|dangerous|allowed|smart|sensible|advisable|harm|matter|better|reason|way|sense)\b",
    r"会怎么样|会怎样|会发生|后果|会不会|安全吗|合适吗|有(?:什么)?(?:风险|影响|问题吗)",
)
"""What asks whether a call would be a good idea, wherever it stands in the sentence."""

TAG = _pattern(
    r"^\W*(?:(?:do|did|have|has|had|is|are|was|were)(?:n['’]t)? (?:you|i|it|we|they|he|she)|right|correct|true)\W*$",
    r"^\W*(?:对[吧吗么]|是[吧吗么]|是不是|对不对|没错吧)\W*$",
)
"""What makes a question of what was told: `..., didn't you?`"""

_GOOD = (
    r"(?:(?:very|really|so|much|most|absolutely|also|now|just|high|about) )*(?:great|nice|good|lovely|kind|wonderful"
    r"|fantastic|awesome|perfect|ideal|excellent|cool|fine|ok|okay|best|better|helpful|useful|handy|convenient|time"
    r"|necessary|important|urgent|essential|vital|crucial|imperative|safe|up to you|your)\b"
)
_IS = (
    r"(?:['’]s|['’]d| is| was| seems| would| might| could| may| will)(?:n['’]t)?"
    rf" (?!(?:not |be |have been )*{_GOOD})"
)
JUDGED = _pattern(
    rf"\b(?:it|that|this){_IS}[\w’' ]+ to \w+$",
    r"\b(?:i|we)(?:['’](?:m|re|d be)| am| are| was| were| would be) (?:\w+ )?(?:sorry|sad|afraid|scared|unable"
    r"|unwilling|reluctant|about|going|tempted|ashamed|close)(?: to \w+| \w*ing| of \w+)$",
    r"\b(?:regret(?:s|ted)?|hate[sd]?|fear(?:s|ed)?|hesitated?|refused?|refuses|declined?|declines|failed|tried|forgot"
    r"|almost|nearly|avoided|stopped|meant|intended|planned)(?: to)? \w+$",
)
"""What judges a call before the word for what the tool does, or tells that the call was not made."""

JUDGED_AFTER = _pattern(
    rf"^\W*(?:to \w+|\w+ing)\b.*?\w{_IS}\w",
    r"是不对|不对的|是错|错误的|不合适|不应该|不妥|不明智|危险|可惜",
)
"""What judges a call behind the word for what the tool does: `deleting it would be a mistake`."""

_ORDERED = "(?:asked|told|ordered|begged|forced|wanted|advised|urged|reminded|instructed|requested|invited|expected)"
REPORTED = _pattern(
    rf"\b(?:{_ORDERED}|asks|tells|orders|wants) (?!you\b)(?:\w+ ){{1,2}}?to \w+$",
    r"\b(?:made|had|let|helped|saw) (?:me|us|him|her|them) \w+$",
    rf"(?<!\byou )\b(?:am|is|are|was|were|been|got|['’]m) (?:\w+ly |just )*(?:{_ORDERED}|supposed|required) to \w+$",
    r"(?<!\bi )(?<!\byou )\b(?:said|says|suggest(?:s|ed)|recommend(?:s|ed)|propose[sd]|insist(?:s|ed)|demand(?:s|ed)"
    r"|thinks|thought)\b.* \w+$",
    r"(?:让|要求|命令|劝|吩咐)我|(?:他们?|她们?|老板|经理|同事|客户|妈|爸|老师)[^，。？]{0,4}(?:叫|要|请|建议|求)我",
)
"""What tells of somebody else's order, up to the word for what the tool does."""

_COURTESY = (
    r"^\W*(?:(?:so|and|but|hey|hi|hello|ok|okay|well|please|can you tell me|could you tell me|tell me"
    r"|do you know|i wonder|wait|by the way|yes|sorry)\W+)*"
)
ASKED_ABOUT = (
    _pattern(
        _COURTESY
        + r"(?:did|was|were|has|had|didn['’]t|wasn['’]t|weren['’]t|hasn['’]t|haven['’]t|hadn['’]t)\b(?! better)",
        _COURTESY + r"have (?:you|we|they|i|the \w+ been|any|some|all|both|[a-z]+(?:body|one)|[a-z]+ and)\b",
        _COURTESY
        + r"(?:who|whom|whose|what|which|where|when|why|how)\b[^?]{0,60}?\b(?:did|was|were|has|have|had|been|got)\b",
        _COURTESY + r"who(?:ever)? \w+(?:ed|nt|ve|ught|ote|oke|ook|ade)\b",
    ),
    _pattern(
        r"谁[^，。？]{0,20}[了过的]|是谁|谁(?=[^，。？]{0,4}(?:删|发|订|转|取消|改|写|买))|为什么|为何|什么时候"
        r"|何时|有没有|是不是|是否(?:已|有)",
        r"[了过](?:吗|没|没有|么)[？?\s]*$",
    ),
)
"""What asks about a call that was made."""

WAS_MADE = _pattern(
    r"\b(?:was|were|been|got|being|had|has|have|['’]ve) (?:already |just |ever |been )*(?:\w+ed|sent|paid"
    r"|bought|made|put|written)\b",
    r"\b(?:already|yesterday|last (?:week|month|year|night|time)|\d+ (?:days?|weeks?|hours?|minutes?) ago"
    r"|earlier today)\b(?=[^?]*\?)",
    r"已经|曾经|(?:删|发|订|转|寄|买|付|写)过",
    r"(?:刚才|刚刚|昨天|前天|上周|上次|上个月|去年|之前|早上|昨晚)[^，。？]*(?:[了过]|的[？?\s]*$)",
)
"""What tells of a call that was made."""

DONE_BEFORE = re.compile(
    r"(?:删|发|订|转|寄|买|付|写)过|(?:删|发|订|转|寄|买|付)了(?:吗|没)|谁(?:删|发|订|转|寄|买|付)|有没有[^，。？]*过"
)
"""What asks for a call that was made, in words that hold for any tool."""

WANTED_DONE = re.compile(
    r"\b(?:want|need|like|get|have|please|wish|prefer|see|love|needs|wants|if you|require)\b", re.IGNORECASE
)
"""What makes an order of a word in the past: `I want report.txt deleted`."""

PAST_FORM = re.compile(r"[A-Za-z]+ed", re.IGNORECASE)
IRREGULAR = {
    "began": "begin",
    "bought": "buy",
    "drew": "draw",
    "drove": "drive",
    "froze": "freeze",
    "frozen": "freeze",
    "gave": "give",
    "given": "give",
    "left": "leave",
    "lent": "lend",
    "lost": "lose",
    "made": "make",
    "paid": "pay",
    "ran": "run",
    "rang": "ring",
    "sent": "send",
    "sold": "sell",
    "spent": "spend",
    "spoke": "speak",
    "taken": "take",
    "threw": "throw",
    "thrown": "throw",
    "told": "tell",
    "took": "take",
    "went": "go",
    "withdrew": "withdraw",
    "woke": "wake",
    "written": "write",
    "wrote": "write",
}
"""Words in the past that no ending tells of, and their present."""

_THEN = r"(?:just|already|now|once|ever|never|also|recently|\w+ly)"
TOLD_DONE = _pattern(
    rf"(?:\b(?:have|had|has)|['’]ve)(?: {_THEN})* (?:\w+ed|{'|'.join(IRREGULAR)})$",
    rf"\b(?:i|we|he|she|they)(?: {_THEN})* (?:\w+ed|{'|'.join(IRREGULAR)})$",
)
"""What tells, up to the word for what the tool does, that somebody did that."""

DRAFTS = _pattern(
    _word(
        "draft(?:ing|ed)?",
        "outlin(?:e|ing)",
        "sketch(?:ing)?",
        "mock[- ]?up",
        "preview",
        "prepar(?:e|ing)",
        "proofread",
    ),
    "草稿|起草|草拟|拟[一个写定封份]|预览",
)
"""Words for a draft: an order to a tool that has such a word itself, and to no other."""

LOOK_FIRST = (
    _pattern(
        r"\bdry[- ]run\b",
        r"\bbefore (?:you|it|i|we|that|anything) (?:actually )?(?:sends?|is|are|deletes?|books?|pays?"
        r"|transfers?|goes|go|do|does|runs?|submits?|executes?)\b",
        r"\bbefore (?:sending|deleting|booking|paying|executing|running|doing|submitting|saving"
        r"|transferring) (?:it|that|this|anything)\b",
        r"\bi(?:['’]ll| will| want to| am going to|['’]d like to) (?:first )?(?:confirm|check|review|approve"
        r"|decide|(?:send|do|book|pay|submit|delete) (?:it|them|that))\b",
        r"\blet me (?:first )?(?:see|check|review|look|read|confirm|approve|think)(?=\W*$| (?:it|that|this"
        r"|first|about|the (?:draft|text|message|mail|email|e-mail|letter))\b)|\bwould look like\b|\blooks? like\b",
        r"\bwithout (?:sending|deleting|booking|paying|executing|running|doing|submitting|saving|transferring)\b",
    ),
    _pattern(r"先让我|让我先|之前(?:先)?让我|给我(?:先)?看|我自己(?:来)?[发做订]|等我确认|待我确认|我再确认|先写好"),
)
"""What wants to see a thing before it is done."""

HANDS_ON = _pattern(
    r"(?:\b(?:say|says|saying|said|reads?|reading|that|asks?|asking|about|text|message|body|subject|content"
    r"|note|words|titled|called|named|reminder)"
    r"|\b(?:tell|remind|warn|inform|notify|message|text|email|mail|let|advise|ask|write"
    r"|send)(?:ing)?(?: (?!you\b)\w+)?(?: at \S+)?(?: (?:am|pm))?)"
    r"(?:\s+(?:that|to|if|whether|know|him|her|them|me|is|are))*\s*[\"“'‘:：,]?\s*$",
    r"(?:说|告诉|通知|问|提醒|转告|回复|内容(?:是|为)?|写着?|消息|短信|[:：])[^，。]{0,12}[\"“「]?\s*$",
)
"""What stands before a text that is handed on to somebody."""

QUESTION = re.compile(
    r"(?:^|[,;:]|\band\b|\bknow\b)\W*(?:(?:so|but|then|also|please|hi|hello|tell me|i want to know|can you|could you"
    r"|i (?:want|need|would like) (?:you )?to|help me(?: to)?)\W+)*"
    r"(?:what|how(?! about)|which|who|where|when|why|will|is|are|does|calculate|compute|determine|estimate|predict"
    r"|evaluate|work out|figure out)\b"
    r"|^(?!.*(?:能|可以|可不可以|帮)).*(?:多少|几|吗|呢|什么|怎么)",
    re.IGNORECASE,
)
"""A sentence that asks for something to be found out."""

MEASURES = re.compile(
    r"\bwhat (?:would|could|might|will) (?:be|the)\b"
    r"|\bhow (?:much|many|long|far|high|fast|big|old)\b[^?]{0,60}\b(?:would|could|might)\b",
    re.IGNORECASE,
)
"""A question for a number, which is only imagined where it is known that the tool changes something."""

ON_CONDITION = keys_of("alert condition trigger threshold automation 预警 条件 阈值 规则 rule")
"""Terms of tools that take a condition themselves."""

TEXT_BEGINS = re.compile(
    r"\b(?:saying|says|reading|with the (?:text|message|body|words))\b|(?<!不)说|内容[是为]?|[:：]", re.IGNORECASE
)
"""Where a text begins that is handed on to somebody, though the model could not tell where it ends."""

LOOKS = re.compile(
    r"\s*(?:gets?|browses?|explores?|fetch(?:es)?|finds?|search(?:es)?|quer(?:y|ies)|looks?|lookup|retrieves?"
    r"|lists?|shows?|checks?|calculates?|calc|computes?"
    r"|converts?|estimates?|evaluates?|determines?|analy[sz]es?|compares?|counts?|describes?|identif(?:y|ies)"
    r"|predicts?|solves?|translates?"
    r"|measures?|views?|displays?|returns?|gives?|tells?|provides?|reads?|recommends?|suggests?|classif(?:y"
    r"|ies)|validates?|verif(?:y|ies)"
    r"|simulates?|forecasts?|projects?|derives?|integrates?|approximates?|assess(?:es)?|quantif(?:y|ies)|sums?"
    r"|averages?|simplif(?:y|ies)"
    r"|factors?|sorts?|clusters?|filters?|optimi[sz]es?|inspects?|obtains?|collects?|gathers?|discovers?"
    r"|investigates?|examines?"
    r"|monitors?|tracks?|reviews?|tests?|sees?|locates?|lookups?|selects?|answers?"
    r"|explains?|summari[sz]es?|detects?|extracts?|parses?|ranks?|finding|calculating|the|an?|latest|current"
    r"|information|details)\b"
    r"|\s*(?:查|获取|搜索|搜|计算|换算|翻译|读取|列出|检索|显示|统计|分析)",
    re.IGNORECASE,
)
"""How the name or the description of a tool begins that tells something."""

TELLS = re.compile(
    r"\s*(?:how|what|which|whether|where|when|number|area|distance|value|price|average|total|probability|ratio|percentage"
    r"|volume|speed|time|weather|status)\b",
    re.IGNORECASE,
)
"""How else the description of such a tool begins."""
