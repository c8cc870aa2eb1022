import { encodeBase32 } from "@inference/protocol/base32";
import { nonceAnswer } from "@inference/protocol/wire/answers";
import { json, ok } from "../docs/operation.ts";
import { endpoint } from "./endpoint.ts";
import { commonErrors } from "./endpoint-errors.ts";

export const getNonce = endpoint({
  method: "GET",
  path: "/auth/nonce",
  id: "getNonce",
  group: "Signing in",
  title: "A nonce for a message",
  about: "One that the client made, of at least eight letters and digits, is as good.",
  credentials: [],
  answers: [ok("The nonce.", json("NonceAnswer", nonceAnswer))],
  errors: commonErrors,
  handle(context) {
    return context.json({ nonce: encodeBase32(context.var.gateway.environment.random.bytes(15)) });
  },
});
