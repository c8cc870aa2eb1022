// OpenAI for Node
// npm install openai

import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "https://gateway.example/api/v1",
  apiKey: process.env.INFERENCE_API_KEY,
});

const answer = await client.chat.completions.create({
  model: "MODEL",
  max_tokens: 50,
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.choices[0].message.content);
