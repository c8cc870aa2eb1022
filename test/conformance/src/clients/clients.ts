import { agentsSdk } from "./agents-sdk.ts";
import { aiSdkAnthropic, aiSdkCompatible, aiSdkOpenai, aiSdkResponses } from "./ai-sdk.ts";
import { anthropic } from "./anthropic.ts";
import { chromium, missingChromium } from "./chromium.ts";
import type { Client } from "./client.ts";
import { curl, missingCurl } from "./curl.ts";
import { langchain } from "./langchain.ts";
import { openai } from "./openai.ts";
import { openaiResponses } from "./openai-responses.ts";

/** The fast run has one client for each way of speaking an API. These speak as one of them, or cost as much as all. */
const missing = process.env.DEEP === "1" ? undefined : "npm run test:deep has it";

/** The columns of the first table, and why one is not tested. */
export const clients: readonly { client: Client; missing?: string | undefined }[] = [
  { client: openai },
  { client: aiSdkOpenai, missing },
  { client: aiSdkCompatible },
  { client: langchain, missing },
  { client: curl, missing: missingCurl },
  { client: chromium, missing: missingChromium ?? missing },
];

/** The columns of the second table: clients of the Responses API and of the Messages API. */
export const otherClients: readonly { client: Client; missing?: string | undefined }[] = [
  { client: openaiResponses },
  { client: agentsSdk, missing },
  { client: aiSdkResponses, missing },
  { client: anthropic },
  { client: aiSdkAnthropic, missing },
];
