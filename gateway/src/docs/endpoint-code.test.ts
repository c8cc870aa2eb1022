import assert from "node:assert/strict";
import { test } from "node:test";
import { endpoints } from "../routes/all.ts";
import { endpointCode, exampleBodies } from "./endpoint-code.ts";

const at = { baseUrl: "https://a.example", model: "alder-4b" };

test("the schema of each endpoint with a body takes its example, and there is no other example", () => {
  const withBody = endpoints.filter(({ body }) => body !== undefined);
  assert.deepEqual(withBody.map(({ id }) => id).toSorted(), Object.keys(exampleBodies).toSorted());
  for (const { id, body } of withBody) {
    const values = Object.entries(exampleBodies[id] ?? {}).map(([name, value]) => [
      name,
      String(value).startsWith("@") ? { bytes: new Uint8Array(1) } : value,
    ]);
    assert.equal(body?.schema.safeParse(Object.fromEntries(values)).error, undefined, id);
  }
});

test("the code names the method, the needed parameters and the credential of the declaration", () => {
  const codeOf = (id: string) => {
    const operation = endpoints.find((each) => each.id === id);
    assert.ok(operation);
    return endpointCode(operation, at).map(({ code }) => code);
  };
  const [curl, python, typescript] = codeOf("getGeneration");
  assert.equal(
    curl,
    'curl "https://a.example/api/v1/generation?id=ID" \\\n  -H "Authorization: Bearer $INFERENCE_API_KEY"',
  );
  assert.match(python ?? "", /os\.environ\['INFERENCE_API_KEY'\](.|\n)*json\.load\(answer\)/);
  assert.match(typescript ?? "", /process\.env\.INFERENCE_API_KEY(.|\n)*answer\.json\(\)/);
  assert.match(codeOf("changeKey")[0] ?? "", /^curl -X PATCH .*\/keys\/ID (.|\n)*\$INFERENCE_SESSION/);
  assert.match(codeOf("createTranscription")[0] ?? "", /-F file=@talk\.wav/);
  assert.match(codeOf("createChatCompletion")[1] ?? "", /"model": "alder-4b"/);
});
