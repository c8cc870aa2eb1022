/** A program in front of a gateway that answers malformed HTTP by itself. */
export type Front = keyof typeof fronts;

/** The refusals of each front, word for word. */
const fronts = {
  workerd: [
    "400 Bad Request",
    "400 invalid HTTP header parsed",
    "400 invalid HTTP method parsed",
    "400 invalid HTTP version parsed",
    "400 invalid URI",
    "400 invalid content-length parsed",
    "400 invalid transfer-encoding parsed",
    "400 unexpected transfer-encoding parsed",
    "414 URI too long",
    "431 message head is too large",
    "501 ERROR: Unrecognized request method.",
  ],
} as const satisfies Record<string, readonly string[]>;

export function frontNamed(name: string): Front {
  if (Object.hasOwn(fronts, name)) return name as Front;
  throw new Error(`CONFORMANCE_FRONT is ${name}: use ${Object.keys(fronts).join(" or ")}, or leave it out.`);
}

/** Such an answer is plain text and has no header but those of its framing, so none of the gateway's. */
export function isOfFront(
  { status, headers, body }: { status: number; headers: Headers; body: Uint8Array },
  front: Front | null,
): boolean {
  if (front === null) return false;
  const isFraming = [...headers.keys()].every((name) => /^(connection|content-length|content-type)$/.test(name));
  const isText = (headers.get("content-type") ?? "text/plain") === "text/plain";
  const said: readonly string[] = fronts[front];
  return isFraming && isText && said.includes(`${status} ${Buffer.from(body).toString("latin1")}`);
}
