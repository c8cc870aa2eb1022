import { agentsSdk } from "./agents-sdk.ts";
import { aiSdkAnthropic, aiSdkCompatible, aiSdkOpenai, aiSdkResponses } from "./ai-sdk.ts";
import { anthropic } from "./anthropic.ts";
import { chromium, missingChromium } from "./chromium.ts";
import type { Client } from "./client.ts";
import { curl, missingCurl } from "./curl.ts";
import { langchain } from "./langchain.ts";
import { openai } from "./openai.ts";
import { openaiResponses } from "./openai-responses.ts";

/** A browser costs as much as all other clients. */
const missingBrowser = missingChromium ?? (process.env.DEEP === "1" ? undefined : "npm run test:deep has Chromium");

/** The columns of the first table, and why one is not tested. */
export const clients: readonly { client: Client; missing?: string | undefined }[] = [
  { client: openai },
  { client: aiSdkOpenai },
  { client: aiSdkCompatible },
  { client: langchain },
  { client: curl, missing: missingCurl },
  { client: chromium, missing: missingBrowser },
];

/** The columns of the second table: clients of the Responses API and of the Messages API. */
export const otherClients: readonly { client: Client; missing?: string | undefined }[] = [
  { client: openaiResponses },
  { client: agentsSdk },
  { client: aiSdkResponses },
  { client: anthropic },
  { client: aiSdkAnthropic },
];
