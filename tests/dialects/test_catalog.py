from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from msgspec import Struct

from actum.core.errors import UnknownName, UsageError
from actum.dialects import dialect, for_model, names
from actum.dialects.api.rows import APIS
from actum.dialects.base import ApiDialect
from actum.dialects.catalog import ApiName, listing_of, text_dialect
from actum.dialects.text.formats.rows import FORMATS, MODULES
from actum.dialects.text.rows import ROWS
from actum.dialects.text.tagged.dialect import Format

CORPUS = Path(__file__).parents[1] / "corpus"


@pytest.mark.parametrize("name", names())
def test_each_dialect_is_found_under_its_own_name(name: str) -> None:
    assert dialect(name).name == name


@pytest.mark.parametrize("name", ["ollama_generate", "openai_completions"])
def test_an_api_that_says_no_calls_is_found_but_not_listed(name: str) -> None:
    assert dialect(name).name == name
    assert name not in names()


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(UnknownName, match=r"anthropic_messages, .*hermes, .*react"):
        dialect("telepathy")


def test_options_reach_the_dialect() -> None:
    assert dialect("react", language="zh", plan=True) == dialect("react", language="zh", plan=True)
    assert dialect("react", language="zh") != dialect("react")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("prompt_json", {"plan": True}),
        ("react", {"language": "fr"}),
        ("prompt_json", {"language": "fr"}),
        ("openai_chat", {"x": 1}),
    ],
)
def test_an_option_that_a_dialect_does_not_take_is_refused(name: str, options: dict[str, str | bool]) -> None:
    with pytest.raises(UsageError):
        dialect(name, **options)


ROOM = "actum.dialects"
LOADED = """
import sys
from actum.dialects import dialect, names

def show():
    print(*sorted(name for name in sys.modules if name.startswith("actum.dialects.")))

show()
dialect("anthropic_messages")
show()
names()
show()
"""


def test_a_dialect_is_imported_when_it_is_opened_and_not_before() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    at_start, with_an_api, with_the_list = (set(line.split()) for line in done.stdout.splitlines())
    assert not any(name.startswith(f"{ROOM}.text") for name in at_start | with_an_api)
    assert f"{ROOM}.api.anthropic.dialect" in with_an_api - at_start
    apart = {f"{ROOM}.text.{name}" for name in ("prompt_json", "react.dialect", "harmony")}
    assert not apart & with_the_list
    assert not {f"{ROOM}.api.gemini.dialect", f"{ROOM}.api.openai_responses.dialect"} & with_the_list


def test_the_name_of_each_row_is_said_once() -> None:
    """A second row of the same name would hide the first."""
    rows = [
        (attribute, row.name)
        for module in MODULES
        for attribute, row in vars(module).items()
        if isinstance(row, Format)
    ]
    assert sorted(name for _, name in rows) == sorted(FORMATS)
    assert [attribute.lower() for attribute, _ in rows] == [name for _, name in rows]
    assert not ROWS.keys() & APIS.keys()


def test_the_type_checker_knows_the_names_of_the_apis() -> None:
    assert get_args(ApiName) == tuple(APIS)


def test_a_row_says_how_its_dialect_is_called_and_each_option_that_the_dialect_takes() -> None:
    for name, row in ROWS.items():
        opened = text_dialect(name)
        assert opened.name == name
        assert row.listing.summary, name
        assert isinstance(opened, Struct)
        assert set(row.listing.options) == set(opened.__struct_fields__) - {"form"}, name


def test_each_text_dialect_has_a_corpus_and_tells_its_models_or_is_for_any_model() -> None:
    for name, row in ROWS.items():
        assert any((CORPUS / name).glob("*.json")), f"tests/corpus/{name} is empty or missing"
        assert all(piece == piece.lower() for piece in row.listing.models), name
        assert bool(row.listing.models) == (name not in ("prompt_json", "react")), name
        assert all(for_model(piece) == name for piece in row.listing.models), name
        for sign in row.listing.signs:
            assert for_model("{% " + " ".join(sign.marks)) == name, (name, sign)


def test_an_api_dialect_is_told_from_a_text_dialect_by_its_protocol() -> None:
    assert {name for name in (*APIS, *ROWS) if isinstance(dialect(name), ApiDialect)} == APIS.keys()


def test_a_text_dialect_is_asked_for_as_such() -> None:
    assert text_dialect("hermes") == dialect("hermes")
    with pytest.raises(UnknownName, match="there is no text dialect called 'openai_chat'"):
        text_dialect("openai_chat")
    with pytest.raises(UnknownName, match="there is no dialect called 'telepathy'"):
        listing_of("telepathy")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "hermes"),
        ("qwen3:8b", "hermes"),
        ("Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf", "qwen3_coder"),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "hermes"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3_json"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama_pythonic"),
        ("meta-llama/Llama-3.2-1B-Instruct", "llama_pythonic"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral"),
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral_v11"),
        ("deepseek-ai/DeepSeek-V3-0324", "deepseek_v3"),
        ("deepseek-ai/DeepSeek-R1", "deepseek_v3"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "deepseek_v3"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek_v3_1"),
        ("zai-org/GLM-4.5-Air", "glm4_5"),
        ("moonshotai/Kimi-K2-Instruct", "kimi_k2"),
        ("openai/gpt-oss-20b", "harmony"),
        ("ibm-granite/granite-3.1-8b-instruct", "granite"),
        ("ibm-granite/granite-4.0-h-small", "hermes"),
        ("deepseek-ai/DeepSeek-V3.2", "deepseek_v3_2"),
        ("CohereForAI/c4ai-command-r7b-12-2024", "command_r"),
        ("MiniMaxAI/MiniMax-M2", "minimax_m2"),
        ("swiss-ai/Apertus-8B-Instruct-2509", "apertus"),
        ("baidu/ERNIE-4.5-21B-A3B-Thinking", "ernie4_5"),
        ("google/functiongemma-270m-it", "functiongemma"),
        ("google/gemma-4-31B-it", "gemma4"),
        ("gemma3:12b", "llama_pythonic"),
        ("meetkai/functionary-small-v2.4", "functionary_v2"),
        ("meetkai/functionary-small-v3.1", "functionary"),
        ("meetkai/functionary-medium-v3.2", "functionary_v3_2"),
        ("tencent/Hunyuan-A13B-Instruct", "hunyuan"),
        ("CohereForAI/c4ai-command-r-plus-08-2024", "command_r_plus"),
        ("CohereLabs/c4ai-command-a-03-2025", "command_r"),
        ("moonshotai/Kimi-K2-Thinking", "kimi_k2"),
        ("zai-org/GLM-4.7-Flash", "glm4_5"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek_v3"),
        ("ibm-granite/granite-20b-functioncalling", "granite"),
        ("microsoft/Phi-4-mini-instruct", "phi4_mini"),
        ("ai21labs/AI21-Jamba-1.5-Mini", "jamba"),
        ("internlm/internlm2_5-7b-chat", "internlm"),
        ("Salesforce/Llama-xLAM-2-8b-fc-r", "xlam"),
        ("ByteDance-Seed/Seed-OSS-36B-Instruct", "seed_oss"),
        ("stepfun-ai/step3", "step3"),
        ("stepfun-ai/Step-3.5-Flash", "qwen3_coder"),
        ("allenai/Olmo-3-32B-Think", "olmo3"),
        ("LiquidAI/LFM2-8B-A1B", "lfm2"),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "nemotron"),
        ("deepseek-ai/DeepSeek-V4-Pro", "deepseek_v3_2"),
        ("deepseek-ai/DeepSeek-V4.1-Pro", "deepseek_v4_1"),
        ("deepseek-v4.1-flash:cloud", "deepseek_v4_1"),
        ("tencent/Hy3-preview", "hunyuan_v3"),
        ("tencent/Hunyuan-V3-Instruct", "hunyuan_v3"),
        ("dots-studio/dots-3-note-preview", "dots"),
        ("LLM360/K2-Horizon-3.7B", "k2_horizon"),
        ("pfnet/plamo-3-nict-8b-base", "plamo3"),
        ("MiniMaxAI/MiniMax-M3", "minimax_m3"),
        ("MiniMaxAI/MiniMax-M2.5", "minimax_m2"),
        ("openbmb/MiniCPM5-2B", "minicpm5"),
        ("meta-llama/Muse-Glimmer-30B", "muse_glimmer"),
        ("ai-sage/GigaChat3-10B-A1.8B", "gigachat3"),
        ("ai-sage/GigaChat3.1-10B-A1.8B", "gigachat3"),
        ("ai-sage/GigaChat3.5-15B", "gigachat3_5"),
        ("moonshotai/Kimi-K3", "kimi_k3"),
        ("moonshotai/Kimi-K2.5", "kimi_k2"),
        ("reflection/Beam-1.0-501B-A23B-FP8", "beam"),
        ("thinkingmachines/Inkling-Small", "inkling"),
        ("gpt-2", None),
        ("", None),
    ],
)
def test_a_model_s_name_tells_its_dialect(model: str, name: str | None) -> None:
    assert for_model(model) == name
    assert name is None or dialect(name).name == name


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{{ '<tool_call>' + tc.name }}<arg_key>{{ k }}</arg_key><arg_value>{{ v }}</arg_value></tool_call>", "glm4_5"),
        (
            "{% for t in tools %}<tool_call>\n<function={{ n }}>\n<parameter={{ k }}>{% endfor %}</tool_call>",
            "qwen3_coder",
        ),
        ('{{- \'<tool_call>\\n{"name": "\' }}{{ n }}</tool_call>', "hermes"),
        ("{{ '<|tool_call_begin|>' + id + '<|tool_call_argument_begin|>' }}", "kimi_k2"),
        ("{{'<｜tool▁call▁begin｜>' + type + '<｜tool▁sep｜>' + name + '\\n' + '```json' + args}}", "deepseek_v3"),
        ("{{'<｜tool▁call▁begin｜>'+ name + '<｜tool▁sep｜>' + args}}", "deepseek_v3_1"),
        ("{{ '[TOOL_CALLS] [' }}{{ tc }}", "mistral"),
        ("{{ '[TOOL_CALLS]' + name + '[ARGS]' + args }}", "mistral_v11"),
        ("{{ '<|start|>assistant<|channel|>analysis<|message|>' }}", "harmony"),
        ("{{ '<|python_tag|>' + name + '.call(' }}", "llama3_json"),
        ("{{ '<|python_start|>[' }}", "llama_pythonic"),
        ("{{ '<|tool_call>call:' + name + '{' }}{{ '}<tool_call|>' }}", "gemma4"),
        ("{{ '<start_function_call>call:' + name }}", "functiongemma"),
        ("{%- set tool_calls_token = '<|tools_prefix|>' -%}", "apertus"),
        ("{{ 'Respond in this format:\\n>>>${recipient}\\n${content}' }}", "functionary_v3_2"),
        ("{{- 'Action:' }} ```json [{ \"tool_name\": title }]```", "command_r_plus"),
        ("{{ '<tool_calls>[' }}{{ '<|extra_0|>' }}</tool_calls>", "hunyuan"),
        ("{{ '<｜DSML｜' }}{{ 'function_calls>' }}", "deepseek_v3_2"),
        ("{%- set dsml = '｜DSML｜' -%}{{ '<' + dsml + ' calls>' }}", "deepseek_v4_1"),
        ("{{ '<tool_calls><tool_call>' + name + '<tool_sep>' }}<arg_key>{{ k }}</arg_key><arg_value>", "hunyuan_v3"),
        ("{{- '<function name=\"' ~ n ~ '\">' }}{{- '<param name=\"' ~ k ~ '\">' }}", "minicpm5"),
        ("{{- '<|open|>' + tag -}}{{- '<|close|>' + tag + '<|sep|>' -}}", "kimi_k3"),
        ("{{ '<｜GCML｜invoke name=' }}", "gigachat3_5"),
        ("{{ 'function call' }}{%- set sep = '<|role_sep|>' -%}", "gigachat3"),
        ("{{- '<atem:function_calls>\n<atem:invoke name=' -}}<|start|>assistant", "muse_glimmer"),
        ("{{ ']<]minimax[>[' ~ '<tool_call>' }}</tool_call>", "minimax_m3"),
        ("{% for message in messages %}{{ message.content }}{% endfor %}", None),
    ],
)
def test_a_chat_template_tells_its_dialect(template: str, name: str | None) -> None:
    assert for_model(template) == name


def test_an_option_of_a_model_s_own_format_reaches_it() -> None:
    found = text_dialect("deepseek_v3", thinking=True)
    assert found.decode("Hm.</think>Hi.").reasoning == "Hm."
    with pytest.raises(UsageError):
        dialect("hermes", form="x")
    with pytest.raises(UsageError):
        dialect("harmony", thinking=True)
