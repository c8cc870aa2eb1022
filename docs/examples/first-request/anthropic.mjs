// Anthropic for Node
// npm install @anthropic-ai/sdk

import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: "https://gateway.example/api",
  apiKey: process.env.INFERENCE_API_KEY,
});

const message = await client.messages.create({
  model: "MODEL",
  max_tokens: 50,
  messages: [{ role: "user", content: "Hello" }],
});
// @ts-expect-error: a plain prompt is answered with text
console.log(message.content[0].text);
