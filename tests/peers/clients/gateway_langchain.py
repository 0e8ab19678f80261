"""langchain-openai as a client of our gateway, run by the Python it is installed in. It prints what it heard.

python gateway_langchain.py http://127.0.0.1:8000/v1 KEY
"""

import json
import sys

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai import NotFoundError
from pydantic import BaseModel


class Sum(BaseModel):
    """A sum."""

    value: int


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def answer(chat, messages, *, streamed):
    """Ask until there is an answer, and make the calls of our own tool on the way."""
    while True:
        if streamed:
            reply = None
            for chunk in chat.stream(messages):
                reply = chunk if reply is None else reply + chunk
        else:
            reply = chat.invoke(messages)
        messages.append(reply)
        if not reply.tool_calls:
            return reply.text
        for call in reply.tool_calls:
            messages.append(ToolMessage(str(double.invoke(call["args"])), tool_call_id=call["id"]))


def main(url, key):
    """Ask in all ways."""
    settings = {"base_url": url, "api_key": key, "max_retries": 0}
    heard = {}
    for way in ("chat", "responses"):
        chat = ChatOpenAI(model="desk", use_responses_api=way == "responses", **settings).bind_tools([double])
        for streamed in (False, True):
            messages = [HumanMessage("What is 2 + 3, doubled?")]
            heard[f"{way} {streamed}"] = [answer(chat, messages, streamed=streamed)]
            messages.append(HumanMessage("Sure?"))
            heard[f"{way} {streamed}"].append(answer(chat, messages, streamed=streamed))
    model = ChatOpenAI(model="fast", **settings)
    heard["structured"] = model.with_structured_output(Sum).invoke("What is 2 + 3?").value
    try:
        ChatOpenAI(model="dusk", **settings).invoke("Hi")
    except NotFoundError as error:
        heard["error"] = str(error)
    print(json.dumps(heard))


if __name__ == "__main__":
    main(*sys.argv[1:])
