// Vercel AI SDK, its OpenAI provider
// npm install ai @ai-sdk/openai

import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";

const gateway = createOpenAI({
  baseURL: "https://gateway.example/api/v1",
  apiKey: process.env.INFERENCE_API_KEY,
});

const { text } = await generateText({
  model: gateway.chat("MODEL"),
  prompt: "Hello",
  maxOutputTokens: 50,
});
console.log(text);
