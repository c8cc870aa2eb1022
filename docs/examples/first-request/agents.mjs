// OpenAI Agents SDK
// npm install @openai/agents zod

import { Agent, OpenAIProvider, Runner } from "@openai/agents";

const modelProvider = new OpenAIProvider({
  baseURL: "https://gateway.example/api/v1",
  apiKey: process.env.INFERENCE_API_KEY,
});
// Traces would go to OpenAI.
const runner = new Runner({ modelProvider, tracingDisabled: true });
const agent = new Agent({
  name: "Greeter",
  model: "MODEL",
  modelSettings: { maxTokens: 50, store: false },
});

const result = await runner.run(agent, "Hello");
console.log(result.finalOutput);
