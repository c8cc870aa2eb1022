import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, chat, json, start } from "./client.ts";
import { type ProviderSimulator, startProviderSimulator } from "./server.ts";

interface Listing {
  readonly object: string;
  readonly type: string;
  readonly data: readonly {
    readonly id: string;
    readonly object: string;
    readonly type: string;
    readonly owned_by: string;
    readonly model_spec: {
      readonly pricing?: Record<string, Record<string, unknown>>;
      readonly [name: string]: unknown;
    };
  }[];
}

async function listing(provider: ProviderSimulator, query = ""): Promise<Listing> {
  return json(await ask(`${provider.url}/models${query}`, { key: null }));
}

test("the catalogue is open, lists text models by default, and filters by type", async () => {
  await using provider = await start();
  const text = await listing(provider);
  assert.deepEqual([text.object, text.type], ["list", "text"]);
  assert.ok(text.data.every((row) => row.type === "text" && row.object === "model" && row.owned_by !== ""));
  const all = await listing(provider, "?type=all");
  for (const type of ["asr", "embedding", "image", "text", "tts", "video"]) {
    const rows = await listing(provider, `?type=${type}`);
    assert.ok(rows.data.length > 0, type);
    assert.deepEqual(
      rows.data,
      all.data.filter((row) => row.type === type),
    );
  }
});

test("the catalogue for people has usable models with prices, and no models for tests", async () => {
  const provider = await startProviderSimulator({ simulatorFaults: 0, answerText: "english" });
  try {
    const { data } = await listing(provider, "?type=all");
    assert.ok(data.length >= 8 && data.every(({ id }) => !/^(sim|fault)-/.test(id)), data.map(({ id }) => id).join());
    assert.ok(data.every(({ model_spec: { pricing, offline } }) => pricing !== undefined && offline === false));
    for (const path of ["/models/traits", "/models/compatibility_mapping"]) {
      for (const type of ["text", "image", "embedding", "tts"]) {
        const named = json<{ data: Record<string, string> }>(
          await ask(`${provider.url}${path}?type=${type}`, { key: null }),
        );
        for (const id of Object.values(named.data)) assert.ok(data.find((row) => row.id === id)?.type === type, id);
      }
    }
    const text = data.filter(({ type }) => type === "text");
    const answers = await Promise.all(text.map(({ id }) => chat(provider, id, "Hello")));
    assert.ok(answers.every(({ status }) => status === 200));
  } finally {
    await provider.close();
  }
});

test("an answer for people says that it is simulated, in whole sentences unless its maximum cuts it", async () => {
  const provider = await startProviderSimulator({ answerText: "english" });
  type Answer = { choices: { message: { content: string }; finish_reason: string }[] };
  try {
    for (const prompt of ["Hello", "What is a tarn?", "And then?"]) {
      const { choices } = json<Answer>(await chat(provider, "alder-4b", prompt));
      assert.match(choices[0]?.message.content ?? "", /^This answer is simulated\.( [A-Z][A-Za-z ,]{20,}\.)+$/);
      assert.equal(choices[0]?.finish_reason, "stop");
    }
    const cut = json<Answer>(await chat(provider, "alder-4b", "Hello", { max_tokens: 9 }));
    assert.equal(cut.choices[0]?.finish_reason, "length");
  } finally {
    await provider.close();
  }
});
