"""What the command line says, in Chinese: a table from the English text. See `language` for when it is used."""

from __future__ import annotations

WORDS = {
    # approvals at the terminal
    "run it?  [y]es  [r] yes, for this run  [e]dit  [n]o  [l]ater: ": (
        "执行吗？  [y] 执行  [r] 本次运行内都执行  [e] 修改  [n] 拒绝  [l] 稍后："
    ),
    "run it?  [y]es  [r] yes, for this run  [e]dit  [n]o  [l]ater  [a]ll of it: ": (
        "执行吗？  [y] 执行  [r] 本次运行内都执行  [e] 修改  [n] 拒绝  [l] 稍后  [a] 显示全部："
    ),
    "r: yes, and {covers}. r NAME: the same, and NAME may differ": (
        "r：同意，{covers}。r 参数名：同上，并且这个参数可以不同"
    ),
    "with --for-run: {covers}": "用 --for-run 时：{covers}",
    "It holds {covers}.": "已批准：{covers}。",
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
    "Enter takes what stands in brackets; ! declines, . puts it aside, end of input asks later.": (
        "回车采用方括号里的值；! 表示拒绝，. 表示取消，Ctrl-D 表示稍后再答。"
    ),
    "[y]es  [n]o  [l]ater: ": "[y] 同意  [n] 拒绝  [l] 稍后：",
    "open it yourself. Do you agree to go there?  [y]es  [n]o  [l]ater: ": (
        "请自己打开。同意访问这个网页吗？  [y] 同意  [n] 拒绝  [l] 稍后："
    ),
    "ask your model this?  [y]es  [n]o  [l]ater: ": "要拿这个去问您的模型吗？  [y] 同意  [n] 拒绝  [l] 稍后：",
    # keys
    "Clients show this key as `Authorization: Bearer KEY`. It is not shown again:": (
        "客户端用 `Authorization: Bearer 密钥` 出示这个密钥。它不会再次显示："
    ),
    "Others than this machine reach this server: here is a key for you, as `actum keys add` makes.": (
        "本机以外的程序可以访问这个服务器：这是给您的密钥，与 `actum keys add` 创建的一样。"
    ),
    "There are no keys yet. Try: actum keys add ci": "还没有密钥。试试：actum keys add ci",
    "The key {name} is revoked.": "密钥 {name} 已吊销。",
    "The key {name} had been revoked before.": "密钥 {name} 之前就已吊销。",
    "This is the first key of this journal: within a second its servers want a key of every request, also from this "
    "machine. That stays so when all keys are revoked.": (
        "这是此日志的第一个密钥：一秒之内，它的服务器会要求每个请求都带密钥，来自本机的请求也一样。所有密钥都吊销后仍然如此。"
    ),
    "No key is valid any more: servers let nobody in by a key until `actum keys add NAME` has made one.": (
        "已没有有效的密钥：在用 `actum keys add NAME` 新建密钥之前，服务器不会再凭密钥放行任何人。"
    ),
    # APIs
    "These are many tools for one prompt: choose with --only.": "对一个提示词来说工具太多：请用 --only 选择。",
    "Added. Use it with --tools openapi:{name}": "已添加。使用方法：--tools openapi:{name}",
    "Nothing here could be tools.": "这里没有可作工具的东西。",
    "There is an API {name} already; it stays as it is.": "已有名为 {name} 的 API；保持不变。",
    "Added to {path}: {places}": "已写入 {path}：{places}",
    "tokens, whole": "词元（完整）",
    "tokens, as told": "词元（告知）",
    "Each user logs in: actum tools login {name}": "每个用户自己登录：actum tools login {name}",
    "{user} is logged in at {site}.": "{user} 已登录 {site}。",
    "{user} was not logged in at {name}.": "{user} 没有登录 {name}。",
    "Its issuer could not be told: the token holds there until its end.": "无法通知签发方：令牌在那里到期前一直有效。",
    "{user} is logged out of {name}.": "{user} 已退出 {name}。",
    "The model is offered a search among these tools: see --only and --all.": "模型得到的是搜索：见 --only 与 --all。",
    "Added. Use it with --tools http:{name}": "已添加。使用方法：--tools http:{name}",
    "Set its credential: actum secrets set {name}": "请设置它的凭据：actum secrets set {name}",
    "Nothing has changed.": "没有变化。",
    "The API {name} is removed.": "API {name} 已移除。",
    "There is no API {name}.": "没有 API {name}。",
    "{count}, about {tokens} tokens": "{count} 个，约 {tokens} 个 token",
    "no credential is set up for {scheme} ({kind}): --secret": "还没有为 {scheme}（{kind}）设置凭据：--secret",
    # run and chat
    "cancelled": "已取消",
    "The embedded model: rules, no language model. `actum doctor` says how to use a real one.": (
        "内置模型：只有规则，不是语言模型。`actum doctor` 会说明怎样使用真正的模型。"
    ),
    "The run waits. To go on:": "运行在等待。继续运行请输入：",
    "waits until {moment}": "等待到 {moment}",
    "The run waits until {moment}. `actum serve` goes on with the workflows that it serves;": (
        "运行等待到 {moment}。`actum serve` 到时会继续它所提供的工作流；"
    ),
    "to go on yourself, when the time has come:": "也可以到时自己继续：",
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
    # forms
    "a tool": "工具",
    "nothing": "空",
    "yes": "是",
    "no": "否",
    "text": "文本",
    "yes or no": "是或否，写 yes 或 no",
    "a whole number": "整数",
    "a number": "数字",
    "one of: {listed}": "选一项：{listed}",
    "some of, with commas: {listed}": "可选多项，用逗号分开：{listed}",
    "{host} (not all Latin)": "{host}（含有非拉丁字符）",
    # labels beside a line, of four characters at most
    "answer": "回答",
    "call": "调用",
    "result": "结果",
    "error": "出错",
    "says": "说",
    "thought": "思考",
    "repaired": "修正",
    "progress": "进度",
    "you": "您",
    "agent": "智能体",
    "told": "告知",
    "does": "用途",
    "takes": "参数",
    "for run": "本次运行",
    "reads": "只读",
    "change": "变化",
    "offers": "提供",
    "from": "来自",
    "installed": "已安装",
    "checked": "已校验",
    "wrong": "错误",
    "verdict": "判定",
    "first": "先做",
    "expires": "期限",
    "alike": "相同",
    "parts": "分开",
    "begun": "开始",
    # versions of workflows
    "published": "已发布",
    "changed draft": "草稿有改动",
    "saved": "保存时间",
    "again": "重新发布自",
    "node": "节点",
    "edge": "边",
    "field": "字段",
    "{name}@{number} is published.": "{name}@{number} 已发布。",
    "{name} was imported from {format}. From now on its fixed values count as written by you.": (
        "{name} 从 {format} 导入。从现在起，其中的固定值视为由您编写。"
    ),
    "{name} has a draft, and nothing was published yet.": "{name} 有草稿，但还没有发布过。",
    "{name}@{number} is no longer in use; to publish it anew: actum workflow rollback {name} {number}": (
        "{name}@{number} 已停用；重新发布：actum workflow rollback {name} {number}"
    ),
    "{other} uses {name}: its nodes that call it fail from now on.": (
        "{other} 使用 {name}：调用它的节点从现在起会失败。"
    ),
    "There are no workflows yet. Try: actum workflow publish desk.workflow.yaml": (
        "还没有工作流。试试：actum workflow publish desk.workflow.yaml"
    ),
    "There is no difference.": "没有差异。",
    "What your file changes in the draft of {name}:": "您的文件对 {name} 的草稿所做的改动：",
    # the heads of tables
    "when": "时间",
    "status": "状态",
    "run": "运行",
    "model": "模型",
    "question": "问题",
    "id": "编号",
    "kind": "种类",
    "waits": "已等待",
    "what": "内容",
    "needs": "还需",
    "latest": "最近",
    "turns": "轮数",
    "conversation": "对话",
    "begins with": "开头",
    "for": "代表",
    "decision": "结论",
    "tool": "工具",
    "with what, why, what came": "参数、原因、结果",
    "effects": "影响",
    "what it does": "用途",
    "name": "名称",
    "state": "状态",
    "era": "协议",
    "tools": "工具",
    "wait": "待批",
    "at": "地址",
    "for whom": "谁可以用",
    "anybody": "任何人",
    "digest": "摘要",
    "what it is": "说明",
    "user": "用户",
    "tenant": "租户",
    "scopes": "权限",
    "may use": "可以使用",
    "until": "有效期至",
    "valid": "有效",
    "revoked": "已吊销",
    "expired": "已过期",
    "default": "默认",
    "dialect": "方言",
    "how a model says a call": "模型表达调用的方式",
    # what `actum doctor` looks at
    "ok": "正常",
    "warn": "注意",
    "bad": "错误",
    "terminal": "终端",
    "feature": "功能",
    "features": "功能",
    "package": "包",
    "packages": "包",
    "is": "状态",
    "rows": "行数",
    "what it is for": "用途",
    "on": "已启用",
    "off": "未启用",
    "refused": "无法使用",
    "missing": "缺少",
    "keys": "密钥",
    "settings": "设置",
    "journal": "日志",
    "record": "记录",
    "clients": "客户端",
    "egress": "外发",
    "local": "本机",
    "calls": "调用",
    # secrets
    "secrets": "机密",
    "set": "设置时间",
    "kept in": "保存在",
    "file": "文件",
    "environment": "环境变量",
    "(shared)": "（共享）",
    "The value of {name} (it is not shown): ": "请输入 {name} 的值（不会显示）：",
    "The secret {name} is set, in {path}. Its key: {key}.": "机密 {name} 已设置，保存在 {path}。密钥来自：{key}。",
    "Commands of a feature; see `actum features`.": "某个功能的命令；见 `actum features`。",
    "No installed package brings a feature.": "已安装的包没有提供任何功能。",
    "Delete {rows} of {name} for good?": "要永久删除 {name} 的 {rows} 吗？",
    "Nothing was deleted.": "没有删除任何数据。",
    "{rows} of {name} deleted.": "已删除 {name} 的 {rows}。",
    "There are no secrets yet. Try: actum secrets set crm_key": "还没有机密。试试：actum secrets set crm_key",
    "The secret {name} is removed.": "机密 {name} 已删除。",
    "There is no secret {name} of this owner: `actum secrets list` tells which there are.": (
        "这个所有者没有机密 {name}：`actum secrets list` 列出所有机密。"
    ),
    "One key opens {path} now, and all values are encrypted anew.": (
        "现在只有一个密钥能打开 {path}，所有值都已重新加密。"
    ),
    (
        "Two keys open {path} now. Set ACTUM_SECRETS_KEY_FILE or ACTUM_SECRETS_KEY to the new key everywhere, then: "
        "actum secrets rekey --finish"
    ): (
        "现在有两个密钥能打开 {path}。请在所有地方把 ACTUM_SECRETS_KEY_FILE 或 ACTUM_SECRETS_KEY 换成新密钥，然后："
        "actum secrets rekey --finish"
    ),
}
"""Each text of the command line in Chinese."""


HELP = {
    "Carry out workflows, check them, draw them, publish them.": "执行、检查、绘制和发布工作流。",
    "A file, name.workflow.yaml or JSON; or what is published under a name, or under its number N.": (
        "一个文件：name.workflow.yaml 或 JSON；或者已发布的名称，或该名称的编号 N。"
    ),
    "The name of the workflow.": "工作流的名称。",
    "The tenant whose workflows are meant. Default: none.": "指哪个租户的工作流。默认：不属于任何租户的。",
    "A file to publish, or the name of a draft to publish.": "要发布的文件，或要发布的草稿的名称。",
    "Publish only if the draft still has this revision.": "只有草稿仍是这个修订号时才发布。",
    (
        "Publish a workflow under the next number. A workflow with a mistake is not published. For instance: actum "
        "workflow publish flight_desk.workflow.yaml"
    ): "以下一个编号发布工作流。有错误的工作流不会发布。例如：actum workflow publish flight_desk.workflow.yaml",
    "The number of an older publication.": "较早的发布版本的编号。",
    "Publish an older publication anew, under the next number. Runs under way keep the version they began with.": (
        "以下一个编号重新发布较早的版本。正在进行的运行仍使用开始时的版本。"
    ),
    "Take a workflow out of use: nothing new begins with it. Runs under way keep the version they began with.": (
        "停用工作流：不再用它开始新的运行。正在进行的运行仍使用开始时的版本。"
    ),
    "List the publications of a workflow, the latest first.": "列出工作流的发布版本，最新的在前。",
    "List the workflows that have a draft or are published.": "列出有草稿或已发布的工作流。",
    "What is published under a name, or its number N; NAME@draft: the draft.": (
        "已发布的名称，或该名称的编号 N；NAME@draft：草稿。"
    ),
    "Show the text of a published workflow, or of its draft.": "显示已发布的工作流或其草稿的文本。",
    "The other one, likewise; NAME@draft is a draft. Default: the draft.": (
        "另一个，写法相同；NAME@draft 是草稿。默认：草稿。"
    ),
    "Show what differs between two versions of a workflow: nodes, edges and fields, but no positions.": (
        "显示工作流两个版本之间的差异：节点、边和字段，不含位置。"
    ),
    "Its inputs.": "它的输入。",
    "All inputs as one JSON object.": "用一个 JSON 对象给出全部输入。",
    "mermaid, dot or svg.": "mermaid、dot 或 svg。",
    "Write the picture to this file.": "把图写入这个文件。",
    "Carry out a workflow. For instance: actum workflow run flight_desk.workflow.yaml date=2026-12-01 budget=2000": (
        "执行一个工作流。例如：actum workflow run flight_desk.workflow.yaml date=2026-12-01 budget=2000"
    ),
    "Tell everything that is wrong with a workflow, with line, column and a hint.": (
        "指出工作流的所有问题，带行号、列号和提示。"
    ),
    "Draw a workflow.": "绘制一个工作流。",
    "The file of the other program.": "另一个程序的文件。",
    "Which program wrote the file: coze or dify.": "文件由哪个程序写成：coze 或 dify。",
    "Write the definition to this file.": "把定义写入这个文件。",
    "Import a workflow of another program, and tell what did not come over. The exit code is 0 where all came over, 3 "
    "where a tool or a model has to be chosen, 4 where something is lost. For instance: actum workflow import app.yml "
    "--from dify -o app.workflow.yaml": (
        "导入另一个程序的工作流，并说明哪些内容没有带过来。"
        "全部带过来时退出码为 0，需要选择工具或模型时为 3，有内容丢失时为 4。"
        "例如：actum workflow import app.yml --from dify -o app.workflow.yaml"
    ),
    "Tasks: list, show, wait, cancel, retry.": "任务：列出、查看、等待、取消、重试。",
    "The task: its id, the beginning of it, or `last`.": "任务：编号、编号的开头，或 `last`。",
    "List the latest tasks.": "列出最近的任务。",
    "Only tasks in this state.": "只列出处于这种状态的任务。",
    "Only tasks of this agent; direct calls of tools stand under `api`.": (
        "只列出这个智能体的任务；直接调用工具的任务列在 `api` 下。"
    ),
    "Only tasks accepted from then on: 24h, 90d, 2026-11-01.": "只列出此后受理的任务：24h、90d、2026-11-01。",
    "Only tasks accepted before then.": "只列出此前受理的任务。",
    "Only tasks on behalf of this user.": "只列出代表这个用户的任务。",
    "The name of a workflow.": "工作流的名称。",
    "The tenant that is meant. Default: none.": "针对哪个租户。默认：没有租户。",
    "Print the whole result of a task.": "输出一个任务的完整结果。",
    "Show a task: its state, progress, attempts and result.": "查看一个任务：状态、进度、各次尝试和结果。",
    "Wait so long at most. Default: until the task has ended.": "最多等待这么多秒。默认等到任务结束。",
    "Wait until a task has ended, or waits for a person; how far it is stands on stderr meanwhile.": (
        "等到任务结束，或任务需要人来处理；期间进度写在 stderr。"
    ),
    "Cancel a task. What it is doing right now may have happened.": "取消一个任务。它正在做的事可能已经发生。",
    "Begin a task again that failed or timed out. What has an outcome is not done again.": (
        "重新开始失败或超时的任务。已有结果的步骤不会再做。"
    ),
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
    "everyday, file.py, file.py:name, module:name, code, folder/ for its scripts, none, or mcp for a model that looks "
    "for the tools of MCP servers itself; may be repeated. Default: everyday.": (
        "everyday、file.py、file.py:名称、模块:名称、code（运行代码）、文件夹/（其中的脚本）、none，"
        "或者 mcp（由模型自己查找 MCP 服务器的工具）；可重复。默认 everyday。"
    ),
    "MCP servers: mine (those of `actum mcp`), a name, an address, a file of them, or none; may be repeated. "
    "Default: mine.": (
        "MCP 服务器：mine（`actum mcp` 里的）、名称、地址、列出服务器的文件，或者 none；可重复。默认 mine。"
    ),
    "How the model says a call; see `actum dialects`.": "模型表达调用的方式，见 `actum dialects`。",
    "Carry out this node alone, such as book or trips/price.": "只执行这个节点，例如 book 或 trips/price。",
    "With --only: a JSON file with what the other nodes have given.": (
        "与 --only 一起用：一个 JSON 文件，写明其他节点给出的结果。"
    ),
    "Go on with the conversation of this id.": "继续这个编号的对话。",
    "Whose conversation it is, where it is not your own; '' for those of programs that name no principal.": (
        "这次对话属于谁（不是自己的时候）；'' 表示没有写明主体的程序的对话。"
    ),
    "For the users of this tenant, whom your server serves.": "代表您的服务器所服务的这个租户的用户。",
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
    "Keys of a server: make one, list them, revoke one.": "服务器的密钥：创建、列出、吊销。",
    "Make a key, and show it. It is shown this once: only a hash of it is kept. For instance: actum keys add ci --user "
    "ann --role clerk --scope tools --tool 'crm_*' --expires 30d": (
        "创建并显示一个密钥。只显示这一次：只保存它的哈希值。\n\n"
        "例如：actum keys add ci --user ann --role clerk --scope tools --tool 'crm_*' --expires 30d"
    ),
    "List the keys, the oldest first, also those that were revoked.": "列出密钥，最早的在前，已吊销的也在内。",
    "Revoke a key: no server of this journal accepts it any more, within a second. This can not be undone.": (
        "吊销一个密钥：使用这份记录的服务器一秒之内都不再接受它。此操作无法撤销。"
    ),
    "Look so many days back.": "往回看这么多天。",
    "Show what was passed on to models: requests, tokens and cost by key, model and upstream.": (
        "显示转发给模型的请求：按密钥、模型和上游列出请求数、token 数和费用。"
    ),
    "The name of the key.": "密钥的名称。",
    "Whose calls the key makes. Default: the name of the key.": "密钥代表哪个用户发起调用。默认：密钥的名称。",
    "A role of the user; may be repeated.": "用户的角色；可以重复。",
    "What the key allows, such as tools; may be repeated.": "密钥允许做什么，例如 tools；可以重复。",
    "Tools that it may use, such as 'crm_*'; may be repeated. Default: all.": (
        "可以使用的工具，例如 'crm_*'；可以重复。默认：全部。"
    ),
    "Models that it may use; may be repeated. Default: all.": "可以使用的模型；可以重复。默认：全部。",
    "Agents that it may use; may be repeated. Default: all.": "可以使用的智能体；可以重复。默认：全部。",
    "When it ends: 30d, 12h, 2027-01-31. Default: never.": "何时失效：30d、12h、2027-01-31。默认：永不失效。",
    "Trust whoever has the key to say only what its user said, so that rules take its values as the user's. Never for "
    "a client whose model chooses the values.": (
        "相信持有密钥的客户端只转述用户说过的话，因此规则把它给出的值视为用户的。切勿用于由模型选择参数值的客户端。"
    ),
    "The client is a program: at the model APIs, what it sends as the user's words counts as its own.": (
        "客户端是一个程序：在模型 API 处，它以用户身份发送的话视为程序自己的话。"
    ),
    "A run that was asked for at a model API ends when the client hangs up. Default: it goes on.": (
        "经模型 API 发起的运行，在客户端断开连接时结束。默认：继续运行。"
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
    "What is on record: list runs, show one, write its files.": "运行记录：列出、查看、写出文件。",
    (
        "List the files and pictures that the tools of a run made, or write them. For instance: actum runs files last "
        "--out plots"
    ): "列出一次运行中工具生成的文件和图片，或把它们写到文件夹里。例如：actum runs files last --out plots",
    "Write the files into this folder.": "把文件写到这个文件夹。",
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
    "Say what the tools' descriptions lack, and what nobody says of foreign tools. Exit code 1 when something is.": (
        "指出工具说明缺什么，以及哪些外来工具无人说明作用。有缺时退出码为 1。"
    ),
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
    # models, audit, mcp, policy and journal
    (
        "List the models that servers on this machine offer, and choose one. The usual ports of Ollama, llama.cpp, LM "
        "Studio and vLLM are asked for their list of models, and for nothing else."
    ): (
        "列出本机服务器提供的模型，并从中选用一个。\n\n"
        "只向 Ollama、llama.cpp、LM Studio 和 vLLM 的常用端口查询模型列表，不做别的请求。"
    ),
    "Take this model from now on, where none is named. Nothing is sent.": (
        "今后没有指定模型时就用这个模型。不会发送任何内容。"
    ),
    (
        "asked, approved, denied, answered, resolved, checked, allowed, done, failed, kept_out, refused, administered, "
        "forked, agent_changed, noted, forgotten, deleted, damaged."
    ): (
        "asked（已询问）、approved（已批准）、denied（已拒绝）、answered（已回答）、resolved（已澄清）、"
        "checked（已检查）、allowed（已允许）、done（已完成）、failed（失败）、kept_out（被沙箱挡住）、refused（未放行）、"
        "administered（管理操作）、forked（已分支）、agent_changed（智能体已变化）、noted（已记下）、forgotten（已遗忘）、"
        "deleted（已删除）、damaged（已损坏）。"
    ),
    "Print CSV with a header.": "输出带表头的 CSV。",
    (
        "Serve tools, files, prompts and runs to MCP clients, in both eras of the protocol. For instance: actum mcp "
        "serve --tools tools.py, as the command of a server in a client's settings"
    ): (
        "向 MCP 客户端提供工具、文件、提示词和运行记录，新旧两代协议都支持。\n\n"
        "例如在客户端的设置里，把服务器的启动命令写成：actum mcp serve --tools tools.py"
    ),
    "Serve over HTTP there, instead of by stdin and stdout.": "在这个地址上通过 HTTP 提供服务，而不是标准输入输出。",
    "Over HTTP also the old way, at /sse, for old clients.": "HTTP 方式下同时在 /sse 提供旧式接口，供旧客户端使用。",
    "Serve the files below PATH as NAME:///...; may be repeated.": (
        "把 PATH 下的文件以 NAME:///… 的形式提供出去；可重复。"
    ),
    (
        "Serve the prompts that file.py or a module holds, functions with @prompt of actum.server above them, or one "
        "of them as file.py:name; may be repeated."
    ): (
        "提供 file.py 或模块里的提示词（用 actum.server 的 @prompt 装饰的函数），或用 file.py:名称 指定其中一个；"
        "可重复。"
    ),
    "Serve the runs of whoever asks, as actum://runs/ID.": "以 actum://runs/ID 提供请求者自己的运行记录。",
    (
        "Stand in front of this server instead: a name of `actum mcp`, an address, a file of them; may be repeated. "
        "Only what was approved is passed on."
    ): ("改为代理这个服务器：`actum mcp` 里的名称、地址，或列出服务器的文件；可重复。只转发已批准的内容。"),
    "What clients are told it is called.": "告诉客户端的服务器名称。",
    "Requests must show a token of this issuer, a JWT.": "请求必须带上这个签发方的令牌（JWT）。",
    "This server as clients write it: what tokens are meant for.": "客户端使用的本服务器地址，即令牌的受众。",
    "A scope that tokens need; may be repeated.": "令牌必须具有的 scope；可重复。",
    "A name under which clients reach this; may be repeated.": "客户端访问本服务器时可用的主机名；可重复。",
    "Pages of this origin may speak to it; may be repeated.": "允许这个来源（origin）的网页访问；可重复。",
    "Others than this machine may come in without a key. Think first.": "允许其他机器不带密钥访问。请先想清楚。",
    (
        "Trust this client to say only what its user said, so that rules take its values as the user's: `local` (no "
        "key), `shared` (--key-env), or a client's id at --issuer. May be repeated. Never for a client whose model "
        "chooses the values."
    ): (
        "相信这个客户端只转述用户说的话，规则会把它给出的值当作用户的值：`local`（没有密钥）、`shared`（--key-env），"
        "或 --issuer 处的客户端编号。可重复。如果值由客户端的模型来选，绝不要使用。"
    ),
    (
        "Add a server. Nothing is started: its tools are used once you have approved them. A local server runs in a "
        "jail: it reads its own program and the folders of --read, writes those of --write, and reaches the "
        "hosts of --host. For instance: actum mcp add papers --read ~/papers -- mcp-server-filesystem ~/papers"
    ): (
        "添加服务器。\n\n不会启动任何程序：批准之后才会使用它的工具。\n\n"
        "本地服务器在沙箱中运行：可以读取自己的程序和 --read 的文件夹，可以写入 --write 的文件夹，"
        "可以访问 --host 的主机。\n\n"
        "例如：actum mcp add papers --read ~/papers -- mcp-server-filesystem ~/papers"
    ),
    "What the server is called here.": "服务器在这里的名称。",
    "Add an API: a whole document, or one HTTP endpoint.": "添加 API：整份文档，或一个 HTTP 端点。",
    "What the API is called here.": "API 在这里的名称。",
    "The secret with the credential of a scheme of the document.": "文档中某个安全方案的凭据所在的密钥名称。",
    "The API takes an idempotency key in this header.": "API 在这个请求头里接受幂等键。",
    "The client for OAuth 2.0 and OpenID Connect.": "用于 OAuth 2.0 和 OpenID Connect 的客户端。",
    "Each user logs in, as with `actum tools login`.": "每个用户自己登录，如 `actum tools login`。",
    "The security scheme, where there are some.": "安全方案（有多个时指定）。",
    "Who logs in, where it is not you; '' for users without a name.": "登录者，若不是你自己；'' 表示没有名称的用户。",
    "The tenant of the user.": "用户所属的租户。",
    "Where the browser comes back to; 0 for any port.": "浏览器返回的端口；0 表示任意端口。",
    "Log in at an API, in a browser. Nothing opens without a yes.": "在浏览器中登录 API。未经同意不会打开任何页面。",
    "Forget the log-in at an API, and give the token back to its issuer.": (
        "忘记在某个 API 的登录，并把令牌交还签发方。"
    ),
    "Log in at an agent that you approved, in a browser. Nothing opens without a yes.": (
        "在浏览器中登录您批准过的智能体。未经同意不会打开任何页面。"
    ),
    "Show what each tool costs the prompt, whole and as it is told.": "显示每个工具占多少词元。",
    "Where to look.": "在哪里查找。",
    "Find what could be tools. Nothing is run; with --add you are asked what to add.": (
        "查找可作工具的东西。不运行任何东西；用 --add 会询问要添加什么。"
    ),
    "Ask for each of them whether to add it, and add it.": "逐个询问是否添加，并添加。",
    "The part of a JSON answer that the model sees.": "JSON 回答中给模型看的部分。",
    "Accept which arguments are shown to say where something goes.": "接受所显示的、说明内容发往何处的参数。",
    "Offer each operation as a tool, however many there are.": "无论有多少操作，都把每个操作作为一个工具提供。",
    "Offer a search among the operations instead of each of them.": "提供在操作中的搜索，而不是逐个提供操作。",
    "The OpenAPI or Swagger document.": "OpenAPI 或 Swagger 文档。",
    "Only operations with this name, tag, or 'METHOD /path'.": "只用有这个名称、标签或 'METHOD /path' 的操作。",
    "The base address of the API.": "API 的基础地址。",
    (
        "Add an API from its document. Its operations are used with --tools openapi:NAME. For instance: actum tools "
        "add openapi https://api.example.com/openapi.json --name example --only pets"
    ): (
        "从文档添加 API。\n\n用 --tools openapi:NAME 使用它的操作。\n\n"
        "例如：actum tools add openapi https://api.example.com/openapi.json --name example --only pets"
    ),
    "The address, with {argument} in path and query.": "地址，路径和查询里可以有 {argument}。",
    "The method of HTTP.": "HTTP 方法。",
    "What it does.": "它做什么。",
    "A header, without credentials.": "请求头，不含凭据。",
    "The body, with {argument} in its texts.": "请求体，其中的文本可以有 {argument}。",
    "Where a secret stands: bearer, basic, header:NAME, query:NAME.": (
        "密钥放在哪里：bearer、basic、header:NAME、query:NAME。"
    ),
    "What a call does, such as read or send.": "一次调用做什么，例如 read 或 send。",
    "Take all of it from a cURL line.": "全部取自一行 cURL 命令。",
    (
        "Add one HTTP endpoint as a tool. It is used with --tools http:NAME. For instance: actum tools add http "
        "weather 'https://api.example.com/now?city={city}'"
    ): (
        "把一个 HTTP 端点添加为工具。\n\n用 --tools http:NAME 使用它。\n\n"
        "例如：actum tools add http weather 'https://api.example.com/now?city={city}'"
    ),
    "Read the document of an API again. What has changed is shown, and is held until you approve it.": (
        "重新读取 API 的文档。\n\n变化的部分会显示出来，批准之前不会使用。"
    ),
    "Remove an API. Its secrets are kept.": "移除 API。它的密钥保留。",
    "Where it is, or how it is started.": "服务器的地址，或启动它的命令。",
    "Sent to a remote one.": "发给远程服务器的 HTTP 头。",
    "Given to a local one.": "传给本地服务器的环境变量。",
    "Where a local one is started; else here.": "本地服务器的启动目录；默认当前目录。",
    "How to talk to it; else found out.": "通信方式；默认自动判断。",
    "Without a word from it.": "服务器多少秒没有回应就算超时。",
    "Which protocol; else found out.": "哪一代协议；默认自动判断。",
    "It may work in this folder.": "允许它使用这个文件夹。",
    "Only tools of such names.": "只用名称相符的工具。",
    "No tools of such names.": "不用名称相符的工具。",
    "Believe what it says of its own tools.": "相信它对自己工具的声明。",
    "So many sessions at a time; else 8 processes.": "同时最多多少个会话；默认 8 个进程。",
    "A local one may read this file or folder.": "本地服务器可以读取这个文件或文件夹。",
    "A local one may reach this host by HTTP.": "本地服务器可以用 HTTP 访问这台主机。",
    "A local one may write there.": "本地服务器可以写入这个文件夹。",
    "A local one reaches all that you can reach, and the network.": "本地服务器可以访问您能访问的一切，包括网络。",
    "It keeps nothing from one call to the next.": "它在两次调用之间不保留状态。",
    "Take over servers that another client knows. Nothing is started, and no approval is taken over.": (
        "导入其他客户端里配置的服务器。不会启动任何程序，也不会导入批准。"
    ),
    "A file, or one of claude, claude-code, vscode, cursor, windsurf, gemini, codex, lmstudio, zed.": (
        "文件，或 claude、claude-code、vscode、cursor、windsurf、gemini、codex、lmstudio、zed 之一。"
    ),
    "Tell what is known without starting any.": "只显示已知的情况，不启动服务器。",
    "Only these, by its own names.": "只批准这些工具，用服务器自己的工具名。",
    "Believe tools that say they only read: their calls are made without asking.": (
        "相信声明自己只读的工具：调用时不再询问。"
    ),
    "Log in at a server that wants it, in a browser. The address is shown; nothing opens without a yes.": (
        "在浏览器里登录需要登录的服务器。会先显示地址，同意之后才打开。"
    ),
    "The browser runs on another machine.": "浏览器在另一台机器上。",
    "Ask for this too; may be repeated.": "另外申请这个 scope；可重复。",
    "Forget the login at a server, and tell whoever granted it.": "删除服务器的登录信息，并通知签发方。",
    (
        "Say what the policy says of a call, and why. Nothing is called. Ends with 0 when it is allowed, 1 when it is "
        "denied, 3 when a person is asked. For instance: actum policy test --policy policy.toml transfer amount=500 "
        "--user ada"
    ): (
        "说明策略怎样判断一个调用，以及原因。不会真的调用。\n\n"
        "允许时退出码为 0，拒绝时为 1，需要问人时为 3。\n\n"
        "例如：actum policy test --policy policy.toml transfer amount=500 --user ada"
    ),
    "On whose behalf. Default: you.": "代表谁。默认是您自己。",
    "What the user said, for trusted(). Repeatable.": "用户说过的话，供 trusted() 判断；可重复。",
    "The agent that makes the call.": "发起调用的智能体。",
    "The id of the API key that was used.": "所用 API 密钥的编号。",
    (
        "Say what is wrong with a policy: rules that never fit, checks that can not be made. Ends with 1 when "
        "something is. With --tools the rules are held against these tools."
    ): (
        "指出策略的问题：永远不会命中的规则、无法进行的检查。有问题时退出码为 1。\n\n"
        "加上 --tools 时，用这些工具核对规则。"
    ),
    "Print runs as lines of JSON that can be checked without the database: `actum journal verify --file`.": (
        "把运行输出为逐行 JSON，不用数据库也能校验：`actum journal verify --file`。"
    ),
    "These runs: ids, the beginnings of them, or `last`.": "这些运行：编号、编号的开头，或者 `last`。",
    "Every run.": "所有运行。",
    "Print the latest head of every run, and the signed ones. Kept elsewhere, they show what was changed since.": (
        "输出每次运行的最新链头和已签名的链头。另存一份，就能看出之后改动了什么。"
    ),
    (
        "Check the chain of every run. Exit code 1 when something is wrong. Alone, it finds what was changed by "
        "accident, gaps, and what the list of runs and the kept definitions of tools say otherwise than the entries. "
        "With exported heads or the key it also finds a run that somebody rewrote as a whole, or cut at its end."
    ): (
        "校验每次运行的哈希链。有问题时退出码为 1。\n\n"
        "只靠日志本身，能发现意外的改动、缺口，以及运行列表和工具定义与记录不一致的地方。"
        "有导出的链头或密钥时，还能发现整个被重写或末尾被截掉的运行。"
    ),
    "Heads that were exported earlier.": "以前导出的链头。",
    "The key that the journal signs with.": "日志签名用的密钥。",
    "Check an export instead of the journal.": "校验导出的文件，而不是日志。",
    (
        "Branch off from a run: take over its records up to one, and go on from there with another model, tools or "
        "result. The run itself stays as it is. What it did after that point may have changed the world: those tools "
        "ask again."
    ): (
        "从一次运行分支：沿用到某条记录为止的内容，从那里换模型、工具或结果继续。\n\n"
        "原来的运行不变。它在那之后做的事可能已经产生影响，所以这些工具会重新询问。"
    ),
    "The last record that is taken over; `journal show` numbers them.": "沿用的最后一条记录；`journal show` 显示序号。",
    "Another result in the place of the one there.": "用另一个结果代替那里的结果。",
    "Another question; only with --at 0.": "换一个问题；只能与 --at 0 合用。",
    "A run.": "一次运行。",
    "Another, such as a branch of it.": "另一次运行，例如它的分支。",
    "Every run, from now on, until Ctrl-C.": "从现在起跟踪所有运行，直到按 Ctrl-C。",
    (
        "Delete for good what runs say, with the runs that their calls started. With --principal alone, the "
        "assistants and threads of this user are deleted, too, with the rows that features keep of the user; with "
        "--older-than alone, threads to which nobody has added a message since. Where users of several tenants "
        "have this name, say --tenant. The chain of hashes stays and still checks; that it was done, by whom and "
        "why is put on record. Branches of a run and summaries of its conversation are runs of their own: they are "
        "named, not deleted."
    ): (
        "永久删除运行的内容，连同由它的调用启动的运行。\n\n"
        "只给出 --principal 时，也删除该用户的 assistant 和 thread，以及各功能保存的该用户的行；"
        "只给出 --older-than 时，也删除此后没有新消息的 thread。"
        "多个租户都有同名用户时，请写 --tenant。\n\n"
        "哈希链保留，仍可校验；删除本身、删除人和理由会记录在案。"
        "运行的分支和对话的总结是独立的运行：只列出名称，不删除。"
    ),
    "What begins runs by itself: add a trigger, list, fire, remove.": "自动启动运行的触发器：添加、列出、触发、移除。",
    "The name of the trigger.": "触发器的名称。",
    "The workflow that begins: a name of [workflows].": "要启动的工作流：[workflows] 中的名称。",
    "The agent that is asked.": "要询问的智能体。",
    "The token of wait nodes that go on.": "要唤醒的 wait 节点的标记。",
    "What the agent is told; ${event.data} is the event.": "告诉智能体的话；${event.data} 是事件。",
    "When: five fields, as in '0 7 * * MON-FRI'.": "时间：五个字段，例如 '0 7 * * MON-FRI'。",
    "The time zone of the schedule. Default: UTC.": "时间表的时区。默认 UTC。",
    "A file whose change is the event.": "文件，其内容变化即为事件。",
    "The MCP server of the resource.": "该资源所在的 MCP 服务器。",
    "A resource of the MCP server whose change is the event.": "MCP 服务器的资源，其内容变化即为事件。",
    "The secret by which a webhook's signature is checked.": "用来校验 webhook 签名的密钥的名称。",
    "The agent elsewhere whose news of a task are events.": "远程智能体，它发来的任务消息即为事件。",
    "How a webhook is signed: standard, github, stripe or token.": (
        "webhook 的签名方式：standard、github、stripe 或 token。"
    ),
    (
        "Add a trigger to the actum.toml of this folder. With none of --schedule, --file and --resource, "
        "it is a webhook. For instance: actum trigger add lamp --workflow lamp --schedule '0 7 * * MON-FRI' --zone "
        "Europe/Berlin"
    ): (
        "把一个触发器加进本文件夹的 actum.toml。没有 --schedule、--file 和 --resource 时，它是 webhook。\n\n"
        "例如：actum trigger add lamp --workflow lamp --schedule '0 7 * * MON-FRI' --zone Europe/Berlin"
    ),
    "List the triggers.": "列出触发器。",
    "What happened.": "发生了什么。",
    "The id of the event: the same id is the same.": "事件的编号：编号相同就是同一个事件。",
    (
        "Tell a trigger of an event. The run is a task: `actum serve` or `actum worker` carries it out."
    ): "把一个事件告诉触发器。运行是一个任务，由 `actum serve` 或 `actum worker` 执行。",
    (
        "Remove a trigger from the actum.toml of this folder. Runs that it began go on."
    ): "从本文件夹的 actum.toml 移除一个触发器。它已启动的运行会继续。",
    "The tenant that the user belongs to; '' for none.": "用户所属的租户；'' 表示没有租户。",
    "These runs.": "这些运行。",
    "Runs that began longer ago: 90d, 2w.": "早于这个时间开始的运行：90d、2w。",
    "Runs on behalf of this one.": "代表这个主体的运行。",
    "Why; it stays on record.": "理由，会记录在案。",
    "Show this message and exit.": "显示这份帮助。",
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
    "A name to keep beside your own; of a tenant's user: NAME@TENANT. It counts where the journal is your own file.": (
        "记在您自己名字旁边的另一个名字；租户的用户写作 NAME@TENANT。日志是您自己的文件时才算数。"
    ),
    "So many of the latest turns stay as they are. Default: 2, or none where all is too long.": (
        "最近的这么多轮保持原样。默认 2，全部太长时为 0。"
    ),
    "Features: list what packages bring, and delete what one keeps.": (
        "功能：列出各个包提供的功能，删除某个功能保存的数据。"
    ),
    "The feature.": "功能的名字。",
    (
        "List the features that there are, which of them are on, and how much each keeps. A feature of an installed "
        "package is switched on by the table of its name in actum.toml, even an empty one."
    ): (
        "列出现有的功能、哪些已启用、各自保存了多少数据。已安装的包所提供的功能，在 actum.toml 里写上同名的表就会启用，"
        "空表也可以。"
    ),
    "Delete for good what a feature keeps beside the runs. What stands on the record of runs stays.": (
        "永久删除一个功能在运行记录之外保存的数据。运行记录里的内容保持不变。"
    ),
    "Secrets for tools: set one, list them, remove one.": "供工具使用的机密：设置、列出、删除。",
    "Set a secret. The value is asked for and not shown; without a terminal it is read from stdin. For instance: actum "
    "secrets set crm_key, or: actum secrets set crm_key --user ann < key.txt": (
        "设置一个机密。值在提示后输入，不会显示；没有终端时从标准输入读取。例如：actum secrets set crm_key，"
        "或者：actum secrets set crm_key --user ann < key.txt"
    ),
    "List the secrets: names, owners, when each was set. Values are never shown.": (
        "列出机密：名称、所有者、设置时间。从不显示值。"
    ),
    "Remove a secret. A variable of the environment can not be removed here.": (
        "删除一个机密。环境变量不能在这里删除。"
    ),
    (
        "Change the key of the secrets: first both keys are valid, and with --finish only the new one. The new key is "
        "named by ACTUM_SECRETS_NEW_KEY_FILE or ACTUM_SECRETS_NEW_KEY. Without them, a key in the system keyring is "
        "replaced at once."
    ): (
        "更换机密的密钥：先是新旧密钥都有效，加 --finish 后只有新密钥有效。新密钥由 ACTUM_SECRETS_NEW_KEY_FILE 或 "
        "ACTUM_SECRETS_NEW_KEY 给出。两者都没有设置时，系统钥匙串里的密钥会立即更换。"
    ),
    "The name of the secret.": "机密的名称。",
    "Whose secret it is. Default: everybody shares it.": "这是谁的机密。默认：所有人共享。",
    "The tenant that the secret belongs to.": "机密所属的租户。",
    "With the new key: the old one opens nothing any more.": "使用新密钥：旧密钥不再有效。",
    "With the old key: the new one opens nothing any more.": "使用旧密钥：新密钥不再有效。",
    "An agent of actum.toml, by its name; see `actum agents list`.": (
        "actum.toml 里的智能体，写名称；见 `actum agents list`。"
    ),
    (
        "Serve what actum.toml describes, by every protocol, under one address. For instance: "
        "actum serve --tools tools.py, then give a client http://127.0.0.1:8000/mcp"
    ): (
        "把 actum.toml 描述的内容在同一个地址上以各种协议提供服务。\n\n"
        "例如：actum serve --tools tools.py，然后让客户端使用 http://127.0.0.1:8000/mcp"
    ),
    (
        'Carry out tasks that come from the broker: [tasks] dispatcher = "celery". For instance: '
        "actum worker, on as many machines as you like, beside actum serve"
    ): (
        '执行来自消息代理的任务：[tasks] dispatcher = "celery"。\n\n'
        "例如：在任意多台机器上运行 actum worker，与 actum serve 并行"
    ),
    "Only say whether a worker could work here: broker, journal, agents.": (
        "只检查这里能否运行工作进程：消息代理、日志、智能体。"
    ),
    "Where it listens. Default: 127.0.0.1:8000.": "监听的地址。默认 127.0.0.1:8000。",
    "Serve /metrics there, without a key, and nowhere else.": "只在这个地址提供 /metrics，不需要密钥。",
    "The server as clients write it, where a proxy stands before it.": ("前面有代理时，客户端看到的服务器地址。"),
    # settings, agents, and serving
    "Write a commented actum.toml into this folder. A file that is there is left alone.": (
        "在当前文件夹写一个带注释的 actum.toml。已有的文件保持不变。"
    ),
    "The settings: check the files, show what holds.": "设置：检查设置文件、显示生效的设置。",
    "Say what is wrong with the settings files, with line and hint. Exit code 1 when something is.": (
        "指出设置文件的问题，写明行号和建议。有问题时退出码为 1。"
    ),
    "Show each setting that holds, and where it comes from. Secrets are hidden.": (
        "显示每一项生效的设置和它的来处。机密不会显示。"
    ),
    "The agents of actum.toml: list them, show one.": "actum.toml 里的智能体：列出、查看。",
    "The agent's name.": "智能体的名称。",
    "List the agents, with who may use them. Exit code 1 when one of them can not be built.": (
        "列出智能体和可以使用它们的人。有智能体无法创建时退出码为 1。"
    ),
    "Show one agent: its settings, and the digest of each part. Secrets are hidden.": (
        "显示一个智能体：它的设置和各部分的摘要。机密不会显示。"
    ),
    "Every request must show the key in this variable.": "每个请求都必须带上这个变量里的密钥。",
    # agents elsewhere
    "Agents elsewhere, by A2A: look at a card, approve, send, watch a task.": (
        "通过 A2A 使用别处的智能体：查看名片、批准、发送、查看任务。"
    ),
    "The agent: its name in [a2a] of the settings, or its address.": "智能体：设置 [a2a] 里的名称，或它的地址。",
    "Show the card of an agent as it is now, and whether it is the one that you approved.": (
        "显示智能体现在的名片，以及它是否就是你批准过的那一张。"
    ),
    "Look at the card of an agent, as it says it, and agree that the agent is asked.": (
        "查看智能体自己写的名片，并同意向它提问。"
    ),
    "Take the approval of an agent back.": "收回对智能体的批准。",
    "What to ask or to do.": "要问的或要做的事。",
    "Which of its skills is meant.": "指的是它的哪一项技能。",
    "Go on with an earlier conversation.": "继续先前的对话。",
    (
        "Ask an agent that you approved, as one call on record. For instance: "
        'actum a2a send https://agents.example.org/weather "Will it rain in Oslo?"'
    ): (
        "向你批准过的智能体提问，作为一次记录在案的调用。\n\n"
        '例如：actum a2a send https://agents.example.org/weather "Will it rain in Oslo?"'
    ),
    "The id of the task, as the agent calls it.": "任务的编号，按智能体的叫法。",
    "Show how a task of an agent goes, until it is over or waits for somebody.": (
        "显示智能体的一项任务的进展，直到它结束或等待某人。"
    ),
    # the catalog
    "The catalog of agents and MCP servers: add, list, search, check.": (
        "智能体和 MCP 服务器的目录：添加、列出、搜索、检查。"
    ),
    "The entry.": "目录里的条目。",
    "Of the agent, of its card, or of the MCP server.": "智能体、它的名片或 MCP 服务器的地址。",
    "What it is called here; else its host.": "它在这里的名称；默认用主机名。",
    "An agent by A2A, or an MCP server.": "A2A 智能体，或 MCP 服务器。",
    "Who may see it: a user, or role:NAME; else everybody.": "谁可以看到它：用户或 role:NAME；默认所有人。",
    "Only users of this tenant may see it.": "只有这个租户的用户可以看到它。",
    "A word of yours by which it is found.": "你自己的标签，可以用它找到条目。",
    "Register an agent or an MCP server by its address. It is asked what it is; it is not approved by that.": (
        "按地址登记智能体或 MCP 服务器。会询问它是什么；这并不等于批准。"
    ),
    "List the entries, with how each was when it was last looked at.": "列出条目，以及上次查看时的状况。",
    "Words, or beginnings of words.": "词，或词的开头。",
    "Find entries by what they say of themselves and by your tags.": "按条目的自我介绍和你的标签查找。",
    (
        "Look at an entry again and try it: card, send, stream, cancel. An agent gets messages by that, which may cost "
        "something. Exit code 1 when a step fails."
    ): ("重新查看条目并试用：名片、发送、流、取消。智能体会因此收到消息，可能产生费用。有步骤失败时退出码为 1。"),
    "Take an entry out of the catalog.": "从目录中删除条目。",
}
"""Texts of `--help` in Chinese, by the English text with single blanks."""
