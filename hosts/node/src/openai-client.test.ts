import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { billed, checkSums, providerRecord, settledOf, settledOne } from "@inference/gateway/test/settlement/audit";
import { formatUsd } from "@inference/protocol/money";
import OpenAI from "openai";
import { type Stack, startStack, type TestAccount } from "./testing/stack.ts";

/** The official client, as it comes, under both prefixes. */
const USD = 1_000_000_000;

let stack: Stack;
const accounts: TestAccount[] = [];
before(async () => {
  stack = await startStack();
});
after(async () => {
  await checkSums(
    stack,
    accounts.map(({ address }) => address),
  );
  await stack.stop();
});

for (const prefix of ["/v1", "/api/v1"]) {
  const open = async (): Promise<{ client: OpenAI; account: TestAccount }> => {
    const account = await stack.account(USD);
    accounts.push(account);
    return { client: new OpenAI({ apiKey: account.key, baseURL: stack.url + prefix, maxRetries: 0 }), account };
  };
  const ask = (tag: string): { model: string; messages: OpenAI.ChatCompletionMessageParam[]; max_tokens: number } => ({
    model: "sim-small",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: `${tag}${prefix}- hello [[tokens=25]]` },
    ],
    max_tokens: 100,
  });
  /** The client's one request cost what the provider bills. */
  const settledExactly = async (account: TestAccount, tag: string): Promise<number> => {
    const { receipt } = await settledOne(stack, account.address);
    assert.equal(receipt.chargeNanoUsd, billed(await providerRecord(stack, `${tag}${prefix}-`)));
    return receipt.chargeNanoUsd;
  };

  describe(`the official client at ${prefix}`, () => {
    test("completes a chat, and sees what it cost", async () => {
      const { client, account } = await open();
      const { data, response } = await client.chat.completions.create(ask("whole")).withResponse();
      const [choice] = data.choices;
      assert.ok((choice?.message.content ?? "").length > 0);
      assert.deepEqual([choice?.finish_reason, data.usage?.completion_tokens, data.model], ["stop", 25, "sim-small"]);
      const charge = await settledExactly(account, "whole");
      assert.equal((data.usage as { cost?: number } | undefined)?.cost, Number(formatUsd(charge)));
      const [{ receipt } = { receipt: undefined }] = await settledOf(stack, account.address);
      assert.equal(response.headers.get("x-request-id"), receipt?.id, "the request's id is the receipt's");
    });

    test("streams a chat, with the usage at its end only if it asked", async () => {
      for (const [tag, options] of [
        ["with", { include_usage: true }],
        ["without", undefined],
      ] as const) {
        const { client, account } = await open();
        const stream = await client.chat.completions.create({
          ...ask(tag),
          stream: true,
          ...(options === undefined ? {} : { stream_options: options }),
        });
        const chunks: OpenAI.ChatCompletionChunk[] = [];
        for await (const chunk of stream) chunks.push(chunk);
        const whole = await client.chat.completions.create(ask(tag));
        const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
        assert.equal(text, whole.choices[0]?.message.content, "the same text as in one piece");
        assert.equal(chunks.filter(({ choices }) => choices[0]?.finish_reason === "stop").length, 1);
        const usages = chunks.filter(({ usage }) => usage != null);
        assert.equal(usages.length, options === undefined ? 0 : 1);
        if (options === undefined) assert.ok(chunks.every(({ choices }) => choices.length > 0));
        else assert.equal(chunks.at(-1)?.usage?.completion_tokens, 25);
        const settled = await settledOf(stack, account.address);
        assert.equal(settled.length, 2);
        assert.equal(settled[0]?.receipt.chargeNanoUsd, settled[1]?.receipt.chargeNanoUsd);
      }
    });

    test("calls a tool, streamed through its own helper", async () => {
      const { client, account } = await open();
      const tools: OpenAI.ChatCompletionTool[] = [
        {
          type: "function",
          function: { name: "look_up", parameters: { type: "object", properties: { text: { type: "string" } } } },
        },
      ];
      const request = { ...ask("tool"), tools };
      request.messages[1] = { role: "user", content: `tool${prefix}- [[finish=tool_calls]][[tokens=9]]` };
      const final = await client.chat.completions.stream(request).finalChatCompletion();
      const [call] = final.choices[0]?.message.tool_calls ?? [];
      assert.equal(final.choices[0]?.finish_reason, "tool_calls");
      assert.ok(call?.type === "function" && call.function.name === "look_up");
      assert.equal(typeof (JSON.parse(call.function.arguments) as { text: unknown }).text, "string");
      await settledExactly(account, "tool");
    });

    test("lists and retrieves the models that can be used, with and without a key", async () => {
      const { client, account } = await open();
      const models: OpenAI.Model[] = [];
      for await (const model of client.models.list()) models.push(model);
      const ids = models.map(({ id }) => id);
      for (const id of ["sim-small", "sim-embedding", "sim-image", "sim-speech"]) assert.ok(ids.includes(id), id);
      for (const id of ["sim-unpriced", "sim-video", "sim-transcribe"]) assert.ok(!ids.includes(id), id);
      for (const model of models)
        assert.deepEqual([model.object, typeof model.created, typeof model.owned_by], ["model", "number", "string"]);
      assert.deepEqual(
        await client.models.retrieve("sim-small"),
        models.find(({ id }) => id === "sim-small"),
      );
      await assert.rejects(client.models.retrieve("nobody"), OpenAI.NotFoundError);
      const anyone = await fetch(`${stack.url}${prefix}/models`);
      assert.equal(((await anyone.json()) as { data: unknown[] }).data.length, models.length);
      assert.deepEqual(await settledOf(stack, account.address), []);
    });

    test("embeds, by its default encoding and as numbers", async () => {
      const { client, account } = await open();
      const input = [`embed${prefix}- one`, "two"];
      const { data, usage } = await client.embeddings.create({ model: "sim-embedding", input });
      assert.deepEqual(
        data.map(({ index, embedding }) => [index, embedding.length]),
        [
          [0, 256],
          [1, 256],
        ],
      );
      assert.ok(usage.prompt_tokens > 0);
      const charge = await settledExactly(account, "embed");
      const floats = await client.embeddings.create({ model: "sim-embedding", input, encoding_format: "float" });
      for (const [index, { embedding }] of floats.data.entries()) {
        for (const [place, value] of embedding.entries())
          assert.ok(Math.abs(value - (data[index]?.embedding[place] ?? 9)) < 1e-6);
      }
      const settled = await settledOf(stack, account.address);
      assert.deepEqual(
        settled.map(({ receipt }) => receipt.chargeNanoUsd),
        [charge, charge],
      );
    });

    test("makes an image", async () => {
      const { client, account } = await open();
      const image = await client.images.generate({
        model: "sim-image",
        prompt: `image${prefix}- a harbour`,
        size: "1024x1024",
      });
      const bytes = Buffer.from(image.data?.[0]?.b64_json ?? "", "base64");
      assert.deepEqual(
        [...bytes.subarray(1, 4)],
        [..."PNG"].map((letter) => letter.charCodeAt(0)),
      );
      assert.equal(await settledExactly(account, "image"), USD / 100);
    });

    test("speaks", async () => {
      const { client, account } = await open();
      const input = `speech${prefix}- good morning`;
      const answer = await client.audio.speech.create({
        model: "sim-speech",
        voice: "af_sky",
        input,
        response_format: "mp3",
      });
      assert.equal(answer.headers.get("content-type"), "audio/mpeg");
      assert.ok((await answer.arrayBuffer()).byteLength >= input.length * 64);
      assert.equal(await settledExactly(account, "speech"), input.length * 3_500);
    });

    test("aborts a stream, and owes what the answer used", async () => {
      const { client, account } = await open();
      const request = ask("abort");
      request.messages[1] = { role: "user", content: `abort${prefix}- [[tokens=40]][[drip=5]]` };
      const stream = await client.chat.completions.create({ ...request, stream: true });
      let seen = 0;
      for await (const _ of stream) {
        seen += 1;
        if (seen === 5) stream.controller.abort();
      }
      assert.ok(seen < 40);
      await settledExactly(account, "abort");
      const [settled] = await settledOf(stack, account.address);
      assert.deepEqual([settled?.detail.cancelled, settled?.detail.usage?.completionTokens], [true, 40]);
    });

    test("throws the provider's failure amid a stream as an error with our words", async () => {
      const { client } = await open();
      const request = ask("amid");
      request.messages[1] = { role: "user", content: `amid${prefix}- [[fault=error-after-content]]` };
      const stream = await client.chat.completions.create({ ...request, stream: true });
      let text = "";
      const error = await (async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
        return assert.fail("no error");
      })().catch((thrown: unknown) => thrown);
      assert.ok(text.length > 0);
      assert.ok(error instanceof OpenAI.APIError);
      assert.equal(error.code, "upstream_unavailable");
    });
  });
}
