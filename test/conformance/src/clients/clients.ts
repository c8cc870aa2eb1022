import { aiSdkCompatible, aiSdkOpenai } from "./ai-sdk.ts";
import { chromium, missingChromium } from "./chromium.ts";
import type { Client } from "./client.ts";
import { curl, missingCurl } from "./curl.ts";
import { langchain } from "./langchain.ts";
import { openai } from "./openai.ts";

/** The columns of the table, and why one cannot be tested on this machine. */
export const clients: readonly { client: Client; missing?: string | undefined }[] = [
  { client: openai },
  { client: aiSdkOpenai },
  { client: aiSdkCompatible },
  { client: langchain },
  { client: curl, missing: missingCurl },
  { client: chromium, missing: missingChromium },
];
