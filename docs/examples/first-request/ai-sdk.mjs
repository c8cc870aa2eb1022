// Vercel AI SDK
// npm install ai @ai-sdk/openai-compatible

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const gateway = createOpenAICompatible({
  name: "gateway",
  baseURL: "https://gateway.example/api/v1",
  apiKey: process.env.INFERENCE_API_KEY,
});

const { text } = await generateText({
  model: gateway("MODEL"),
  prompt: "Hello",
  maxOutputTokens: 50,
});
console.log(text);
