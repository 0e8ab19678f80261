// A program as OpenAI's guide has it: two requests, and between them a call of a function of this program.
// Nothing in it knows of actum. OPENAI_BASE_URL and OPENAI_API_KEY say where it asks.

const OpenAI = require("openai");

const openai = new OpenAI();

async function getCurrentWeather({ city }) {
  const answer = await fetch(`${process.env.WEATHER_URL}/weather?${new URLSearchParams({ city })}`);
  return answer.json();
}

const tools = [
  {
    type: "function",
    function: {
      name: "get_current_weather",
      description: "Get the current weather of a city",
      parameters: {
        type: "object",
        properties: { city: { type: "string", description: "The city, e.g. Fuzhou" } },
        required: ["city"],
      },
    },
  },
];

async function main() {
  const model = process.argv[2] || "gpt-4o";
  const messages = [{ role: "user", content: "What is the weather like in Fuzhou?" }];

  const first = await openai.chat.completions.create({ model, messages, tools });
  const message = first.choices[0].message;
  messages.push(message);

  if (!message.tool_calls) {
    console.log(message.content);
    return;
  }
  for (const call of message.tool_calls) {
    const weather = await getCurrentWeather(JSON.parse(call.function.arguments));
    messages.push({ role: "tool", tool_call_id: call.id, content: JSON.stringify(weather) });
  }

  const second = await openai.chat.completions.create({ model, messages, tools });
  console.log(second.choices[0].message.content);
}

main();
