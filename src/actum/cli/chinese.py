"""What the command line says, in Chinese: a table from the English text. See `language` for when it is used."""

from __future__ import annotations

import re

WORDS = {
    # approvals at the terminal
    "run it?  [y]es  [r] yes, for this run  [e]dit  [n]o  [l]ater: ": (
        "执行吗？  [y] 执行  [r] 本次运行内都执行  [e] 修改  [n] 拒绝  [l] 稍后："
    ),
    "run it?  [y]es  [r] yes, for this run  [e]dit  [n]o  [l]ater  [a]ll of it: ": (
        "执行吗？  [y] 执行  [r] 本次运行内都执行  [e] 修改  [n] 拒绝  [l] 稍后  [a] 显示全部："
    ),
    "r: yes, and {covers}. r NAME: the same, and NAME may differ": (
        "r：同意，本次运行中同样的调用也同意。r 参数名：同上，并且这个参数可以不同"
    ),
    "why not? (Enter for no reason): ": "为什么拒绝？（直接回车表示不说明）：",
    "NAME=VALUE, or Enter to leave it: ": "参数名=值，直接回车表示不修改：",
    "did it happen?  [y]es  [n]o  make it [a]gain  [u]nknown  [l]ater: ": (
        "它执行过了吗？  [y] 执行了  [n] 没有  [a] 再执行一次  [u] 不清楚  [l] 稍后："
    ),
    "approve?": "批准？",
    "asked": "提问",
    "yours": "待办",
    "in doubt": "存疑",
    "asks": "请求",
    "wants": "请求",
    "page": "网页",
    "host": "主机",
    " … and {count} characters more": " …… 还有 {count} 个字符",
    "This changes something outside the conversation.": "这个操作会改变对话之外的东西。",
    "The program was interrupted during this call. It may or may not have happened. Did it?": (
        "程序在这次调用期间中断了。它可能执行了，也可能没有。执行了吗？"
    ),
    "Enter takes what stands in brackets; ! declines, . puts it aside, end of input asks later.": (
        "回车采用方括号里的值；! 表示拒绝，. 表示取消，Ctrl-D 表示稍后再答。"
    ),
    "[y]es  [n]o  [l]ater: ": "[y] 同意  [n] 拒绝  [l] 稍后：",
    "open it yourself. Do you agree to go there?  [y]es  [n]o  [l]ater: ": (
        "请自己打开。同意访问这个网页吗？  [y] 同意  [n] 拒绝  [l] 稍后："
    ),
    "ask your model this?  [y]es  [n]o  [l]ater: ": "要拿这个去问你的模型吗？  [y] 同意  [n] 拒绝  [l] 稍后：",
    # run and chat
    "cancelled": "已取消",
    "The embedded model: rules, no language model. `actum doctor` says how to use a real one.": (
        "内置模型：只有规则，不是语言模型。`actum doctor` 会说明怎样使用真正的模型。"
    ),
    "The run waits. To go on:": "运行在等待。继续运行请输入：",
    "The run waited for this, and is lost: its journal was in memory. Name a file by --journal": (
        "运行在等待这一项，但它的记录只在内存里，已经丢失。请用 --journal 指定一个文件"
    ),
    "With the question: {files}": "随问题附上：{files}",
    "{name} (text, {size} bytes)": "{name}（文本，{size} 字节）",
    "{name} ({kind}, {size} bytes)": "{name}（{kind}，{size} 字节）",
    "Reading stdin to its end, for it belongs to the question. `< /dev/null` goes without.": (
        "正在读取标准输入，直到结束：它是问题的一部分。不需要时请加上 `< /dev/null`。"
    ),
    "Ctrl-D leaves": "按 Ctrl-D 离开",
    "{name} · {count} tools · /help for help, Ctrl-D to leave": "{name} · {count} 个工具 · /help 查看帮助，Ctrl-D 离开",
    "To go on with this conversation: {command}": "继续这次对话：{command}",
    "To go on with that turn first: {command}": "先继续那一轮：{command}",
    "Nobody knows whether this happened in the last turn: {names}.": "上一轮中的这些调用不清楚是否已经执行：{names}。",
    "a new conversation: {id}": "新的对话：{id}",
    "nothing was said yet": "还没有说过话",
    "list the tools; /tools NAME: those of this name": "列出工具；/tools 名称：只列出名称相符的",
    "the last turn as a tree; /trace RUN: another run; /trace on, /trace off: every step as it comes": (
        "用树显示上一轮；/trace 运行编号：显示另一次运行；/trace on、/trace off：是否随时显示每一步"
    ),
    "give a file along with what you say next: /attach picture.png": "给下一句话附上文件：/attach picture.png",
    "begin a new conversation": "开始新的对话",
    "have the model sum up what was said before; /compact 5 leaves 5 turns as they are": (
        "让模型总结之前的对话；/compact 5 表示保留最近 5 轮原样"
    ),
    "this list": "显示这个列表",
    "leave": "离开",
    "leave; so does Ctrl-D": "离开；Ctrl-D 也可以",
    "end this turn and keep the chat": "结束这一轮，对话继续",
    "begin a new line; so does Enter after a backslash": "另起一行；在反斜杠后按回车也可以",
    "complete a name": "补全名称",
}
"""Each text of the command line in Chinese."""


def _row(english: str, chinese: str) -> tuple[re.Pattern[str], str]:
    return re.compile(english, re.DOTALL), chinese


ERRORS = (
    _row(
        r"No such option: (\S+?)\.?( \((Possible|Did).*?\))?( \(--help tells more\))?",
        r"没有选项 \1（--help 查看帮助）",
    ),
    _row(r"No such command '(.*?)'\.( .*)?", r"没有命令“\1”（--help 查看帮助）"),
    _row(r"Missing argument '(.*)'\.( \(--help tells more\))?", r"缺少参数“\1”（--help 查看帮助）"),
    _row(r"Option '(.*)' requires an argument\.( \(--help tells more\))?", r"选项“\1”后面要有值（--help 查看帮助）"),
    _row(r'there is no question: (actum run ".*")', r"没有问题。用法：\1"),
    _row(r"there is no run '(.*)' in this journal: .*", r"记录里没有运行“\1”：`actum runs list` 列出所有运行"),
    _row(r"(\d+) runs begin with '(.*)': give more of the id", r"有 \1 次运行的编号以“\2”开头：请多写几位"),
    _row(r"there is no command (\S+); /help lists them", r"没有命令 \1；/help 列出所有命令"),
    _row(r"-a (.*): No such file or directory", r"-a \1：没有这个文件"),
    _row(r"-a (.*): Is a directory", r"-a \1：这是一个文件夹"),
    _row(r"-a (.*): Permission denied", r"-a \1：没有权限读取"),
    _row(r"-a (.*): the file is empty", r"-a \1：文件是空的"),
    _row(r"-a (.*): the file is larger than (\S+) bytes, which is the most", r"-a \1：文件超过了上限 \2 字节"),
    _row(r"stdin: more than (\S+) bytes came .*", r"标准输入超过了上限 \1 字节"),
    _row(r"the files are larger than (\S+) bytes together, which is the most", r"文件合计超过了上限 \1 字节"),
    _row(
        r"(.*): (\S+) bytes of text are too much for one question, which takes (\S+)\. .*",
        r"\1：\2 字节的文本太长，一个问题最多 \3 字节。请只给一部分，或者让工具去读文件",
    ),
    _row(r"/attach: name a file, as in /attach picture\.png", r"/attach：请写文件名，例如 /attach picture.png"),
    _row(r"'(.*)': write NAME=VALUE", r"“\1”：请写成 参数名=值"),
)
"""What goes wrong most often, in Chinese. Each row fits a whole message; a message that fits none stays English."""

HELP = {
    "What a language model says, done: any model, any tool, one call path, everything on record.": (
        "语言模型只会说，actum 让它说的事真正做成：任何模型、任何工具、同一条调用路径，全程留有记录。"
    ),
    'Try: actum run "What is 17 * 23, and what time is it in Tokyo?" -v': (
        '试试：actum run "东京现在几点？17 乘以 23 等于多少？" -v'
    ),
    "Print the version.": "显示版本。",
    "Install completion for the current shell.": "为当前 shell 安装补全。",
    "Show completion for the current shell, to copy it or customize the installation.": "显示当前 shell 的补全脚本。",
    "Answer a question with the help of tools.": "借助工具回答一个问题。",
    "What you want; - reads it from stdin. Otherwise a file may be piped in beside it.": (
        "想问的事；写 - 表示从标准输入读取。否则可以另外用管道附上一个文件。"
    ),
    "everyday, file.py, file.py:name, module:name, none, or mcp for a model that looks for the tools of MCP servers "
    "itself; may be repeated. Default: everyday.": (
        "everyday、file.py、file.py:名称、模块:名称、none，或者 mcp（由模型自己查找 MCP 服务器的工具）；可重复。"
        "默认 everyday。"
    ),
    "MCP servers: mine (those of `actum mcp`), a name, an address, a file of them, or none; may be repeated. "
    "Default: mine.": (
        "MCP 服务器：mine（`actum mcp` 里的）、名称、地址、列出服务器的文件，或者 none；可重复。默认 mine。"
    ),
    "How the model says a call; see `actum dialects`.": "模型表达调用的方式，见 `actum dialects`。",
    "Go on with the conversation of this id.": "继续这个编号的对话。",
    "Whose conversation it is, where it is not your own; '' for those of programs that name no principal.": (
        "这次对话属于谁（不是自己的时候）；'' 表示没有写明主体的程序的对话。"
    ),
    "For the users of this tenant, whom your server serves.": "给你的服务器所服务的这个租户的用户。",
    "Only what belongs to this tenant; '' for what belongs to none.": ("只看属于这个租户的；'' 表示不属于任何租户的。"),
    "Go on after this run, or after its record N; with a new --conversation, in a branch of its own.": (
        "接在这次运行之后，或者接在它的第 N 条记录之后；写一个新的 --conversation 就另开一个分支。"
    ),
    "The system prompt.": "系统提示词。",
    "Give a file along with the question, of any kind; may be repeated.": "随问题附上一个文件，任何类型都行；可重复。",
    "Show every step.": "显示每一步。",
    "Print JSON for programs, and nothing else.": "只输出供程序读取的 JSON。",
    "Approve every call that asks. Think first.": "批准所有需要批准的调用。请先想清楚。",
    "How much the run may use: steps=20, calls=50, seconds=60, tokens=100000, ...; `none` for no limit.": (
        "运行的限额：steps=20、calls=50、seconds=60、tokens=100000 等；`none` 表示不限。"
    ),
    "The record of runs: a file, postgresql://..., or `memory`. Default: ACTUM_JOURNAL.": (
        "运行记录的位置：文件、postgresql://……或 `memory`。默认取 ACTUM_JOURNAL。"
    ),
    "Who may call what; see `actum policy`. Default: ACTUM_POLICY, then actum.toml, then: side effects ask.": (
        "谁可以调用什么，见 `actum policy`。默认依次取 ACTUM_POLICY、actum.toml；都没有时，有副作用的调用要问人。"
    ),
    "Talk: what was said is kept in mind. A paste of several lines is one turn; from a pipe, each line is one.": (
        "对话：说过的话会记住。粘贴的多行文字算一轮；从管道读取时，每行算一轮。"
    ),
    'Call one tool by hand. For instance: actum call calculate expression="17 * 23"': (
        '手动调用一个工具。\n\n例如：actum call calculate expression="17 * 23"'
    ),
    "The tool; see `actum tools list`.": "工具，见 `actum tools list`。",
    "Its arguments.": "工具的参数。",
    "All arguments as one JSON object.": "把所有参数写成一个 JSON 对象。",
    "The run: its id, the beginning of it, or `last`.": "运行：编号、编号的开头，或者 `last`。",
    "Approve this call.": "批准这个调用。",
    "Deny this call.": "拒绝这个调用。",
    "Why it is denied; the model is told.": "拒绝的理由，会告诉模型。",
    "Answer this question or doubt.": "回答这个问题，或说明这个存疑的调用。",
    "Go on although prompt or tools have changed.": "即使提示词或工具变了也继续。",
    "Who called what, when, with what, why it was allowed, and what came back. A table to read; --json prints a line "
    "of JSON each, whole, --csv the same for a spreadsheet.": (
        "谁在什么时候用什么参数调用了什么，为什么允许，返回了什么。\n\n"
        "默认是便于阅读的表格；--json 每条输出一行完整的 JSON，--csv 供电子表格使用。"
    ),
    "From then on: 24h, 90d, 2026-11-01, 2026-11-01T12:30.": "从这时起：24h、90d、2026-11-01、2026-11-01T12:30。",
    "Before then.": "到这时为止。",
    "On whose behalf.": "代表谁。",
    "The tool, or a pattern: 'pay*'.": "工具，或者通配：'pay*'。",
    "List the ways a model can say a call.": "列出模型表达调用的各种方式。",
    "Say in one API what was said in another: a request, an answer or a stream, from stdin to stdout. For instance: "
    "actum transcode --from anthropic --to openai < request.json": (
        "把一种 API 的请求、回答或数据流转成另一种，从标准输入到标准输出。\n\n"
        "例如：actum transcode --from anthropic --to openai < request.json"
    ),
    "What is read. A name of `actum dialects`, or anthropic, functions, gemini, openai, responses.": (
        "输入的格式：`actum dialects` 里的名称，或者 anthropic、functions、gemini、openai、responses。"
    ),
    "What is written; likewise.": "输出的格式，写法相同。",
    "What it is, where that can't be seen.": "输入是什么（看不出来的时候）。",
    "A model's name to write instead.": "换成这个模型名。",
    "End with 1 if anything was lost.": "有内容丢失时以 1 结束。",
    "Tell losses as JSON, one a line, on stderr.": "在标准错误上用 JSON 列出丢失的内容，每行一条。",
    "Say what is set up here, and what is missing.": "说明这里设置了什么，还缺什么。",
    "Watch questions become calls and answers: no key, no network.": "看问题怎样变成调用和回答：不需要密钥，也不联网。",
    "What is on record: list runs, show one.": "运行记录：列出、查看。",
    "List the latest runs.": "列出最近的运行。",
    "How many, the newest first.": "列出多少条，最新的在前。",
    "Show a run as a tree: what was said, called, asked and answered, and when.": (
        "用树显示一次运行：说了、调用了、问了、答了什么，各在什么时候。"
    ),
    "Write a page to this file, with a waterfall of times; - prints it.": "写成带时间图的网页文件；- 表示直接输出。",
    "What waits for a person: list, show, approve, deny, edit.": "等待人处理的事项：列出、查看、批准、拒绝、修改。",
    "List what waits, the oldest first.": "列出等待处理的事项，最早的在前。",
    "Show what waits in full: each argument, and where it came from.": "完整显示一个事项：每个参数和它的来处。",
    "What waits: its id, or the beginning of it.": "事项：编号，或编号的开头。",
    "Approve a call, exactly as it was asked.": "原样批准一个调用。",
    "Also in later calls of this run; `show` tells which.": "也批准本次运行后面的调用；`show` 会说明是哪些。",
    "With --for-run: an argument that may differ. Can be repeated.": "与 --for-run 合用：可以不同的参数；可重复。",
    "Deny a call; the model is told, with your reason.": "拒绝一个调用；模型会得知，并看到理由。",
    "A word to the model.": "给模型的话。",
    "Approve a call with other arguments: they are judged anew by the policy, and the model is told.": (
        "换一组参数批准调用：策略会重新判断这些参数，模型也会得知。"
    ),
    "What to change; JSON, else a text.": "要改的内容；JSON，否则作为文本。",
    "Answer a question, fill in a form, hand in a result, or say what became of a call in doubt.": (
        "回答问题、填写表单、交回结果，或说明一个存疑的调用后来怎样了。"
    ),
    "The answer; for a call in doubt: done, not_done, retry or unknown; for a form its fields, or cancel.": (
        "回答；对存疑的调用写 done、not_done、retry 或 unknown；对表单写各字段，或者 cancel。"
    ),
    "Remind of what waits: post it to a webhook, once. Let cron call this as often as you like to be reminded.": (
        "提醒有事项在等待：向 webhook 发送一次。想多久提醒一次，就让 cron 多久调用一次。"
    ),
    "Where to post what waits, as JSON.": "把等待的事项以 JSON 发到这里。",
    "Only what has waited so long.": "只包括等了这么久的。",
    "List tools, show one, print its schema, check them.": "列出工具、查看一个、输出它的 schema、检查。",
    "List the tools, with what using them does.": "列出工具和使用它们的影响。",
    "Show one tool: what it does, what it takes, what using it does.": "显示一个工具：做什么、要什么参数、有什么影响。",
    "The tool's name.": "工具名。",
    "Print a tool's JSON Schema, or what a model is told of it in a dialect.": (
        "输出工具的 JSON Schema，或者某种方言里告诉模型的内容。"
    ),
    "As this dialect says it.": "用这种方言表达。",
    "Say what the tools' descriptions lack. Exit code 1 when something is.": "指出工具说明缺什么。有缺时退出码为 1。",
    "MCP servers: add, list, test, import, approve, login, remove. And serve: be one.": (
        "MCP 服务器：添加、列出、测试、导入、批准、登录、移除；serve 则自己作为服务器。"
    ),
    "List the servers: how they do, what they offer, what waits for approval.": (
        "列出服务器：状态、提供什么、哪些工具等待批准。"
    ),
    "Connect, and tell what the server is and offers. No tool of it is called.": (
        "连接服务器，说明它是什么、提供什么。不会调用它的工具。"
    ),
    "Look at what a server offers, as it says it, and agree to it. A local one is started for that, once you agree.": (
        "查看服务器自己声明的内容，并表示同意。本地服务器会在同意之后启动。"
    ),
    "Take a server out, and take its approvals back.": "移除服务器，并收回对它的批准。",
    "The server.": "服务器。",
    "The server, or a file of some.": "服务器，或列出服务器的文件。",
    "Try a policy on a call, and check it.": "用策略试判一个调用，并检查策略。",
    "What was said, turn by turn: list, show, branch off, sum up.": "一轮一轮的对话：列出、查看、分支、总结。",
    "List your conversations.": "列出自己的对话。",
    "How many, the latest first.": "列出多少条，最近的在前。",
    "Those of everybody.": "列出所有人的。",
    "Show a conversation as the model is told of it, and the runs that it is made of.": (
        "按模型看到的样子显示一次对话，以及组成它的各次运行。"
    ),
    "The conversation: its id, the beginning of it, or `last`.": "对话：编号、编号的开头，或者 `last`。",
    "Print the command that goes on from an earlier point, in a conversation of its own.": (
        "输出一条命令，从较早的某处另开一个对话继续。"
    ),
    "Have the model sum up what was said before; it is told the summary from here on. Nothing is deleted.": (
        "让模型总结之前的对话，以后只告诉它这份总结。什么也不会删除。"
    ),
    "Go on after this run, or after its record N.": "接在这次运行之后，或者接在它的第 N 条记录之后。",
    "The record itself: show, follow, export, verify, branch off, compare, forget.": (
        "记录本身：查看、跟踪、导出、校验、分支、比较、遗忘。"
    ),
    "Show where two runs first part, and what each came to.": "显示两次运行从哪里开始不同，各自结果如何。",
    "Show a run's records as they are stored: number, time, head of the chain, bytes.": (
        "按存储的样子显示一次运行的记录：序号、时间、链头、字节。"
    ),
    "Follow a run while another process drives it, until it ends, waits, or is interrupted.": (
        "跟踪另一个进程正在执行的运行，直到它结束、等待或中断。"
    ),
    "Do not ask.": "不再询问。",
    "Do not ask. Look first.": "不再询问。请先看清楚。",
    (
        "openai:gpt-5, ollama:qwen3, http://host/v1#name, embedded, or file.py:name of your own. "
        "Default: ACTUM_MODEL, then actum.toml, then your own settings, then embedded; see "
        "`actum models`."
    ): (
        "openai:gpt-5、ollama:qwen3、http://host/v1#name、embedded，或自己的 file.py:name。默认依"
        "次取 ACTUM_MODEL、actum.toml、您自己的设置、embedded；见 `actum models`。"
    ),
    "How random the answer is, from 0 on.": ("回答的随机程度，从 0 起。"),
    "How long an answer may be, in tokens.": ("回答最长多少个 token。"),
    "Choose only from the likeliest words, up to 1 for all.": ("只从最可能的词中选，1 表示全部。"),
    "For the same answer again, where it can be.": ("尽可能得到同样的回答。"),
    "A text at which the model stops; may be repeated.": ("模型遇到这段文字就停下；可以多次使用。"),
    "How long the model's endpoint may be silent. Default: 300.": ("模型的接口最多可以沉默多久。默认 300 秒。"),
    "A further HTTP header for the model's endpoint; may be repeated.": (
        "发给模型接口的另一个 HTTP 头；可以多次使用。"
    ),
    (
        "A further field of the request, in the words of the model's API; the value is JSON, or "
        "else a text. May be repeated."
    ): ("请求中的另一个字段，按模型接口的写法；值是 JSON，否则当作文字。可以多次使用。"),
    ("auto: where the conversation is too long for the model, leave out its beginning. Default: disabled."): (
        "auto：对话对模型来说太长时，略去开头。默认不略去。"
    ),
    (
        "Go on with a run that waits for a person. Also with one that was interrupted or whose "
        "model failed: what is on record is not done again. Give the --tools and the "
        "--instructions that it was started with."
    ): (
        "继续一个等待人工处理的运行。也可以继续中断的或模型出错的运行：已有记录的操作不会重做。请"
        "给出开始时的 --tools 和 --instructions。"
    ),
    "A name to keep beside your own. It counts where the journal is your own file.": (
        "记在您自己名字旁边的另一个名字。日志是您自己的文件时才算数。"
    ),
    "So many of the latest turns stay as they are. Default: 2, or none where all is too long.": (
        "最近的这么多轮保持原样。默认 2，全部太长时为 0。"
    ),
}
"""Texts of `--help` in Chinese, by the English text with single blanks."""
