"""The sample program of 2023 for function calls, with the client of that year: `python openai_2023.py URL KEY MODEL`.

The second request has no `functions`, as in the sample; then another question is asked, once behind the answer and once
beside the result. What was answered is printed as JSON.
"""

import json
import sys

import openai

openai.api_base, openai.api_key, MODEL = sys.argv[1:4]
FUNCTIONS = [
    {
        "name": "get_current_weather",
        "description": "Get the current weather in a given location",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["location"],
        },
    }
]


def get_current_weather(location, unit="fahrenheit"):
    return json.dumps({"location": location, "temperature": "72", "unit": unit})


def ask(messages, **more):
    return openai.ChatCompletion.create(model=MODEL, messages=messages, **more)["choices"][0]["message"]


def run_conversation(*beside):
    messages = [{"role": "user", "content": "What's the weather like in Boston?"}]
    said = ask(messages, functions=FUNCTIONS, function_call="auto")
    call = said["function_call"]
    arguments = json.loads(call["arguments"])
    result = get_current_weather(location=arguments.get("location"), unit=arguments.get("unit"))
    messages += [said, {"role": "function", "name": call["name"], "content": result}, *beside]
    answer = ask(messages)
    return [*messages, answer]


whole = run_conversation()
again = [*whole, {"role": "user", "content": "And tomorrow?"}]
both = run_conversation({"role": "user", "content": "And tomorrow?"})
print(json.dumps([whole[-1]["content"], ask(again)["content"], both[-1]["content"]]))
