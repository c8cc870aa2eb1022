import assert from "node:assert/strict";
import { test } from "node:test";
import { bufferedCheck, streamCheck } from "./answer-check.ts";

const stream = Buffer.from(
  ': comment of data:\n\ndata: {"a":"data: x"}\n\nevent: done\ndata: {"usage":{}}\n\ndata: [DONE]\n\n',
);

test("a stream is whole wherever it was split", () => {
  for (let at = 0; at <= stream.length; at += 1) {
    let events = 0;
    const count = (more: number): void => {
      events += more;
    };
    const check = streamCheck(3, count);
    check.take(stream.subarray(0, at));
    check.take(stream.subarray(at));
    assert.equal(check.finish(200), undefined, `split at ${at}`);
    assert.equal(events, 3);
  }
});

test("a stream that was cut anywhere, or lost an event, or was refused, is not whole", () => {
  const check = streamCheck(3, () => {});
  for (let at = 0; at < stream.length; at += 1) {
    check.take(stream.subarray(0, at));
    assert.equal(check.finish(200), "stream without its end");
  }
  check.take(stream.subarray(stream.indexOf("event:")));
  assert.equal(check.finish(200), "stream of 2 events");
  check.take(stream);
  assert.equal(check.finish(503), "status 503");
  check.take(stream);
  assert.equal(check.finish(200), undefined);
});

test("a buffered answer needs status 200, a JSON object and, the first time, usage in it", () => {
  const check = bufferedCheck();
  const answer = (text: string, status = 200) => {
    check.take(Buffer.from(text));
    return check.finish(status);
  };
  assert.equal(answer('{"choices":[]}'), "body without usage");
  assert.equal(answer('{"usage":{}}', 429), "status 429");
  assert.equal(answer('{"usage":{}'), "body without usage");
  assert.equal(answer('{"usage":{}}'), undefined);
  assert.equal(answer('{"usage":{}'), undefined);
  assert.equal(answer('{"usage":'), "body is not a JSON object");
  assert.equal(check.finish(200), "body is not a JSON object");
});
