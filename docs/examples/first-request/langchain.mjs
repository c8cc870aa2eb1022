// LangChain for JavaScript
// npm install @langchain/openai @langchain/core

import { ChatOpenAI } from "@langchain/openai";

const model = new ChatOpenAI({
  model: "MODEL",
  maxTokens: 50,
  apiKey: process.env.INFERENCE_API_KEY,
  configuration: { baseURL: "https://gateway.example/api/v1" },
});

const answer = await model.invoke("Hello");
console.log(answer.content);
