import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { codingChoice, codingGaps, codingModel } from "@inference/protocol/coding-model";
import { errorMeanings } from "@inference/protocol/error-meanings";
import { toolSetups } from "@inference/protocol/tool-setups";
import * as answers from "@inference/protocol/wire/answers";
import { ownKeyAnswer } from "@inference/protocol/wire/key-answers";
import type * as z from "zod";
import { prose } from "../../src/docs/page-parts.ts";
import { messageRules } from "../../src/docs/signed-message.ts";
import { snippets } from "../../src/docs/snippets.ts";
import type { TestAccount } from "../fund.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";

/** The gateway's documents are complete, and its answers match them. */
const USD = 1_000_000_000;
const hello = { model: "sim-small", max_tokens: 50, messages: [{ role: "user", content: "Hello" }] };

export function testDocuments(start: StartHost): void {
  describe("what the gateway says of itself", () => {
    const host = hostFor(start);
    let account: TestAccount;
    let baseUrl: string;
    before(async () => {
      account = await host.account(100 * USD);
      const status = (await (await host.call("/api/v1/status")).json()) as { data: { base_url: string } };
      baseUrl = status.data.base_url;
    });

    describe("each answer is as it is described", () => {
      const described = (schema: z.ZodType, value: unknown): void => {
        const { success, error } = schema.safeParse(value);
        assert.ok(success, `${error?.message} in ${JSON.stringify(value)}`);
      };
      const read = async (path: string, body?: object): Promise<unknown> => {
        const answer = await host.call(path, { key: account.key, ...(body === undefined ? {} : { body }) });
        assert.equal(answer.status, 200, `${path}: ${await answer.clone().text()}`);
        return answer.json();
      };

      const posts: [path: string, body: object, schema: z.ZodType][] = [
        ["/chat/completions", hello, answers.chatAnswer],
        ["/embeddings", { model: "sim-embedding", input: ["one", "two"] }, answers.embeddingsAnswer],
        ["/images/generations", { model: "sim-image", prompt: "a harbour" }, answers.imagesAnswer],
        ["/image/generate", { model: "sim-image", prompt: "a harbour" }, answers.imageGenerateAnswer],
      ];
      for (const [path, body, schema] of posts) {
        test(`POST ${path}`, async () => described(schema, await read(`/api/v1${path}`, body)));
      }

      test("every event of a stream", async () => {
        const body = { ...hello, stream: true, stream_options: { include_usage: true } };
        const answer = await host.call("/api/v1/chat/completions", { key: account.key, body });
        const lines = (await answer.text()).split("\n").filter((line) => line.startsWith("data: {"));
        assert.ok(lines.length > 3);
        for (const line of lines) described(answers.chatChunk, JSON.parse(line.slice(6)));
      });

      const gets: [path: string, schema: z.ZodType][] = [
        ["/", answers.rootAnswer],
        ["/api/v1/models", answers.modelsAnswer],
        ["/api/v1/models/sim-small", answers.modelAnswer],
        ["/api/v1/credits", answers.creditsAnswer],
        ["/api/v1/key", ownKeyAnswer],
        ["/api/v1/activity", answers.activityAnswer],
        ["/api/v1/activity?group_by=day,model,key", answers.activityAnswer],
        ["/api/v1/status", answers.statusAnswer],
        ["/api/v1/contracts", answers.contractsAnswer],
        ["/healthz", answers.healthAnswer],
        ["/auth/nonce", answers.nonceAnswer],
      ];
      for (const [path, schema] of gets) test(`GET ${path}`, async () => described(schema, await read(path)));

      test("a receipt", async () => {
        const { headers } = await host.call("/api/v1/chat/completions", { key: account.key, body: hello });
        described(answers.generationAnswer, await read(`/api/v1/generation?id=${headers.get("x-request-id")}`));
      });

      test("an error, with numbers and without", async () => {
        const poor = await host.account(1);
        const [unpaid, missing] = [
          await host.call("/api/v1/chat/completions", { key: poor.key, body: hello }),
          await host.call("/nowhere"),
        ];
        assert.deepEqual([unpaid.status, missing.status], [402, 404]);
        for (const answer of [unpaid, missing]) described(answers.errorAnswer, await answer.json());
      });
    });

    describe("the documents", () => {
      test("/openapi.json is OpenAPI 3.1 for this gateway", async () => {
        const answer = await host.call("/openapi.json");
        assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
        const { openapi, servers, paths } = (await answer.json()) as {
          openapi: string;
          servers: { url: string }[];
          paths: Record<string, unknown>;
        };
        assert.deepEqual([openapi, servers], ["3.1.0", [{ url: baseUrl }]]);
        assert.ok("/api/v1/chat/completions" in paths);
      });

      test("each is the same text in gzip, and may be kept for either", async () => {
        for (const path of ["/docs", "/docs/inference", "/openapi.json", "/llms.txt"]) {
          const [plain, compressed, refused] = await Promise.all(
            ["identity", "br, gzip", "gzip;q=0"].map((accepted) =>
              host.call(path, { headers: { "accept-encoding": accepted } }),
            ),
          );
          assert.equal(plain?.headers.get("content-encoding"), null);
          assert.equal(refused?.headers.get("content-encoding"), null);
          for (const answer of [plain, compressed]) assert.equal(answer?.headers.get("vary"), "accept-encoding");
          assert.equal(await compressed?.text(), await plain?.text());
        }
      });

      /** The pages that the menu of /docs names, by path. */
      const readPages = async (): Promise<Map<string, string>> => {
        const first = await (await host.call("/docs")).text();
        const paths = new Set([...first.matchAll(/href="(\/docs[^"#]*)"/g)].map(([, path = ""]) => path));
        return new Map(
          await Promise.all([...paths].map(async (path) => [path, await (await host.call(path)).text()] as const)),
        );
      };

      test("the pages of /docs name each other, run no script but the gateway's, and every link leads somewhere", async () => {
        const pages = await readPages();
        assert.ok(pages.size > 10);
        const idsOf = (page: string) => [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
        const elsewhere = new Set<string>();
        for (const [path, page] of pages) {
          const answer = await host.call(path);
          assert.match(answer.headers.get("content-type") ?? "", /^text\/html/);
          assert.match(answer.headers.get("content-security-policy") ?? "", /^default-src 'none'; script-src 'self';/);
          assert.doesNotMatch(answer.headers.get("content-security-policy") ?? "", /unsafe|\*/);
          // Code in the page is text, which the next test checks.
          const markup = page.replace(/<code>[^<]*<\/code>/g, "");
          assert.doesNotMatch(markup, /<script(?![^>]* src="\/assets\/)|<style|@import|url\(|\sstyle=|\son\w+="/i);
          assert.doesNotMatch(markup, /(?:src|href)="(?!\/|#)/i);
          const ids = idsOf(page);
          assert.equal(new Set(ids).size, ids.length, `an id is there twice on ${path}`);
          for (const [, place = "", id] of page.matchAll(/href="(\/[^"#]*)?(?:#([^"]+))?"/g)) {
            if (place.startsWith("/assets/")) elsewhere.add(place);
            else if (place !== "" && !pages.has(place)) elsewhere.add(place);
            else if (id !== undefined) assert.ok(idsOf(pages.get(place || path) ?? "").includes(id), `${place}#${id}`);
          }
          for (const other of pages.keys())
            assert.ok(page.includes(`href="${other}"`), `${path} does not name ${other}`);
          for (const [, asset = ""] of page.matchAll(/ src="([^"]+)"/g)) elsewhere.add(asset);
        }
        for (const path of elsewhere) {
          assert.equal((await host.call(path, { headers: { accept: "text/html" } })).status, 200, path);
        }
        assert.equal((await host.call("/docs/nothing")).status, 404);
      });

      test("/docs has every example, and none of it is taken for markup", async () => {
        const page = [...(await readPages()).values()].join("");
        const text = page
          .replaceAll("&quot;", '"')
          .replaceAll("&#39;", "'")
          .replaceAll("&lt;", "<")
          .replaceAll("&gt;", ">")
          .replaceAll("&amp;", "&");
        const { data: models } = answers.modelsAnswer.parse(await (await host.call("/api/v1/models")).json());
        const at = { baseUrl, model: models[0]?.id ?? "" };
        const coding = codingModel(models) ?? assert.fail();
        assert.deepEqual(codingGaps(coding), []);
        const tools = toolSetups({ baseUrl, model: coding.id, contextLength: coding.context_length });
        for (const { code } of [...snippets(at), ...tools]) assert.ok(text.includes(code), code);
        const plain = await (await host.call("/llms.txt")).text();
        for (const { code } of tools) assert.ok(plain.includes(code), code);
        const first = ["curl", "openai-python", "openai"];
        for (const { id, code } of snippets(at)) assert.equal(plain.includes(code), first.includes(id), id);
        const why = codingChoice(coding);
        assert.ok(plain.includes(why) && page.includes(String(prose(why))), why);
      });

      test("/docs and /llms.txt explain every error code, and what a signed message needs", async () => {
        const page = [...(await readPages()).values()].join("");
        const text = await (await host.call("/llms.txt")).text();
        const shown = (sentence: string) => String(prose(sentence));
        for (const [code, sentence] of Object.entries(errorMeanings)) {
          assert.ok(page.includes(shown(sentence)), `/docs says nothing of ${code}`);
          assert.ok(text.includes(`\`${code}\`: ${sentence}`), `/llms.txt says nothing of ${code}`);
        }
        for (const rule of messageRules({ baseUrl, chainIds: [31_337] })) {
          assert.ok(page.includes(shown(rule)) && text.includes(rule), rule);
        }
      });

      test("/llms.txt names every route, and begins as such a file does", async () => {
        const text = await (await host.call("/llms.txt")).text();
        assert.match(text, /^# .+\n\n> .+\n/);
        const { paths } = (await (await host.call("/openapi.json")).json()) as { paths: Record<string, object> };
        for (const [path, methods] of Object.entries(paths)) {
          for (const method of Object.keys(methods)) assert.ok(text.includes(`${method.toUpperCase()} ${path}`), path);
        }
      });
    });
  });
}
