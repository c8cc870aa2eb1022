import { formatSiweMessage } from "@inference/protocol/siwe";
import { limits } from "../config.ts";
import type { DocumentedGateway } from "./operation.ts";

type Place = Pick<DocumentedGateway, "baseUrl" | "chainIds">;

/** The rules for a signed message. */
export function messageRules({ baseUrl, chainIds }: Place): string[] {
  return [
    `The domain, in its first line, is \`${new URL(baseUrl).host}\`.`,
    `The URI is \`${baseUrl}\`, or a path under it.`,
    `The chain ID is one of ${chainIds.join(", ")}. A contract's wallet signs with ${chainIds[0]} alone.`,
    `It is good for ${limits.messageMs / 60_000} minutes after \`Issued At\`, and once: its nonce is at least eight letters and digits.`,
    "For an API key it has exactly one resource, as below; for a session (`POST /auth`) it has none that begins with " +
      `\`${baseUrl}/api/v1/keys\`.`,
  ];
}

/** The text that a wallet signs for a key. */
export function exampleMessage({ baseUrl, chainIds: [primary = 1] }: Place): string {
  return formatSiweMessage({
    domain: new URL(baseUrl).host,
    address: "0x1111111111111111111111111111111111111111",
    uri: baseUrl,
    version: "1",
    chainId: primary,
    nonce: "pUqV3ZkQ0fWm7Xa2",
    issuedAt: Date.UTC(2030, 0, 31, 12),
    resources: [`${baseUrl}/api/v1/keys?name=laptop&limit=3.00&limit_reset=daily`],
  });
}
