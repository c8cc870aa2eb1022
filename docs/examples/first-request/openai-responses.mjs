// OpenAI for Node, its Responses client
// npm install openai

import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "https://gateway.example/api/v1",
  apiKey: process.env.INFERENCE_API_KEY,
});

const answer = await client.responses.create({
  model: "MODEL",
  max_output_tokens: 50,
  store: false,
  input: "Hello",
});
console.log(answer.output_text);
