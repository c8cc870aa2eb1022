import { encodeBase32 } from "@inference/protocol/base32";
import { nonceAnswer } from "@inference/protocol/wire/answers";
import { json, ok } from "../docs/operation.ts";
import { endpoint } from "./endpoint.ts";

export const getNonce = endpoint({
  path: "/auth/nonce",
  id: "getNonce",
  group: "Signing in",
  title: "A nonce for a message",
  about: "One that the client made, of at least eight letters and digits, is as good.",
  answers: [ok("The nonce.", json("NonceAnswer", nonceAnswer))],
  handle(context) {
    return context.json({ nonce: encodeBase32(context.var.gateway.environment.random.bytes(15)) });
  },
});
