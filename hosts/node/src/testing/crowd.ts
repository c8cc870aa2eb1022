import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { chatRequestBytes } from "@inference/gateway/test/http-client";
import { checkSums } from "@inference/gateway/test/settlement/audit";
import { eventually } from "@inference/protocol/testing/eventually";
import { type Stack, startStack, type TestAccount } from "./stack.ts";

/** A gateway for clients that do nothing, or come only to leave. */
export type Crowd = {
  stack: Stack;
  accounts: TestAccount[];
  openStream(account: TestAccount, markers: string): Socket;
  assertServed(): Promise<void>;
  /** At the end no request is in flight, no hold is left, and the ledger agrees. */
  assertNothingLeft(): Promise<void>;
};

export async function startCrowd(accountCount: number): Promise<Crowd> {
  const stack = await startStack({ drainMs: 100 });
  // The provider keeps no record of each request.
  stack.simulator.simulator.change({ record: "off", errorBudget: null });
  const accounts = await Promise.all(Array.from({ length: accountCount }, () => stack.account(1_000_000_000)));
  const chat = (content: string, stream: boolean): object => ({
    ...{ model: "sim-small", max_tokens: 50, stream },
    messages: [{ role: "user", content }],
  });
  const crowd: Crowd = {
    stack,
    accounts,
    openStream({ key }, markers) {
      const { hostname, port } = new URL(stack.url);
      const socket = connect(Number(port), hostname).on("error", () => undefined);
      socket.write(chatRequestBytes(key, chat(markers, true)));
      return socket.resume();
    },
    async assertServed() {
      const key = accounts[0]?.key ?? assert.fail();
      const answer = await stack.call("/v1/chat/completions", { key, body: chat("[[tokens=2]]", false) });
      assert.equal(answer.status, 200, await answer.text());
    },
    async assertNothingLeft() {
      // Between two requests nothing may be alive although more connections wait.
      await eventually(async () => {
        assert.equal(stack.gateway.live.size, 0);
        await checkSums(stack);
      });
    },
  };
  await crowd.assertServed();
  return crowd;
}
