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

test("every shape of price is there", async () => {
  await using provider = await start();
  const rows = new Map((await listing(provider, "?type=all")).data.map((row) => [row.id, row.model_spec]));
  const pricing = (id: string): Record<string, Record<string, unknown>> => rows.get(id)?.pricing ?? {};
  assert.deepEqual(pricing("sim-small"), { input: { usd: 0.15, diem: 0.15 }, output: { usd: 0.6, diem: 0.6 } });
  assert.deepEqual(pricing("sim-cached").cache_write, { usd: 1.925, diem: 1.925 });
  assert.equal(pricing("sim-extended").extended?.context_token_threshold, 200_000);
  assert.deepEqual(pricing("sim-extended").extended?.output, { usd: 22.5, diem: 22.5 });
  assert.deepEqual(pricing("sim-free").input, { usd: 0, diem: 0 });
  assert.equal(pricing("sim-noisy").input?.usd, 0.009200000000000002);
  assert.equal(pricing("sim-fine").input?.usd, 0.26666667);
  assert.equal(rows.get("sim-unpriced")?.pricing, undefined);
  assert.equal(rows.get("sim-video")?.pricing, undefined);
  assert.deepEqual(pricing("sim-image").upscale?.["4x"], { usd: 0.08, diem: 0.08 });
  assert.deepEqual(pricing("sim-image-sizes").resolutions?.["2K"], { usd: 0.23, diem: 0.23 });
  assert.deepEqual(Object.keys(pricing("sim-image-quality").quality ?? {}), ["1K", "2K", "4K"]);
  assert.deepEqual(Object.keys(pricing("sim-speech")), ["input"]);
  assert.equal(pricing("sim-transcribe").per_audio_second?.usd, 0.00003148);
});

test("traits, compatibility and styles are open reads", async () => {
  await using provider = await start();
  const read = async (path: string): Promise<{ data: Record<string, string> }> =>
    json(await ask(provider.url + path, { key: null }));
  assert.equal((await read("/models/traits")).data.fastest, "alder-4b");
  assert.equal((await read("/models/traits?type=image")).data.default, "heath-image");
  assert.equal(
    (await read("/models/compatibility_mapping?type=embedding")).data["text-embedding-ada-002"],
    "hawthorn-embed",
  );
  assert.ok(Array.isArray((await read("/image/styles")).data));
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
