import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { ownValue } from "@inference/protocol/own-value";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { oneLine } from "./devnet-error.ts";

/** Where a running devnet takes commands: for whoever can read `ready.json`. */
export type ControlAddress = { url: string; token: string };

/** Does what is asked and says in lines what it did. Throws `DevnetError`. */
export type Command = (args: readonly string[], say: (line: string) => void) => Promise<void>;

/** One of these lines is an answer's last. */
export type Ending = { done: true } | { error: string };

const MAX_BODY_BYTES = 4_096;

/**
 * Takes `POST` with `{ command, args }` and answers with a JSON text a line, then an {@link Ending}. Commands run one
 * after the other.
 */
export async function startControl(
  commands: Readonly<Record<string, Command>>,
): Promise<{ address: ControlAddress; close(): Promise<void> }> {
  const token = randomBytes(24).toString("hex");
  let last: Promise<void> = Promise.resolve();
  const server = createServer((request, response) => {
    if (!isBearer(request.headers.authorization, token)) return void response.writeHead(401).end();
    let body = "";
    request.setEncoding("utf8").on("data", (piece: string) => {
      body += piece;
      if (body.length > MAX_BODY_BYTES) request.destroy();
    });
    request.on("end", () => {
      const write = (line: string | Ending): void => void response.write(`${JSON.stringify(line)}\n`);
      last = last.then(() => run(body, write).finally(() => response.end()));
    });
  });

  async function run(body: string, write: (line: string | Ending) => void): Promise<void> {
    try {
      const { command, args } = JSON.parse(body) as { command: string; args: string[] };
      const asked = ownValue(commands, command);
      if (asked === undefined) throw new Error(`there is no command ${command}`);
      await asked(args, write);
      write({ done: true });
    } catch (error) {
      write({ error: oneLine(error) });
    }
  }
  const { url, close } = await listenLocally(server);
  return { address: { url, token }, close };
}

function isBearer(header: string | undefined, token: string): boolean {
  const [given, wanted] = [Buffer.from(header ?? ""), Buffer.from(`Bearer ${token}`)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
