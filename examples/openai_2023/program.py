"""A program of 2023, on openai==0.28: two functions, `function_call`, and a second question in the same conversation.

Nothing in it knows of actum. OPENAI_API_BASE and OPENAI_API_KEY say where it asks.
"""

import json
import os
import sys
import urllib.parse
import urllib.request

import openai

MODEL = sys.argv[1] if len(sys.argv) > 1 else "gpt-3.5-turbo-0613"

functions = [
    {
        "name": "get_current_weather",
        "description": "Get the current weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "The city, e.g. Beijing"}},
            "required": ["city"],
        },
    },
    {
        "name": "get_news",
        "description": "Get the latest headlines about a city",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city, e.g. Beijing"},
                "count": {"type": "integer", "description": "How many headlines", "default": 5},
            },
            "required": ["city"],
        },
    },
]


def look_up(address, **query):
    with urllib.request.urlopen(f"{address}?{urllib.parse.urlencode(query)}") as answer:
        return json.load(answer)


def get_current_weather(city):
    return look_up(os.environ["WEATHER_URL"] + "/weather", city=city)


def get_news(city, count=5):
    return look_up(os.environ["NEWS_URL"] + "/news", city=city, count=count)


def answer(messages):
    while True:
        response = openai.ChatCompletion.create(
            model=MODEL, messages=messages, functions=functions, function_call="auto"
        )
        message = response["choices"][0]["message"]
        messages.append(message)
        if not message.get("function_call"):
            return message["content"]
        name = message["function_call"]["name"]
        arguments = json.loads(message["function_call"]["arguments"])
        result = {"get_current_weather": get_current_weather, "get_news": get_news}[name](**arguments)
        messages.append({"role": "function", "name": name, "content": json.dumps(result)})


messages = []
for question in ("What is the weather in Beijing, and what is the news there?", "And Shanghai?"):
    messages.append({"role": "user", "content": question})
    print(answer(messages))
