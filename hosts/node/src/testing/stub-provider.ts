import type { Stack } from "./stack.ts";

export type StubAnswer = {
  status: number;
  contentType: string;
  body: string;
  /** The value of every header but those that say what the body is. */
  everyHeader?: string;
};

/** For as long as `act` runs, the provider gives this answer to everything: for what the simulator never says. */
export async function withAnswer<T>(stack: Stack, answer: StubAnswer, act: () => Promise<T>): Promise<T> {
  const { provider } = stack.gateway;
  const { infer } = provider;
  const { status, contentType, body, everyHeader = null } = answer;
  provider.infer = async () => ({
    status,
    header: (name) => (name === "content-type" ? contentType : name === "content-encoding" ? null : everyHeader),
    body: (async function* () {
      yield new TextEncoder().encode(body);
    })(),
  });
  try {
    return await act();
  } finally {
    provider.infer = infer;
  }
}
