"""What `actum init` writes: every setting, as a comment. A test sees to it that each setting stands here."""

TEMPLATE = """\
# The settings of actum for this folder. Take the # away from what you want to set; `actum config check` looks at the
# file, `actum config show` says what holds. Your own settings for all folders stand in ~/.config/actum/actum.toml.
# Keys and passwords do not belong here: see ACTUM_API_KEY, and `actum mcp add`.

# The model: a name such as openai:gpt-5 or ollama:qwen3, an address with #name, or file.py:name of your own object.
#model = "ollama:qwen3"
# Or an address that speaks OpenAI's API; `model` is then the name there.
#base_url = "http://127.0.0.1:8080/v1"
# How the model says a call; see `actum dialects`.
#dialect = "auto"
# The system prompt.
#instructions = "Be brief."
# auto: where a conversation is too long for the model, leave out its beginning.
#truncation = "disabled"
# How many of many tools the model is shown at a time; it finds others by search_tools. 0 shows all.
#choose = 12
# Tools that are always among them.
#always = []
# Whether a run must call a tool: auto, none, required, the name of a tool, or the names of the only ones it may call.
#tool_choice = "auto"
# The model writes down a plan, and how each step stands: true, or "first" to begin each run with the plan.
#plan = false
# The calls of one reply may use each other's results: "${1.date}" as the whole value of an argument.
#references = false
# Hold answers to what was quoted: "mark" puts [?] behind what no quote backs, "strict" leaves it out.
#cite = "mark"

# MCP servers: mine (those of `actum mcp add`), a name, an address, a file of them, or none.
#mcp = ["mine"]
# Seconds for which a run waits for MCP servers of which nothing is known yet.
#mcp_wait = 5.0

# A feature of an installed package is switched on by the table of its name; see `actum docs features`.

# The record of runs: a file, postgresql://..., or memory; and the file with the key that signs the record.
#journal = "runs.db"
#journal_key = "journal.key"
# Who may call what; see `actum docs policy`.
#policy = "policy.toml"
# Clients of `actum mcp serve` that say only what their user said.
#speaks_for_user = ["local"]
# What names the tenant of a user in the tokens of an issuer; dots lead inside.
#tenant_claim = "org.id"

#[model_settings]
#temperature = 0.2
#max_tokens = 2000

# How much one run may use.
#[limits]
#steps = 50
#seconds = 600

# What a model costs for a million tokens.
#[prices."openai:gpt-5"]
#input = "1.25"
#output = "10"

# Models that clients of `actum serve` ask for by the APIs of OpenAI, Anthropic and Google; see `actum docs gateway`.
#[models.fast]
#upstreams = ["openai:gpt-5-mini", "http://127.0.0.1:8000/v1#qwen3"]   # the next one where the first fails
#fallback = ["unreachable", "trouble", "rate_limit"]
#keep_bodies = false

# A name that stands in programs, answered by an agent.
#[models."gpt-4o"]
#agent = "desk"

# How `actum serve` is reached; see `actum docs serve`.
#[serve]
#http = "127.0.0.1:8000"
#public = "https://tools.example.org"     # its address as clients write it, behind a proxy
#proxies = ["10.0.0.0/8"]                 # which proxies are believed when they say who the client is
#certificate = "server.pem"               # TLS without a proxy
#key_file = "server.key"
#catalog = true                           # /.well-known/ai-catalog.json, of `actum catalog`; a draft
#hold_s = 60                              # how long a client of a model API waits for a person who must approve

# People log in with a browser at an OpenID provider.
#[serve.login]
#issuer = "https://accounts.example.org"
#client_id = "actum"
#client_secret = "${secret:login}"        # the variable ACTUM_SECRET_LOGIN; never the password itself
#scopes = ["tools"]                       # what people may do

# Agents served to agents of other makers; see `actum docs a2a`.
#[serve.a2a]
#agent = "desk"                            # whose card stands at /.well-known/agent-card.json
#provider = "Example"
#input_modes = ["image/*"]                 # files that messages may have

#[serve.limits]
#requests_per_caller = 100

# Tasks, which outlive the request that asked for them; see `actum docs tasks`.
#[tasks]
#dispatcher = "local"                      # celery: by `actum worker`, on other machines too
#broker = "redis://127.0.0.1:6379/0"       # of Celery
#workers = 4                               # so many tasks run at a time, in each server or worker
#tasks_per_child = 100                     # a child process is replaced after so many tasks,
#child_memory_bytes = 1073741824           # and when it uses more memory after a task
#queued = 10000                            # so many tasks of one user may wait; more are refused
#queued_per_tenant = 100000
#running = 0                               # so many tasks of one user may run at a time; 0 for no limit
#running_per_tenant = 0
#kept_days = 30                            # so long ended tasks stay in the list; their runs stay in the journal
#webhook_secrets = ["webhook"]             # two names while the secret is being changed

# Where the spans of runs are sent; see `actum docs telemetry`.
#[telemetry]
#endpoint = "http://127.0.0.1:4318"        # OTLP/HTTP; /v1/traces is added behind its path
#headers = {authorization = "${secret:COLLECTOR}"}
#service = "actum"
#environment = "production"
#content = false                           # whether spans say what was asked, answered and called
#users = false                             # whether spans name the users
#sample = 1.0                              # the share of traces, by the id of the trace
#every_s = 2.0                             # seconds between two looks
#queue = 100000                            # the most spans that wait; the oldest beyond are dropped

# What begins runs by itself; see `actum docs triggers`.
#[triggers.switch]                        # POST /v1/triggers/switch
#workflow = "lamp"                         # of [workflows], or a published one
#secret = "switch"                         # `actum secrets set switch`; two names while it is being changed
#signature = "standard"                    # github, stripe, token

#[triggers.notes]
#agent = "desk"
#say = "The notes have changed: ${event.data.text}"
#server = "notes"                          # of `actum mcp add`
#resource = "notes:///today.md"

#[triggers.report]
#agent = "desk"
#say = "Write the report of ${event.data.due}."
#schedule = "0 7 * * MON-FRI"
#zone = "Europe/Berlin"

# Orders in mails and pages that tools read; see `actum docs security`.
#[defence]
#mandate = "model"              # strict: every side effect after foreign text is a question; off
#unattended = "ask"             # deny: with nobody to ask the call is refused, and the model does the rest

# Which models may be told the fields of results that have a label, and who may read and get them.
#[labels.personal]
#models = ["ollama/*"]          # other models are told a placeholder
#readers = ["role:hr"]          # others see [personal] in the record of a run
#receivers = ["*@corp.example"] # a call that sends elsewhere asks
#otherwise = "mask"             # refuse: the request fails where a model may not be told a value

# Where the calls of tools may go; see `actum docs egress`.
#[egress]
#allow = ["https://*.example.org"]        # nowhere else
#deny = ["*.internal"]
#private = ["http://intranet.example.org"]
#proxy = "http://proxy.example.org:3128"

# Agents elsewhere, by A2A: tools = ["a2a:weather"], after `actum a2a approve weather`; see `actum docs remote-agents`.
#[a2a.weather]
#url = "https://agents.example.org/weather"
#headers = {Authorization = "Bearer ${secret:weather}"}   # a secret of the user; `actum secrets set weather`
#key_hosts = ["agents.example.org"]       # whose keys may sign its card
#wait_s = 600                             # so long a call follows the agent's task; then it waits on record
#[a2a.weather.credentials]                # by the security schemes of its card: a secret, or a client of OAuth
#apiKey = "weather_key"

# What code and scripts may do that run as tools; see `actum docs sandbox`.
#[sandbox]
#read = ["tables"]                        # files and folders that they may read
#write = ["results"]                      # folders that they may write
#hosts = ["api.example.org"]              # hosts that they may reach by HTTP; else they have no network
#python = "monty"                         # a faster subset of Python for code of a model; needs 'actum[monty]'
#backend = "machines"                     # what holds the jail: a name that an installed package offers
#read_only_hosts = ["api.example.org"]    # of these hosts: a script that talks to no other host may count as read-only

#[sandbox.limits]
#memory_bytes = 536870912
#seconds = 120

# Where tools come from: everyday, file.py, file.py:name, module:name, code, folder/ for the scripts in it. A table
# takes them under other names.
#[tools]
#use = ["everyday", {from = "crm.py", prefix = "crm_", only = ["find_*"]}]

# Your word on tools that somebody else wrote, whose own word is not believed. The most specific pattern wins.
#[tools."crm_*"]
#effects = ["read"]             # read, write, send, spend, destroy, execute
#sinks = ["to"]                 # the parameters that say where something goes
#trusted = ["balance"]          # the fields of the result that no stranger could have written
#idempotent = true              # twice is as good as once
#timeout = 30                   # seconds
#approval = true                # every call waits for a person
#background = "allowed"         # a model may ask that a call becomes a task
#answers = true                 # the result is the answer of the run: how a user is handed over to another agent
#knowledge = true               # a source of knowledge, which a knowledge node of a workflow may ask by `query`
#named_by = {id = "title"}       # the user names the title, and means the id
#labels = {salary = "personal"}  # fields of the result; see [labels.personal]
#outside = true                 # strangers may write what it returns; false: nobody but you and yours does

# What holds for tasks that call these tools, where a request says nothing.
#[tools."crm_*".tasks]
#max_retries = 3
#backoff = {base = 1, factor = 2, cap = 60, jitter = 0.1}   # seconds between attempts
#timeout_s = 300                # one attempt
#priority = 5                   # 0 to 9; the highest begins first
#in_process = true              # quick and safe: no child process, and nothing but the tool itself can end its calls

# Agents by name: actum run --agent desk "..."
#[agents.desk]
#description = "Answers questions of customers."
#instructions = "You are the help desk."
#tools = ["everyday"]
#agents = ["books"]             # agents to which it may hand tasks
#memory = "conversation"        # user: across conversations; none: each run stands alone
#users = ["ann", "*@example.com"]
#roles = ["clerk"]

# Workflows by name: actum workflow run booking; `actum serve` serves each; see `actum docs workflows`.
#[workflows.booking]
#file = "booking.workflow.yaml"
#tools = ["flights.py"]
#models = {fast = "openai:gpt-5-mini"}   # the models that its nodes name
#description = "Books flights."

# An agent that stands in code.
#[agents.books]
#python = "books.py:agent"
"""
