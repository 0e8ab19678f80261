"""Errors, remarks and findings in Chinese: a table from the English template to the Chinese one.

The rooms below the command line raise their errors in English and know nothing of this table; `language.tr_message`
looks a message up here when it is shown to a person. What programs read (`--json`, the record, a model) stays English.

A template has `{name}` in the place of each value. A name that ends with `why` stands for a sentence: it is looked up
here too, and where it is not found, the message stays English as a whole. `tests/cli/test_language.py` tells which
errors of the command line have no row.
"""

from __future__ import annotations

ENDINGS = {
    " (--help tells more)": "（--help 查看帮助）",
    ". Name another with --journal PATH or ACTUM_JOURNAL, or use --journal memory": (
        "。请用 --journal PATH 或 ACTUM_JOURNAL 指定别的日志，或使用 --journal memory"
    ),
}
"""What the command line itself puts behind a message."""

REASONS = {
    # of the system
    "No such file or directory": "没有这个文件或文件夹",
    "Is a directory": "这是一个文件夹",
    "Not a directory": "不是文件夹",
    "Permission denied": "没有权限",
    "No space left on device": "磁盘空间不足",
    "Read-only file system": "文件系统是只读的",
    "File exists": "文件已经存在",
    "Address already in use": "地址已被占用",
    "Too many open files": "打开的文件太多",
    "[Errno {number}] {system_why}: {path}": "{system_why}：{path}",
    "[Errno {number}] {system_why}": "{system_why}",
    "unable to open database file": "无法打开数据库文件",
    "database is locked": "数据库被占用",
    "database or disk is full": "磁盘空间不足",
    "attempt to write a readonly database": "数据库是只读的",
    "database disk image is malformed": "数据库文件已损坏",
    # of settings
    "Invalid enum value {value} - at `$.{field}`": "{field} 不能是 {value}",
    "Expected `{wanted}`, got `{given}` - at `$.{field}`": "{field} 应为 {wanted}，而不是 {given}",
    "Object contains unknown field `{field}`": "没有 `{field}` 这一项",
    "Object contains unknown field `{field}` - at `$.{table}`": "{table} 里没有 `{field}` 这一项",
    "{list}: {entry} is a network; only `deny` takes networks. Name the hosts - at `$.egress`": (
        "{list}：{entry} 是网段，只有 `deny` 可以写网段。请写出主机名"
    ),
    "private: '*' would open every private address. Name the hosts - at `$.egress`": (
        "private：'*' 会放开所有内网地址。请写出主机名"
    ),
    "{list}: {entry} was expected to be a host such as api.example.com:8443, without a path - at `$.egress`": (
        "{list}：{entry} 应是主机，例如 api.example.com:8443，不带路径"
    ),
    "{list}: {entry}: a * stands only at the beginning, as in *.example.com - at `$.egress`": (
        "{list}：{entry}：* 只能写在开头，例如 *.example.com"
    ),
    "deny: {entry} is no network - at `$.egress`": "deny：{entry} 不是网段",
    "proxy: an address such as http://proxy.corp:3128 was expected - at `$.egress`": (
        "proxy：应为地址，例如 http://proxy.corp:3128"
    ),
    "proxy: {scheme}:// was named, and a proxy is spoken to by plain http:// alone, without SOCKS and without TLS. "
    "Name an address such as http://proxy.corp:3128 - at `$.egress`": (
        "proxy：写的是 {scheme}://，而连接代理只能用普通的 http://，不支持 SOCKS 和 TLS。"
        "请写地址，例如 http://proxy.corp:3128"
    ),
    "{scheme}:// was named, and a proxy is spoken to by plain http:// alone, without SOCKS and without TLS. "
    "Name an address such as http://proxy.corp:3128": (
        "写的是 {scheme}://，而连接代理只能用普通的 http://，不支持 SOCKS 和 TLS。请写地址，例如 http://proxy.corp:3128"
    ),
    "an address such as http://proxy.corp:3128 was expected": "应为地址，例如 http://proxy.corp:3128",
    "{variable}_PROXY for {address}: {proxy_why}": "访问 {address} 的 {variable}_PROXY：{proxy_why}",
    "its address holds a name or password": "地址里有用户名或密码",
    "unknown field `{field}`": "没有 `{field}` 这一项",
    "`{field}` beside `python`": "`python` 旁边不能有 `{field}`",
    "The agent stands in code, with its own {field}. Beside python: {known}": (
        "这个智能体写在代码里，有自己的 {field}。python 旁边可以写：{known}"
    ),
    "the agent {name} can not be called so": "智能体不能叫 {name}",
    "an agent's name has 1 to 64 letters, digits, `_`, `-` or `.`": (
        "智能体的名称由 1 到 64 个字母、数字、`_`、`-` 或 `.` 组成"
    ),
    "What tools do is said by [tools.{name}]": "工具的影响请写在 [tools.{name}] 里",
    "Expected `{wanted}`, got `{given}`": "应为 {wanted}，而不是 {given}",
    "can not be read: {why}": "无法读取：{why}",
    "{toml_why} (at line {line}, column {column})": "{toml_why}（第 {line} 行第 {column} 列）",
    "{toml_why} (at end of document)": "{toml_why}（在文件末尾）",
    "Expected '=' after a key in a key/value pair": "键的后面应有 =",
    "Expected newline or end of document after a statement": "一项写完后应当换行",
    "Expected ']' at the end of a table declaration": "表名的末尾应有 ]",
    "Invalid value": "值的写法不对",
    "Invalid statement": "这一行的写法不对",
    "Invalid initial character for a key part": "键的开头字符不对",
    "Unclosed array": "数组没有结束",
    "Unclosed inline table": "内联表没有结束",
    "Unterminated string": "字符串没有结束",
    "Illegal character {character}": "不允许的字符 {character}",
    "Cannot overwrite a value": "同一项写了两次",
    "Cannot declare {key} twice": "{key} 声明了两次",
    # of a connection
    "its certificate is not trusted": "它的证书不受信任",
    "it does not speak TLS: is its address http:// and not https://?": (
        "对方不支持 TLS：地址是不是应该写 http://，而不是 https://？"
    ),
    "no TLS connection came about": "没能建立 TLS 连接",
    "its name is not known: is the address right, and is there a network?": ("无法解析主机名：地址对吗？网络通吗？"),
    "no connection came about in time: is it behind a firewall, or is the port wrong?": (
        "连接超时：是不是被防火墙挡住，或者端口不对？"
    ),
    "it can not be reached: nothing listens at this port. Is the server started?": (
        "无法连接：这个端口没有程序在监听。服务器启动了吗？"
    ),
    "it can not be reached": "无法连接",
    "the proxy does not let this through": "代理不允许这个请求",
    "the proxy wants a name and password, or others": "代理要求用户名和密码，或者用户名和密码不对",
    "the proxy can not be reached": "无法连接代理",
    "{address} is denied by [egress] in the settings": "设置中的 [egress] 禁止访问 {address}",
    "{address} is not allowed: `allow` of [egress] in the settings does not name this address": (
        "不允许访问 {address}：设置中 [egress] 的 `allow` 没有列出这个地址"
    ),
    "its address is not one of the open internet": "地址不属于公共互联网",
    "its address is one that is never reached": "这个地址永远不允许访问",
    "its address does not begin with https://": "地址不是以 https:// 开头",
    "its address is not of the kind http:// or https://": "地址不是 http:// 或 https:// 开头",
    "its address is not well formed": "地址格式不对",
    "its answer is not HTTP: is its address https:// and not http://?": (
        "对方返回的不是 HTTP：地址是不是应该写 https://，而不是 http://？"
    ),
    "it did not answer in time": "没有按时回答",
    "it did not answer for {seconds} s (timeout_s)": "{seconds} 秒没有回答（timeout_s）",
    "its answer stood still for {seconds} s (timeout_s)": "回答中断了 {seconds} 秒（timeout_s）",
    "the connection was lost": "连接断开",
    "the answer broke off": "回答中途断开",
}
"""Why something failed: stands behind a colon in other messages, and alone."""

MESSAGES = {
    # features
    "nobody can be asked here: give --yes": "这里没有人可以询问：请加 --yes",
    "there is no feature {name}, and nothing is kept for one: `actum features` lists them": (
        "没有名为 {name} 的功能，也没有为它保存的数据：用 `actum features` 查看全部功能"
    ),
    (
        "[{name}] in the settings: no setting is called so, and no installed package brings a feature of this name: "
        "install the package, or take the table out"
    ): "设置里的 [{name}]：没有这个设置项，已安装的包也没有提供这个名字的功能：请安装对应的包，或者删去这个表",
    "[{name}]: this feature has no settings, so its table is to be empty": "[{name}]：这个功能没有设置项，表里应为空",
    "the feature {name} of {package} calls itself {other}": "{package} 的功能 {name} 自称 {other}",
    "the feature {name} of {package} is no Feature of actum.features": (
        "{package} 的功能 {name} 不是 actum.features 的 Feature"
    ),
    "the feature {name} can not make its tools: {kind}: {why}": "功能 {name} 无法创建它的工具：{kind}：{why}",
    "the importer {name} of {package} is no function": "{package} 的导入器 {name} 不是函数",
    "the importer {name} of {package} returns no ImportedApp": "{package} 的导入器 {name} 没有返回 ImportedApp",
    "the toolset {name} of {package} can not be made: {kind}: {why}": (
        "无法创建 {package} 的工具集 {name}：{kind}：{why}"
    ),
    "the toolset {name} of {package} is no Toolset": "{package} 的 {name} 不是 Toolset",
    "the feature {name} has no commands, or is not switched on in actum.toml": (
        "功能 {name} 没有命令，或者没有在 actum.toml 里启用"
    ),
    # workflows
    "--pin goes with --only NODE": "--pin 要与 --only NODE 一起用",
    "--pin {path} holds no JSON object; write the names of nodes, and what each has given": (
        "--pin {path} 里不是 JSON 对象：请写明各节点的名称和它给出的结果"
    ),
    # versions of workflows
    "give a second file or name to compare with": "请给出要比较的第二个文件或名称",
    (
        "the draft of {name} has changes that nobody has published: look at them with `actum workflow show "
        "{draft}@draft`, and replace them with --revision {revision}"
    ): "{name} 的草稿有尚未发布的改动：用 `actum workflow show {draft}@draft` 查看，用 --revision {revision} 替换它们",
    "there is no published workflow {name}; see `actum workflow list`": (
        "没有已发布的工作流 {name}；见 `actum workflow list`"
    ),
    "there is no draft of workflow {name}": "工作流 {name} 没有草稿",
    # agents elsewhere
    "there is no remote agent {name} in [a2a] of the settings; there are: {known}": (
        "设置的 [a2a] 里没有远程智能体 {name}；有：{known}"
    ),
    "{name} was removed from the catalog meanwhile": "{name} 已经从目录中删除",
    "the catalog has another {name} already, at {place}; give it another --name": (
        "目录里已有另一个 {name}，地址是 {place}；请用 --name 另取名称"
    ),
    "remote agent {name}: {why}": "远程智能体 {name}：{why}",
    # APIs
    "--effects {effect}: an effect is one of {known}": "--effects {effect}：影响是下列之一：{known}",
    "this is an endpoint that was described by hand: add it again to change it": (
        "这是手工描述的端点：要更改它，请重新添加"
    ),
    "{flag} {given}: give a place and the name of a secret, as in {same} bearer=crm_key": (
        "{flag} {given}：请给出位置和密钥名称，例如 {same} bearer=crm_key"
    ),
    "--server: give the base address of the API, as in --server https://api.example.com/v1": (
        "--server：请给出 API 的基础地址，例如 --server https://api.example.com/v1"
    ),
    "give --all or --search, not both": "--all 和 --search 只能给一个",
    "give --add or --json, not both": "--add 和 --json 只能给一个",
    "set the secret of the client first: actum secrets set {name}": "请先设置客户端的密钥：actum secrets set {name}",
    "the document has no OAuth 2.0 flow that can be used (client credentials, or a log-in by authorization code), "
    "with https:// addresses": "文档没有可用的 OAuth 2.0 流程（客户端凭据，或授权码登录），且地址须为 https://",
    "the settings of the issuer at {address} can not be read": "无法读取 {address} 的签发方设置",
    "there are several schemes to log in at: name one with --scheme: {names}": (
        "有多个可登录的方案：请用 --scheme 指定一个：{names}"
    ),
    "{name} has nothing to log in at: add it with --oauth-client": "{name} 没有可登录的地方：请用 --oauth-client 添加",
    "there is no folder, file or module {name}": "没有这个文件夹、文件或模块：{name}",
    "{folder} has more than {count} files: name a folder inside it": (
        "{folder} 的文件超过 {count} 个：请指定其中的文件夹"
    ),
    "put {places} into the list of tools in {path} yourself": "请自行把 {places} 写进 {path} 的工具列表",
    "{path} is damaged: `actum config check` says where": "{path} 已损坏：`actum config check` 会指出位置",
    "the document can not be read: its server answers with status {status}": "无法读取文档：服务器的状态码是 {status}",
    "the document does not say where the API is: give --server, as in --server https://api.example.com/v1": (
        "文档没有说明 API 的地址：请用 --server 指定，例如 --server https://api.example.com/v1"
    ),
    "the document has no OAuth 2.0 flow for client credentials with an https:// token endpoint": (
        "文档里没有令牌端点为 https:// 的 OAuth 2.0 客户端凭据流程"
    ),
    "line 1, column 1: the text is YAML and has more than {limit} bytes (write the definition as JSON, "
    "of at most {most} bytes)": (
        "第 1 行第 1 列：文本是 YAML，超过了 {limit} 字节（请把定义写成 JSON，最多 {most} 字节）"
    ),
    "{path} has more than {limit} bytes": "{path} 超过 {limit} 字节",
    # Typer's own
    "No such option: {option}": "没有选项 {option}",
    "No such option: {option} (Possible options: {near})": "没有选项 {option}（相近的有：{near}）",
    "No such option: {option} Did you mean {near}?": "没有选项 {option}（是不是 {near}？）",
    "No such command '{command}'.": "没有命令“{command}”",
    "No such command '{command}'. Did you mean {near}?": "没有命令“{command}”（是不是 {near}？）",
    "Missing argument '{name}'.": "缺少参数“{name}”",
    "Missing option '{name}'.": "缺少选项“{name}”",
    "Missing command.": "缺少命令",
    "Option '{name}' requires an argument.": "选项“{name}”后面要有值",
    "Option '{name}' does not take a value.": "选项“{name}”不带值",
    "Got unexpected extra argument ({words})": "多出了参数：{words}",
    "Got unexpected extra arguments ({words})": "多出了参数：{words}",
    "Invalid value for {name}: Input should be a valid integer, unable to parse string as an integer": (
        "{name} 的值不对：应为整数"
    ),
    "Invalid value for {name}: Input should be a valid number, unable to parse string as a number": (
        "{name} 的值不对：应为数字"
    ),
    "Invalid value for {name}: '{value}' is not a valid integer.": "{name} 的值不对：{value} 不是整数",
    "Invalid value for {name}: '{value}' is not a valid float.": "{name} 的值不对：{value} 不是数字",
    "Invalid value for {name}: '{value}' is not one of {choices}.": "{name} 的值不对：{value} 不在 {choices} 之中",
    # a question and what goes along with it
    "there is no question: {usage}": "没有问题。用法：{usage}",
    "-a {path}: {why}": "-a {path}：{why}",
    "-a {path}: the file is empty": "-a {path}：文件是空的",
    "-a {path}: the file is larger than {most} bytes, which is the most": "-a {path}：文件超过了上限 {most} 字节",
    "stdin: more than {most} bytes came through the pipe, which is the most": "标准输入超过了上限 {most} 字节",
    "the files are larger than {most} bytes together, which is the most": "文件合计超过了上限 {most} 字节",
    (
        "{name}: {size} bytes of text are too much for one question, which takes {most}. Give a part of it, or let a "
        "tool read the file"
    ): "{name}：{size} 字节的文本太长，一个问题最多 {most} 字节。请只给一部分，或者让工具去读文件",
    "/attach: name a file, as in /attach picture.png": "/attach：请写文件名，例如 /attach picture.png",
    "/compact {word}: say how many turns stay as they are, as in /compact 5": (
        "/compact {word}：请写保留最近几轮，例如 /compact 5"
    ),
    "there is no command {word}; /help lists them": "没有命令 {word}；/help 列出所有命令",
    "every step is shown from here on": "从现在起显示每一步",
    "every step is kept to itself from here on": "从现在起不再显示每一步",
    "{pair}: write NAME=VALUE": "{pair}：请写成 参数名=值",
    "--answer {item}: write --answer ASK_ID=TEXT": "--answer {item}：请写成 --answer 事项编号=文本",
    # what is named and not there
    "there is no run {wanted} in this journal: `actum runs list` shows those there are": (
        "日志里没有运行 {wanted}：`actum runs list` 列出所有运行"
    ),
    "there is no run {wanted} in this journal": "日志里没有运行 {wanted}",
    "there is a run {wanted} already: use resume() to go on with it": (
        "运行 {wanted} 已经存在：继续它请用 `actum resume`"
    ),
    "the operation {operation} can not be a command: {name} means something else in every command; hide the field": (
        "操作 {operation} 不能成为命令：{name} 在每个命令中另有含义，请隐藏这个字段"
    ),
    "the operation {operation} can not be a command: neither its query nor its body has a field {name}": (
        "操作 {operation} 不能成为命令：它的查询参数和请求体都没有字段 {name}"
    ),
    "the operation {operation} can not be a command: there is no operation {finder} beside it, which lists what its "
    "path names": "操作 {operation} 不能成为命令：旁边没有列出其路径所指之物的操作 {finder}",
    "There is nothing.": "什么都没有。",
    "{count} {noun}s begin with {named}: write more of the id": (
        "有 {count} 个 {noun} 的编号以 {named} 开头：请多写几位"
    ),
    "there is no {noun} {named}: `actum {word} list` shows which there are": (
        "没有 {noun} {named}：`actum {word} list` 列出现有的"
    ),
    "To see how it goes: actum tasks wait {task}": "查看进展：actum tasks wait {task}",
    "The result has {count} bytes: actum tasks result {task}": "结果有 {count} 字节：actum tasks result {task}",
    "{count} runs begin with {wanted}: give more of the id": "有 {count} 次运行的编号以 {wanted} 开头：请多写几位",
    "no runs of {conversation} begin with {wanted}": "对话 {conversation} 里没有编号以 {wanted} 开头的运行",
    "{count} runs of {conversation} begin with {wanted}": (
        "对话 {conversation} 里有 {count} 次运行的编号以 {wanted} 开头"
    ),
    "there is no conversation {wanted}: `actum conversations list` shows those there are": (
        "没有对话 {wanted}：`actum conversations list` 列出所有对话"
    ),
    "there is no conversation {wanted} in this journal": "日志里没有对话 {wanted}",
    "{count} conversations begin with {wanted}: give more of the id": (
        "有 {count} 个对话的编号以 {wanted} 开头：请多写几位"
    ),
    "--at {at}: run {run} has the records 0 to {last}": "--at {at}：运行 {run} 的记录是 0 到 {last}",
    "{count} things that wait begin with {wanted}: give more of the id": (
        "有 {count} 个等待的事项以 {wanted} 开头：请多写几位"
    ),
    "nothing waits under {wanted}: `actum approvals list` shows what does": (
        "没有等待的事项 {wanted}：`actum approvals list` 列出所有事项"
    ),
    "{ask} could be answered until {moment}: it is too late now. To go on without it: {command}": (
        "{ask} 的回答期限是 {moment}：现在太晚了。不等回答而继续运行：{command}"
    ),
    "{ask} could be answered until {moment}: it is too late now": ("{ask} 的回答期限是 {moment}：现在太晚了"),
    "nothing waits under {wanted}": "没有等待的事项 {wanted}",
    "{item} is no call: it has no arguments": "{item} 不是调用，没有参数",
    "{item} waits for 'yes', 'deny' or 'cancel'": "{item} 等待的回答是 'yes'、'deny' 或 'cancel'",
    "{item} waits for NAME=VALUE of its form: `actum approvals show` lists them": (
        "{item} 等待填写表单，请写成 字段=值：`actum approvals show` 列出各字段"
    ),
    "only an approval can hold for the whole run": "只有批准才能用于整个运行",
    "only an approval can change arguments": "只有批准时才能修改参数",
    "{name} may not answer {item}: {others} may": "{name} 不能回答 {item}，可以回答的是：{others}",
    "{name} may not approve {item}: the run is on behalf of {same}, and another person has to": (
        "{name} 不能批准 {item}：这次运行代表的就是 {same}，要由另一个人批准"
    ),
    "{name} has agreed to {item} already: {count} persons are needed": (
        "{name} 已经批准过 {item}：一共需要 {count} 个人"
    ),
    # tools and calls
    "there is no tool {name}; there are: none. --tools says where to look": (
        "没有工具 {name}；现在一个工具也没有。用 --tools 指定工具的位置"
    ),
    "there is no tool {name}; there are: {known}. --tools says where to look": (
        "没有工具 {name}；现有：{known}。用 --tools 指定工具的位置"
    ),
    "{pair} is no argument: write key=value, or --args with a JSON object": (
        "{pair} 不是参数：请写成 参数名=值，或用 --args 给出一个 JSON 对象"
    ),
    "{key} is given twice: write a list as {example}": "{key} 写了两次：要给列表请写成 {example}",
    "{place} holds no tools: write a function in it, with @tool above it": (
        "{place} 里没有工具：请在里面写一个函数，并加上 @tool"
    ),
    "{place} is {kind}; needed is a function, a tool, a toolset, an agent, or a list of them": (
        "{place} 是 {kind}；需要的是函数、工具、工具集、智能体，或它们的列表"
    ),
    "{place} has no {name}; it has: nothing": "{place} 里没有 {name}，里面什么也没有",
    "{place} has no {name}; it has: {known}": "{place} 里没有 {name}；现有：{known}",
    "there is no file {place}": "没有文件 {place}",
    "there is no module {place} (a file is named with its .py)": "没有模块 {place}（文件名要带上 .py）",
    "two tools are called {name}: rename one, or put a prefix before its toolset": (
        "有两个工具都叫 {name}：请改掉一个名称，或给工具集加上前缀"
    ),
    # models
    "{why} (on record; to try again: {command})": "{why}（已记录；再试请输入：{command}）",
    "there is no model called {name}. Did you mean {near}? There is also: {known}": (
        "没有模型 {name}。是不是 {near}？另外还有：{known}"
    ),
    "there is no model called {name}. Use {known}": "没有模型 {name}。可以用：{known}",
    "which model? Put its name behind the address: {example}": "没有说明是哪个模型：请把模型名写在地址后面：{example}",
    "which model of {provider}? Put its name behind the colon: {example}": (
        "没有说明是 {provider} 的哪个模型：请把模型名写在冒号后面：{example}"
    ),
    "{name} needs a key: set {variable} in the environment": "{name} 需要密钥：请设置环境变量 {variable}",
    "{address} is no address of an endpoint, such as http://host:8000/v1": (
        "{address} 不是接口地址；地址的写法如 http://host:8000/v1"
    ),
    "the address of an endpoint must not hold a name or password: pass key=, or set its variable": (
        "接口地址里不能有用户名或密码：请改用对应的环境变量"
    ),
    "base_url is set and no model: set ACTUM_MODEL to its name there, or give --model NAME": (
        "设置了 base_url，但没有模型：请把 ACTUM_MODEL 设为那里的模型名，或写 --model 名称"
    ),
    (
        "{file} names the address {name}, and {variable} would be sent there: set ACTUM_BASE_URL to that address if "
        "you mean it, or unset the key"
    ): (
        "{file} 里写了地址 {name}，{variable} 会发送到那里：如果确实要这样，请把 ACTUM_BASE_URL 设为这个地址，"
        "否则取消这个密钥变量"
    ),
    "{place} is {kind}; a Model is an object with a name and an async method reply()": (
        "{place} 是 {kind}；模型应为有 name 和异步方法 reply() 的对象"
    ),
    "{model}: {why}": "{model}：{why}",
    "base_url has a '#': give the address alone, and the name of the model as the model": (
        "base_url 里有 #：这里只写地址，模型名请写在 model 里"
    ),
    "the name of the model has an address already: leave base_url out": "模型名里已经有地址：请去掉 base_url",
    "{name} is at no endpoint: key, base_url, timeout_s and headers are for models at one": (
        "{name} 不使用接口：key、base_url、timeout_s 和 headers 只用于通过接口使用的模型"
    ),
    "dialect {dialect} is none of a completions endpoint: name a text dialect, or none": (
        "方言 {dialect} 不能用于 completions 接口：请写一种文本方言，或者不写"
    ),
    "local:{name} can not be loaded: no reason given": "无法加载 local:{name}：没有给出原因",
    "dialect {dialect} is for models that are named by their provider or address": (
        "方言 {dialect} 只能用于按提供方或地址指定的模型"
    ),
    "{name} is used from now on, where no model is named: {path}": "今后没有指定模型时使用 {name}：{path}",
    "Remembered; --model names another: {path}": "已记住；用 --model 可以另选：{path}",
    "No model was named. Servers on this machine say that they have:": "没有指定模型。本机的服务器提供这些模型：",
    "and {count} more: actum models": "还有 {count} 个：actum models",
    (
        "No server of models answers on this machine at the usual ports of Ollama (11434), llama.cpp (8080), LM Studio "
        "(1234) and vLLM (8000)."
    ): "本机没有模型服务器在常用端口上应答：Ollama（11434）、llama.cpp（8080）、LM Studio（1234）、vLLM（8000）。",
    "there is no dialect called {name}: use one of {known}": "没有方言 {name}；可以用：{known}",
    # settings and limits
    "the settings: {why}. The settings are: {known}": "设置：{why}。可以写的有：{known}",
    "{file}: {why}. The {what} are: {known}": "{file}：{why}。可以写的有：{known}",
    "--header: give a name and a value, as in --header 'X-Team: blue'": (
        "--header：请写名称和值，例如 --header 'X-Team: blue'"
    ),
    "--extra {said}: give a name and a value, as in --extra reasoning_effort=high": (
        "--extra {said}：请写名称和值，例如 --extra reasoning_effort=high"
    ),
    "--limit {said}: give a name and a number, as in --limit calls=20": (
        "--limit {said}：请写名称和数字，例如 --limit calls=20"
    ),
    "put the line {line} into {path} yourself": "请自己把这一行写进 {path}：{line}",
    "there is no home folder to keep settings in": "没有主目录，无法保存设置",
    "there is no home folder to keep the journal in": "没有主目录，无法保存日志",
    "there is no home folder to keep anything in": "没有主目录，无法保存任何内容",
    "{path} can not be read: {why}": "无法读取 {path}：{why}",
    "{path} is gone": "{path} 不见了",
    "{path} can not be written: {why}": "无法写入 {path}：{why}",
    "{path}: another process is writing it": "{path}：另一个进程正在写入",
    "{word} is no length of time: write 30m, 24h, 90d or 2w": "{word} 不是时长：请写 30m、24h、90d 或 2w",
    "{word} is no time: write 24h, 90d, 2026-11-01 or 2026-11-01T12:30": (
        "{word} 不是时间：请写 24h、90d、2026-11-01 或 2026-11-01T12:30"
    ),
    "{file}: can not be read: {why}": "无法读取 {file}：{why}",
    "{file}, line {line}: can not be read: {why}": "{file} 第 {line} 行无法读取：{why}",
    "{file}, line {line}: {why}": "{file} 第 {line} 行：{why}",
    "{file}, line {line}: {why}. {hint_why}": "{file} 第 {line} 行：{why}。{hint_why}",
    "{file}, line {line}: {why}. The {what} are: {known}": "{file} 第 {line} 行：{why}。可以写的有：{known}",
    "{file}, line {line}: {why}. The {what} are: {known}. Did you mean `{near}`?": (
        "{file} 第 {line} 行：{why}。是不是 `{near}`？可以写的有：{known}"
    ),
    "{first_why} ({count} more: `actum config check`)": "{first_why}（还有 {count} 处：`actum config check`）",
    "Nothing is wrong with {files}.": "{files} 没有问题。",
    "There is no settings file; `actum init` writes one.": "没有设置文件；`actum init` 会写一个。",
    "{path} is there already, and was left as it is: `actum config check` looks at it": (
        "{path} 已经存在，保持不变：用 `actum config check` 检查"
    ),
    "wrote {path}: everything in it is a comment. Take the # away from what you want to set": (
        "已写好 {path}：里面全是注释，要设置哪一项就去掉它前面的 #"
    ),
    "{word} is over: write a time that is still to come, such as 30d or 2030-01-31": (
        "{word} 已经过去：请写将来的时间，例如 30d 或 2030-01-31"
    ),
    "{place} failed while it was loaded: {problem}": "加载 {place} 时出错：{problem}",
    # agents by name
    "there is no agent {name}": "没有智能体 {name}",
    "there is no agent {name}; there are: {known}": "没有智能体 {name}；现有：{known}",
    "there is no agent {name}; there are: {known}. Did you mean `{near}`?": (
        "没有智能体 {name}（是不是 `{near}`？）；现有：{known}"
    ),
    "there is no agent {name}; there are: none, since the settings have no [agents.{same}]": (
        "没有智能体 {name}：设置里没有 [agents.{same}]"
    ),
    "[agents.{agent}]: there is no agent {name}; there are: {known}": (
        "[agents.{agent}]：没有智能体 {name}；现有：{known}"
    ),
    "[agents.{agent}]: there is no agent {name}; there are: {known}. Did you mean `{near}`?": (
        "[agents.{agent}]：没有智能体 {name}（是不是 `{near}`？）；现有：{known}"
    ),
    "[agents.{agent}]: there is no agent {name}; there are: none": (
        "[agents.{agent}]：没有智能体 {name}；没有别的智能体"
    ),
    "[agents.{agent}]: python = {place}: write package.module:agent or file.py:agent": (
        "[agents.{agent}]：python = {place}：请写成 package.module:agent 或 file.py:agent"
    ),
    "[agents.{agent}]: output = {place}: write file.py:Name or module:Name of a class": (
        "[agents.{agent}]：output = {place}：请用 file.py:Name 或 module:Name 指定一个类"
    ),
    "[agents.{agent}]: {place} is {kind}; needed is an object Agent(...)": (
        "[agents.{agent}]：{place} 是 {kind}；需要的是一个 Agent(...) 对象"
    ),
    "agents hand tasks to each other in a circle, and each would wait for itself: {circle}": (
        "智能体循环交托任务，最后会等待自己：{circle}"
    ),
    "run {run} is of an agent of other settings: {why}. --accept goes on without it": (
        "运行 {run} 属于另一份设置里的智能体：{why}。加上 --accept 就不用它而继续"
    ),
    "There is one agent, without a name. [agents.NAME] in actum.toml gives names; see docs/agents.md.": (
        "只有一个没有名称的智能体。在 actum.toml 里写 [agents.名称] 就有了名称，见 docs/agents.md。"
    ),
    "{place}: bare definitions can not be wrapped; name it without prefix, rename and only": (
        "{place}：单独的工具定义不能套包装：请去掉 prefix、rename 和 only"
    ),
    # keys and serving
    "a journal in memory keeps nothing beyond this command: name a file or a database by --journal": (
        "内存里的日志在命令结束后什么也不会保留：请用 --journal 指定文件或数据库"
    ),
    "--issuer needs {flag}: this server's address, which its tokens are meant for": (
        "--issuer 需要 {flag}：本服务器的地址，即令牌的受众"
    ),
    "{place}: write an address and a port, as in --http 127.0.0.1:8000": (
        "{place}：请写地址和端口，例如 --http 127.0.0.1:8000"
    ),
    "actum serves at {address}": "actum 正在 {address} 提供服务",
    "actum serves at {address}, as {public}": "actum 正在 {address} 提供服务，对外地址为 {public}",
    "MCP      {address}": "MCP      {address}",
    "MCP      {address}, for old clients {older}/sse": "MCP      {address}，旧客户端用 {older}/sse",
    "API      {address}/v1, described at {same}/openapi.json": "API      {address}/v1，说明见 {same}/openapi.json",
    "agents   {names}": "智能体   {names}",
    "health   {address}/healthz, {same}/readyz": "健康检查 {address}/healthz，{same}/readyz",
    "metrics  http://{place}/metrics": "指标     http://{place}/metrics",
    "metrics  {address}/metrics, scope metrics": "指标     {address}/metrics，需要权限 metrics",
    "comes in: whoever shows a key": "可以访问：出示密钥的任何人",
    "comes in: whoever shows a key, or a token of {issuer}": "可以访问：出示密钥或 {issuer} 签发的令牌的任何人",
    "comes in: whoever reaches it, without a key (--insecure)": (
        "可以访问：能连接到它的任何人，不需要密钥（--insecure）"
    ),
    "comes in: whoever is on this machine, without a key": "可以访问：本机上的任何人，不需要密钥",
    (
        "others than this machine reach {host}, and nobody would have to show who they are: have tokens checked, "
        "listen at 127.0.0.1, or say insecure if you mean it"
    ): "其他机器可以访问 {host}，却不需要证明身份：请检查令牌，或只监听 127.0.0.1；确实要这样时请写 --insecure",
    (
        "others than this machine reach {host}, and no key is valid any more: `actum keys add NAME` makes a key and "
        "shows it once; --insecure lets everybody in"
    ): (
        "其他机器可以访问 {host}，但已经没有有效的密钥：`actum keys add 名称` 创建并显示一次密钥；"
        "--insecure 允许任何人访问"
    ),
    (
        "others than this machine reach {host}, and there is no key for them yet: `actum keys add NAME` makes a key "
        "and shows it once; --insecure lets everybody in"
    ): (
        "其他机器可以访问 {host}，但还没有给它们的密钥：`actum keys add 名称` 创建并显示一次密钥；"
        "--insecure 允许任何人访问"
    ),
    (
        "a key named {name} is there, and a name is never used for a second key, since the record names keys: choose "
        "another name"
    ): "已经有名为 {name} 的密钥。记录里写的是密钥的名称，所以名称不会重复使用：请换一个名称",
    (
        "a key named {name} was revoked, and a name is never used for a second key, since the record names keys: "
        "choose another name"
    ): "名为 {name} 的密钥已吊销。记录里写的是密钥的名称，所以名称不会重复使用：请换一个名称",
    "there is no key {name}: `actum keys list` shows which there are": (
        "没有密钥 {name}：`actum keys list` 列出所有密钥"
    ),
    "{name} is no name for a key: letters, digits and hyphens, 40 at most": (
        "{name} 不能作密钥的名称：只能用字母、数字和连字符，最多 40 个"
    ),
    "{flag} and {other}: give one of the two": "{flag} 和 {other}：只能给一个",
    "the scope {scope}: a scope is one word, without blanks and quotes": (
        "权限 {scope}：权限是一个词，不能有空格和引号"
    ),
    "the {flag} {word}: write a name, with {most} characters at most": "{flag} {word}：请写名称，最多 {most} 个字符",
    "an empty pattern of names fits nothing: leave it out to allow all names": (
        "空的名称通配什么也不匹配：要允许所有名称，请不要写"
    ),
    "public: {address} is no address, such as https://tools.example.org": (
        "public：{address} 不是地址；地址的写法如 https://tools.example.org"
    ),
    "an issuer of tokens needs a resource: this server's address, which its tokens are for": (
        "指定令牌的签发方时，还要写本服务器的地址（resource），即令牌的受众"
    ),
    "proxies: {word} is neither an address nor a network, such as 10.0.0.5 or 10.1.0.0/16": (
        "proxies：{word} 既不是地址也不是网段；写法如 10.0.0.5 或 10.1.0.0/16"
    ),
    "the key has {length} characters, and needs {least}: `openssl rand -hex 32`": (
        "密钥只有 {length} 个字符，至少要 {least} 个：可以用 `openssl rand -hex 32` 生成"
    ),
    "the keys could not be read within {seconds} seconds": "没能在 {seconds} 秒内读出密钥",
    "folder {name}: there is no folder {path}": "文件夹 {name}：没有文件夹 {path}",
    "certificate {file}: it can not be used with its key: {why}": "证书 {file} 无法与它的密钥一起使用：{why}",
    "certificate {file}: it can not be used with its key: {reason}": "证书 {file} 无法与它的密钥一起使用：{reason}",
    "certificate: TLS begins or ends with a new start only": "certificate：启用或停用 TLS 需要重新启动",
    "{name} holds no scripts that are tools: {told}": "{name} 中没有可以当作工具的脚本：{told}",
    "It has no jail: it reaches all that you can reach, and the network.": (
        "它没有沙箱：可以访问您能访问的一切，包括网络。"
    ),
    "It can not read {word} in its jail: add --read with the folder of this file.": (
        "它在沙箱中不能读取 {word}：请用 --read 加上这个文件所在的文件夹。"
    ),
    "It runs in a jail, without a network and without your files: see --read, --write, --host and --no-jail.": (
        "它在沙箱中运行，没有网络，也看不到您的文件：见 --read、--write、--host 和 --no-jail。"
    ),
    "--read, --write and --host go with a command, and not with --no-jail": (
        "--read、--write 和 --host 要与命令一起使用，不能与 --no-jail 同用"
    ),
    "no tool: {problem}": "不是工具：{problem}",
    "key_file needs a certificate": "key_file 需要同时设置 certificate",
    # the journal
    (
        "the key of the journal in {file} has {length} bytes, and needs {least}: make one with `openssl rand -hex 32 > "
        "{same}`"
    ): "{file} 里的日志密钥只有 {length} 字节，至少要 {least} 字节：可以用 `openssl rand -hex 32 > {same}` 生成",
    "the key of the journal can not be read: {why}": "无法读取日志密钥：{why}",
    "can not open the journal {path}: {why}": "无法打开日志 {path}：{why}",
    "{name} is a database of something else: name another file for the journal": (
        "{name} 是别的程序的数据库：请为日志指定另一个文件"
    ),
    "the journal {name} was written by a newer actum (schema {version}): update actum": (
        "日志 {name} 是更新版本的 actum 写的（schema {version}）：请升级 actum"
    ),
    (
        "the journal {name} is signed, and nothing can be forgotten without its key: what is deleted would have to be "
        "signed, or `actum journal verify` finds a fault. Open it with its key (ACTUM_JOURNAL_KEY_FILE)"
    ): (
        "日志 {name} 已签名，没有它的密钥就不能遗忘任何内容：删除也要签名，否则 `actum journal verify` 会报错。"
        "请用它的密钥打开（ACTUM_JOURNAL_KEY_FILE）"
    ),
    (
        "the journal {name} can not be opened: it was written by {writer} (journal format {old}), and this version "
        "reads format {new} alone. The journal is not damaged: `actum journal verify` checks it, and `actum journal "
        "export` and `actum journal heads` export it"
    ): (
        "无法打开日志 {name}：它由 {writer} 写成（日志格式 {old}），而这个版本只读取格式 {new}。日志没有损坏："
        "`actum journal verify` 可以校验它，`actum journal export` 和 `actum journal heads` 可以导出它"
    ),
    (
        "{path} was deleted or replaced while runs were under way, so that another process may go on with the same "
        "runs: this process stops. Resume the runs when no other process works on them"
    ): (
        "有运行正在执行时，{path} 被删除或替换，别的进程可能会继续同样的运行：这个进程停止。"
        "请在没有别的进程处理时再恢复这些运行"
    ),
    "another process holds the tokens in {path}": "另一个进程正在使用 {path} 里的令牌",
    "can not open the journal {name}: this address is not well-formed": "无法打开日志 {name}：地址格式不对",
    "{run} is under way: wait until it has ended or paused": "{run} 正在执行：请等它结束或暂停",
    "run {run} was interrupted before its calls were on record: nothing was done, so make the calls anew": (
        "运行 {run} 在调用写入记录之前就中断了：什么都没有做，请重新发起调用"
    ),
    "run {run} has a model: go on with it by its agent": "运行 {run} 使用模型：请用它的智能体继续",
    "run_id={id}: use 1 to 128 letters, digits, '_', '-', '.' or ':'": (
        "run_id={id}：请用 1 到 128 个字母、数字、_、-、. 或 :"
    ),
    "the journal {name} failed: {why}": "日志 {name} 出错：{why}",
    "the worker of Celery has ended by itself; what it wrote stands above": "Celery 工作进程自行结束了；它的输出在上面",
    "tasks on Celery need a package that is not installed: pip install 'actum[celery]'": (
        "用 Celery 执行任务需要一个未安装的包：pip install 'actum[celery]'"
    ),
    "[tasks] broker: its address has to begin with redis:// or rediss://": (
        "[tasks] broker：地址必须以 redis:// 或 rediss:// 开头"
    ),
    'tasks on Celery need a broker: set broker = "redis://127.0.0.1:6379/0" in [tasks]': (
        '用 Celery 执行任务需要消息代理：在 [tasks] 中设置 broker = "redis://127.0.0.1:6379/0"'
    ),
    "a journal in PostgreSQL needs psycopg: pip install 'actum[postgres]'": (
        "把日志放在 PostgreSQL 里需要 psycopg：pip install 'actum[postgres]'"
    ),
    "forget what? Name runs, --older-than 90d or --principal NAME": (
        "没有说明要遗忘什么：请写运行编号、--older-than 90d 或 --principal 名称"
    ),
    "there is a trigger {name} already: actum trigger remove {again}": (
        "已有名为 {name} 的触发器：请先运行 actum trigger remove {again}"
    ),
    "server = {server} means {count} MCP servers: name one of them": (
        "server = {server} 对应 {count} 个 MCP 服务器：请只写其中一个"
    ),
    "a trigger can not be called {name}: up to 64 letters, digits, - and _": (
        "触发器不能叫 {name}：最多 64 个字母、数字、- 和 _"
    ),
    "there is no trigger {name} in {file}": "{file} 中没有名为 {name} 的触发器",
    "remove the table [triggers.{name}] by hand: it is written in a way that this can not undo": (
        "请手工删除表 [triggers.{name}]：它的写法无法自动还原"
    ),
    "no workflow is called {name}": "没有名为 {name} 的工作流",
    "--tenant goes with --principal NAME": "--tenant 要和 --principal 名称 一起使用",
    "users of several tenants have this name: {names}. Say which with --tenant NAME": (
        "多个租户都有这个名称的用户：{names}。请用 --tenant 名称 指明"
    ),
    "this deletes what {count} runs say, for good: say --yes": "这会永久删除 {count} 次运行的内容：确认请加 --yes",
    "export what? Name runs, or --all": "没有说明要导出什么：请写运行编号，或者 --all",
    "--file checks all that is in the file: name no runs": "--file 会校验文件里的全部内容：不要再写运行编号",
    "--json or --csv, not both": "--json 和 --csv 只能用一个",
    "--decision {decision}: it is one of {known}": "--decision {decision}：应为 {known} 之一",
    "Nothing is on record yet. Try: {example}": "还没有记录。试试：{example}",
    "Nothing is on record that fits.": "没有符合条件的记录。",
    "Following every run; Ctrl-C ends.": "正在跟踪所有运行，按 Ctrl-C 结束。",
    "{run} is drawn in {file}": "{run} 已画在 {file} 里",
    "To write these files: {command}": "要写出这些文件：{command}",
    "{path} is written": "已写入 {path}",
    "The tools of this run made no files.": "这次运行的工具没有生成文件。",
    "{branch} branches off from {run} at {at}": "{branch} 从 {run} 的第 {at} 条记录处分支",
    "{count} of them have not ended, and could not be gone on with.": "其中 {count} 次还没有结束，遗忘后无法再继续。",
    "Branches and summaries that hold some of it: {names}": "含有其中部分内容的分支和总结：{names}",
    "{count} assistants, threads and messages of this user are deleted, too.": (
        "该用户的 {count} 个 assistant、thread 和消息也会被删除。"
    ),
    "{count} rows of this user in tables of features are deleted, too.": "各功能的表中该用户的 {count} 行也会被删除。",
    "still being driven, and not forgotten: {names}": "还在执行，没有遗忘：{names}",
    "The record was damaged or changed: `actum journal verify` checks all of it.": (
        "记录已损坏或被改动：`actum journal verify` 会校验全部记录。"
    ),
    "... and {count} more. The record was damaged or changed: `actum journal verify` checks all of it.": (
        "…… 还有 {count} 处。记录已损坏或被改动：`actum journal verify` 会校验全部记录。"
    ),
    "Without a key or exported heads, a run that was rewritten as a whole can not be told.": (
        "没有密钥或导出的链头，就看不出整个被重写的运行。"
    ),
    # approvals and conversations
    "Nothing waits.": "没有等待的事项。",
    "You began this run: another person has to approve it.": "这次运行是您发起的：要由另一个人批准。",
    "the webhook could not be reached: {why}": "无法连接 webhook：{why}",
    "the webhook answered with the status {status}": "webhook 返回了状态码 {status}",
    "reminded of {count}": "已提醒 {count} 项",
    "On record. To go on: {command}": "已记录。继续运行请输入：{command}",
    "Nobody has talked yet. Try: actum chat": "还没有对话。试试：actum chat",
    "/compact sums up this conversation, and /new begins another one": "/compact 总结这次对话，/new 开始新的对话",
    # MCP
    "MCP servers need a package that is not installed: pip install 'actum[mcp]'": (
        "使用 MCP 服务器需要安装：pip install 'actum[mcp]'"
    ),
    "there is no MCP server {name} in {file}; there are: none. `actum mcp add` adds one": (
        "{file} 里没有 MCP 服务器 {name}；一个也没有配置。用 `actum mcp add` 添加"
    ),
    "there is no MCP server {name} in {file}; there are: {known}. `actum mcp add` adds one": (
        "{file} 里没有 MCP 服务器 {name}；现有：{known}。用 `actum mcp add` 添加"
    ),
    "there is no MCP server {name}; there are: none": "没有 MCP 服务器 {name}；一个也没有配置",
    "there is no MCP server {name}; there are: {known}": "没有 MCP 服务器 {name}；现有：{known}",
    "MCP server {name} runs without a jail: it reaches all that you can reach": (
        "MCP 服务器 {name} 不在沙箱里运行：你能访问的，它都能访问"
    ),
    "MCP server {name} is disabled": "MCP 服务器 {name} 已停用",
    "MCP server {name}: give a command or a url": "MCP 服务器 {name}：请写启动命令或地址",
    "{name}: name one server that is not disabled": "{name}：请写一个没有停用的服务器",
    "{flag} {word}: write NAME{sign}VALUE": "{flag} {word}：请写成 名称{sign}值",
    "{name} has no tool {tool} that could be approved": "{name} 没有可以批准的工具 {tool}",
    "{name} is no server to log in at: it has no url, or a header of its own for that": (
        "{name} 不是需要登录的服务器：它没有地址，或者已经配置了认证头"
    ),
    "--sse, --key-env, --issuer and --insecure are about HTTP: say where, as in --http :8000": (
        "--sse、--key-env、--issuer 和 --insecure 只用于 HTTP：请写明地址，例如 --http :8000"
    ),
    "--upstream serves what other servers do: leave out --tools, --folder, --prompts, --runs, --instructions": (
        "--upstream 提供的是其他服务器的内容：请去掉 --tools、--folder、--prompts、--runs、--instructions"
    ),
    "--http {place}: write an address and a port, as in --http 127.0.0.1:8000": (
        "--http {place}：请写地址和端口，例如 --http 127.0.0.1:8000"
    ),
    "--folder {word}: write a name and a path, as in --folder notes=./notes": (
        "--folder {word}：请写名称和路径，例如 --folder notes=./notes"
    ),
    "{place} holds no prompts: write a function in it, with @prompt of actum.server above it": (
        "{place} 里没有提示词：请在里面写一个函数，并加上 actum.server 的 @prompt"
    ),
    "--key-env {variable}: this variable is empty": "--key-env {variable}：这个变量是空的",
    "--issuer needs --resource: this server's address, which its tokens are meant for": (
        "--issuer 需要 --resource：本服务器的地址，即令牌的受众"
    ),
    "port {port} of this machine can not be listened on: {why}": "无法监听本机端口 {port}：{why}",
    "it listens at every address: say under which names it is reached, such as example.org": (
        "它监听所有地址：请用 --allow-host 说明客户端访问时的主机名，例如 example.org"
    ),
    "Added. Look at its tools and approve them with {command}.": "已添加。请用 {command} 查看并批准它的工具。",
    "No client that is known here has servers in its usual place. Name a file.": (
        "已知的客户端都没有在常用位置配置服务器。请指定文件。"
    ),
    "{count} taken over. Approve each with `actum mcp approve NAME`.": (
        "已导入 {count} 个。请用 `actum mcp approve 名称` 逐个批准。"
    ),
    "{name} is left out: it is an extension, which only the editor can start": (
        "略过 {name}：它是编辑器扩展，只能由编辑器启动"
    ),
    "{name} is there already: it is left as it is": "{name} 已经存在，保持不变",
    "there is no program {program}. If that is a program and its arguments, write them without quotes: actum mcp add "
    "{name} -- {words}": "没有程序 {program}。如果这是程序和它的参数，请不要加引号：actum mcp add {name} -- {words}",
    "There are none. Add one: actum mcp add NAME URL, or actum mcp add NAME -- COMMAND ARGS": (
        "还没有服务器。添加方法：actum mcp add 名称 地址，或 actum mcp add 名称 -- 命令 参数"
    ),
    "{name}: nothing waits; {count} tools are approved": "{name}：没有等待批准的工具；已批准 {count} 个",
    "Nothing was approved.": "没有批准任何内容。",
    "{name}: approved nothing new": "{name}：没有新批准的内容",
    "{name}: approved {names}": "{name}：已批准 {names}",
    "{name}: believed to only read, and not asked about: {names}": "{name}：相信它们只读，不再询问：{names}",
    "It was not started. With --yes it is, without being asked about.": "没有启动。加上 --yes 就不再询问，直接启动。",
    "There is no browser here: open the address yourself, or use --paste.": (
        "这里没有浏览器：请自己打开这个地址，或使用 --paste。"
    ),
    "{name} serves {what} on stdin and stdout": "{name} 通过标准输入输出提供服务：{what}",
    "serving {what} at {address}": "正在 {address} 提供服务：{what}",
    # the policy
    "there is no policy: name a file with --policy, ACTUM_POLICY or in actum.toml": (
        "没有策略：请用 --policy、ACTUM_POLICY 或在 actum.toml 里指定策略文件"
    ),
    "the policy {path} can not be read: {why}": "无法读取策略 {path}：{why}",
    "{place}: rule {number}: {why}": "{place}：第 {number} 条规则：{why}",
    "{place}: rule {number}: {why}. A rule has: {known}": "{place}：第 {number} 条规则：{why}。规则可以写：{known}",
    "{file}: {why}. A policy has: {known}": "{file}：{why}。策略可以写：{known}",
    'expires = {said}: write a number and its unit, such as "30m", "12h" or "7d"': (
        'expires = {said}：请写数字和单位，例如 "30m"、"12h" 或 "7d"'
    ),
    "approvers: {name}: write a user, user:NAME, NAME@TENANT or role:ROLE": (
        "approvers：{name}：请写用户名、user:NAME、NAME@TENANT 或 role:ROLE"
    ),
    "quorum = {quorum}: there are {count} approvers": "quorum = {quorum}：批准人只有 {count} 个",
    "approvers, quorum, expires_s and not_self belong to a rule that asks": (
        "approvers、quorum、expires_s 和 not_self 只用于要问人的规则"
    ),
    "conditions need CEL: pip install 'actum[policy]'": "条件需要 CEL：pip install 'actum[policy]'",
    "{word}: {missing} is missing: {usage}": "{word}：缺少 {missing}：{usage}",
    # questions at the terminal
    "This changes something outside the conversation.": "这个操作会改变对话之外的东西。",
    "This tool does not say what it changes.": "这个工具没有说明会改变什么。",
    "The tool has changed since this was asked. {why}": "提问之后工具变了。{why}",
    "The policy has changed since this was asked. {why}": "提问之后策略变了。{why}",
    "The arguments were changed. {why}": "参数改过了。{why}",
    "The program was interrupted during this call. It may or may not have happened. Did it?": (
        "程序在这次调用期间中断了。它可能执行了，也可能没有。执行了吗？"
    ),
    "approve {count} tools as shown?  [y]es  [n]o: ": "按上面显示的内容批准 {count} 个工具吗？  [y] 批准  [n] 不批准：",
    "these say that they only read: make their calls without asking?  [y]es  [n]o: ": (
        "这些工具声明自己只读：调用时不再询问吗？  [y] 不再询问  [n] 仍然询问："
    ),
    "start this program?  [y]es  [n]o: ": "启动这个程序吗？  [y] 启动  [n] 不启动：",
    "take it over?  [y]es  [n]o: ": "导入吗？  [y] 导入  [n] 不导入：",
    "Open it in the browser of this machine now? [y/N] ": "现在用本机的浏览器打开吗？[y/N] ",
    "Paste that address: ": "请粘贴那个地址：",
    "To log in, open this address. {site}": "请打开这个地址登录。{site}",
    "In the end the browser can not reach {address}. Copy the whole address that it shows then.": (
        "最后浏览器会打不开 {address}。请复制那时地址栏里的完整地址。"
    ),
    "nobody came back from the login": "没有等到登录完成",
    "Which one shall get what you say? A number, or Enter for the embedded one: ": (
        "把您说的话发给哪一个？请输入序号，直接回车则使用内置模型："
    ),
    "Delete what {count} runs say, for good?  [y]es  [n]o: ": (
        "永久删除 {count} 次运行的内容吗？  [y] 删除  [n] 不删除："
    ),
    "Nothing is missing.": "没有缺少的内容。",
    "[serve.login] needs an issuer: the OpenID provider at which people log in": (
        "[serve.login] 缺少 issuer：供用户登录的 OpenID 服务方"
    ),
    "[serve.login] issuer: write an address, such as https://accounts.example.org": (
        "[serve.login] issuer：请写一个地址，例如 https://accounts.example.org"
    ),
    "[serve.login] issuer: its address has to begin with https://": "[serve.login] issuer：地址必须以 https:// 开头",
    "[serve.login] needs a client_id: the name of this server at the issuer": (
        "[serve.login] 缺少 client_id：本服务器在 issuer 处的名称"
    ),
    "[serve.login] client_secret: {said} is not there, or is empty": (
        "[serve.login] client_secret：没有 {said}，或者它是空的"
    ),
    "[serve.a2a] signing_key: {said} is not there, or is empty": "[serve.a2a] signing_key：没有 {said}，或者它是空的",
    "[serve.a2a] grpc: others than this machine would reach {place}: it needs a certificate and keys": (
        "[serve.a2a] grpc：本机以外的人可以访问 {place}：需要证书和密钥"
    ),
    # secrets
    "name the new key: set {file} or {variable}": "请指定新密钥：设置 {file} 或 {variable}",
    "there is no stdin to read the value of the secret from": "没有标准输入，无法读取机密的值",
    "this terminal would show the value: give it by stdin, as in `< key.txt`": (
        "这个终端会显示输入的值：请通过标准输入给出，例如 `< key.txt`"
    ),
    "--finish and --cancel exclude each other": "--finish 和 --cancel 不能同时使用",
    "the name of a secret has up to 128 letters, digits, `_`, `.` and `-`, as in crm_key": (
        "机密的名称由最多 128 个字母、数字、`_`、`.` 和 `-` 组成，例如 crm_key"
    ),
    "the value of a secret is empty: nothing was kept": "机密的值是空的：没有保存",
    "the value of a secret is not a text: nothing was kept": "机密的值不是文本：没有保存",
    "the value of a secret has more than 64 KiB: nothing was kept": "机密的值超过 64 KiB：没有保存",
    (
        "there is no key for the secrets in {path}: no system keyring answers, and neither {variable} nor {file} is set"
    ): "{path} 里的机密没有密钥：没有可用的系统钥匙串，{variable} 和 {file} 也都没有设置",
    (
        "the key of {source} does not open {path}: it is another key, or the file is damaged. Nothing was changed"
    ): "来自 {source} 的密钥打不开 {path}：密钥不对，或者文件已损坏。没有做任何更改",
    "{path} is damaged ({what}): put back a copy of it. Nothing was changed": (
        "{path} 已损坏（{what}）：请恢复它的副本。没有做任何更改"
    ),
    (
        "{path} is older than it was: somebody put an old copy there. Put the newest one back, or delete {count} if "
        "the old one is meant. Nothing was changed"
    ): "{path} 比原来的旧：有人放回了旧的副本。请恢复最新的副本；如果确实要用旧的，请删除 {count}。没有做任何更改",
    "{path} is gone, and it held secrets: put it back, or delete {count} to begin anew": (
        "{path} 不见了，里面有机密：请把它放回去，或者删除 {count} 重新开始"
    ),
    "{path} was written by another version of actum: nothing was changed": (
        "{path} 是由另一个版本的 actum 写入的：没有做任何更改"
    ),
    "{path} can not be written: {why}. Nothing was changed": "无法写入 {path}：{why}。没有做任何更改",
    "{variable} and {file} are both set: keep one of them": "{variable} 和 {file} 都设置了：请只保留一个",
    (
        "{source} holds no safe key: a key has 32 random characters or more; make one with `openssl rand -hex 32`"
    ): "{source} 里的密钥不安全：密钥至少要有 32 个随机字符；可以用 `openssl rand -hex 32` 生成",
    (
        "{variable} names {path}, which lies beside the secrets: whoever copies the folder would have both. Keep the "
        "key elsewhere"
    ): "{variable} 指定的 {path} 和机密放在一起：复制这个文件夹的人会同时得到两者。请把密钥放在别处",
    "the system keyring gives no key ({kind}): unlock it, or set {file}": (
        "系统钥匙串没有给出密钥（{kind}）：请解锁它，或者设置 {file}"
    ),
    "the system keyring did not answer in {seconds} s: unlock it and start again, or set {file}": (
        "系统钥匙串在 {seconds} 秒内没有回答：请解锁后重新开始，或者设置 {file}"
    ),
    "encrypted secrets need an extra: pip install 'actum[secrets]'": (
        "加密保存机密需要附加组件：pip install 'actum[secrets]'"
    ),
    "this is the {other} key of {path}: do this with the {right} key": (
        "这是 {path} 的 {other} 密钥：请用 {right} 密钥执行"
    ),
    "one key opens {path}: there is no rekey to cancel": "只有一个密钥能打开 {path}：没有可取消的更换",
    (
        "two keys open {path} already: end that rekey first, with --finish by the new key or --cancel by the old one"
    ): "已经有两个密钥能打开 {path}：请先结束上一次更换，用新密钥执行 --finish，或用旧密钥执行 --cancel",
    "the new key is the one that opens {path} now: make another one": "新密钥就是现在的密钥：请另外生成一个",
}
"""What the command line and the rooms below it say most often."""

WAITING = {
    "thinking": "思考中",
    "looking at MCP servers": "正在查看 MCP 服务器",
    "connecting to {name}": "正在连接 {name}",
    "asking {name}": "正在询问 {name}",
    "waiting until the browser is back; Ctrl-C ends this": "等待浏览器完成登录；按 Ctrl-C 取消",
}
"""What is waited for, beside the spinner."""

FINDINGS = {
    "{encoding}: Chinese can not be shown": "{encoding}：无法显示中文",
    "set LANG=C.UTF-8 or PYTHONUTF8=1": "请设置 LANG=C.UTF-8 或 PYTHONUTF8=1",
    "{version} on {system}": "{version}，{system}",
    "{width} columns, colours: none": "{width} 列，没有颜色",
    "{width} columns, colours: {kind}": "{width} 列，颜色：{kind}",
    "nobody to ask, as stdin or stderr is no terminal": "无法向人提问：标准输入或标准错误不是终端",
    "what needs approval waits for `actum resume`, or give --yes": "需要批准的调用会等待 `actum resume`，或者加 --yes",
    "none is set": "都没有设置",
    "mend actum.toml": "请改正 actum.toml",
    "the defaults": "默认值",
    "name another with --journal or ACTUM_JOURNAL": "请用 --journal 或 ACTUM_JOURNAL 指定别的日志",
    "none waits, and none failed": "没有等待的任务，也没有失败的任务",
    "none: a journal in memory has no tasks": "没有：内存中的日志不保存任务",
    "the broker can be reached, 1 message": "消息代理可用，1 条消息",
    "the broker can be reached, {count} messages": "消息代理可用，{count} 条消息",
    "start `actum serve` or `actum worker`, or more workers": "请启动 `actum serve` 或 `actum worker`，或增加工作进程",
    "actum tasks list --state failed, actum tasks retry": "actum tasks list --state failed，再用 actum tasks retry",
    "start the broker, or mend `broker` in the table [tasks]; tasks are accepted meanwhile, and wait": (
        "请启动消息代理，或改正 [tasks] 表中的 `broker`；其间任务照常接受并等待"
    ),
    "{place}, {count} runs, signed": "{place}，{count} 次运行，已签名",
    "{place}, {count} runs": "{place}，{count} 次运行",
    "the latest {count} runs are as they were written": "最近 {count} 次运行与写入时一致",
    "see `actum tools --help`": "见 `actum tools --help`",
    "see `actum mcp --help`": "见 `actum mcp --help`",
    "{count} from {places}": "{count} 个，来自 {places}",
    "the open internet over https, and the servers you set up": "可通过 https 访问公共互联网，以及您设置的服务器",
    "all goes by the proxy {proxy}, which looks names up itself: only rules by host hold": (
        "全部经由代理 {proxy}，主机名由代理解析：只有按主机名的规则有效"
    ),
    "let the proxy refuse private addresses": "请让代理拒绝内网地址",
    "the proxy of the environment is not used for the calls of tools": "工具调用不使用环境变量中的代理",
    "name it as `proxy` in the table [egress]": "请在 [egress] 表中用 `proxy` 指定它",
    "{names}: their values count as the user's words (speaks_for_user)": (
        "{names}：它们给出的值视为用户的话（speaks_for_user）"
    ),
    "{name}: {count} tools, {era}; {waiting} more wait": "{name}：{count} 个工具，{era}；还有 {waiting} 个等待批准",
    "{name}: {count} tools, {era}": "{name}：{count} 个工具，{era}",
    "{name}: not approved, so it is not used": "{name}：没有批准，所以不使用",
    "servers on this machine list {names} and {count} more": "本机的服务器提供 {names} 等，另有 {count} 个",
    "servers on this machine list {names}": "本机的服务器提供 {names}",
    "see `actum run --help` for how a model is named": "模型的写法见 `actum run --help`",
    "embedded: rules, no language model": "embedded：只有规则，不是语言模型",
    "for a real one: `actum models`, --model ollama:qwen3, or ACTUM_BASE_URL, ACTUM_MODEL and ACTUM_API_KEY": (
        "使用真正的模型：`actum models`、--model ollama:qwen3，或设置 ACTUM_BASE_URL、ACTUM_MODEL 和 ACTUM_API_KEY"
    ),
    "{name}: no answer in {seconds} s": "{name}：{seconds} 秒没有回答",
    "is it still loading?": "是不是还在加载？",
    "start the server, or name another address or model": "请启动服务器，或换一个地址或模型",
    "set the variable with the key of this endpoint; `keys` above lists those that are set": (
        "请设置这个接口的密钥变量；上面的“密钥”一行列出了已设置的变量"
    ),
    "see at the endpoint what this key may do": "请在接口提供方查看这个密钥的权限",
    "check the model's name and the address": "请检查模型名和地址",
    "see the account at the endpoint": "请在接口提供方查看账户",
    "try again later": "请稍后再试",
    "see what the endpoint says": "请看接口返回的说明",
    "{name} answers in {time}; an answer has at most {count} tokens where max_tokens is not set": (
        "{name} 在 {time} 内回答；没有设置 max_tokens 时，回答最多 {count} 个 token"
    ),
    "{name} answers in {time}": "{name} 在 {time} 内回答",
    "it calls tools": "它会调用工具",
    "it calls tools in the dialect {dialect}": "它会调用工具，使用方言 {dialect}",
    "it was asked to use a tool and did not": "让它使用工具，它没有使用",
    "it was asked to use a tool in the dialect {dialect} and did not": "让它用方言 {dialect} 调用工具，它没有调用",
    "try another --dialect (see `actum dialects`), or another model": (
        "请换一种 --dialect（见 `actum dialects`）或换一个模型"
    ),
    "{count} secrets in {path}, the key: {place}": "{path} 里有 {count} 个机密，密钥：{place}",
    "{count} secret in {path}, the key: {place}": "{path} 里有 {count} 个机密，密钥：{place}",
    "none is set yet; the key: {place}": "还没有设置；密钥：{place}",
    "logins lie in plain text in {path}": "登录信息以明文保存在 {path}",
    "there is no keyring and no key, so only variables hold some": "没有钥匙串也没有密钥，机密只能来自环境变量",
    "{name} is on": "{name} 已启用",
    "{name} is found, and off": "找到 {name}，未启用",
    "to switch it on: the table {table} in actum.toml": "要启用它，请在 actum.toml 里写上 {table} 表",
    "{name} keeps {rows} rows, and no installed package brings it": "{name} 存有 {rows} 行数据，但没有已安装的包提供它",
    "{name} keeps {rows} row, and no installed package brings it": "{name} 存有 {rows} 行数据，但没有已安装的包提供它",
    "install its package, or: actum features drop {name}": "请安装它的包，或者：actum features drop {name}",
    "mend or remove {table} in actum.toml": "请改正或删去 actum.toml 里的 {table}",
    "none brings anything": "没有包提供额外的部分",
    "install the package anew, or uninstall it": "请重新安装这个包，或者卸载它",
    "see `actum secrets --help`": "见 `actum secrets --help`",
    "set ACTUM_SECRETS_KEY_FILE, or pip install 'actum[keyring]' on a desktop, to have them encrypted": (
        "请设置 ACTUM_SECRETS_KEY_FILE，或在桌面系统上 pip install 'actum[keyring]'，以便加密保存"
    ),
}
"""What `actum doctor` finds, and advises."""
