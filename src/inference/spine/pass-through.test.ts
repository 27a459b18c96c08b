import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { dialects } from '../../formats/dialects/dialect-table.ts';
import { forwardedEndpoints } from '../../formats/dialects/forwarded/index.ts';
import { WholeBody } from './answer-reader.ts';
import { PassedStream, PassedWhole } from './pass-through.ts';

const frame = (json: object) => `data: ${JSON.stringify(json)}\n\n`;
const pieces = ['Grüße', ' 👋', ' data: [DONE]', ''].map((text) =>
  frame({ choices: [{ index: 0, text, finish_reason: text === '' ? 'stop' : null }] }),
);
const usage = frame({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } });
const shown = `: hello\n\n${pieces.join('')}`;
const done = 'data: [DONE]\n\n';
const stream = Buffer.from(shown + usage + done);

function pass(chunks: readonly Buffer[], usageChunk: 'show' | 'hide') {
  const passed = new PassedStream(forwardedEndpoints.completions, usageChunk);
  // A step returns a view of bytes that the next step may move.
  const text = (bytes: Buffer | string | null) => Buffer.from(bytes ?? '').toString('latin1');
  const out = chunks.map((chunk) => text(passed.push(chunk)));
  return { passed, text: out.join('') + text(passed.finish()) };
}

const latin1 = (text: string) => Buffer.from(text).toString('latin1');

test('completions: cut at any byte, the stream goes on as the bytes it came in', () => {
  for (let at = 0; at <= stream.length; at += 1) {
    const cut = [stream.subarray(0, at), stream.subarray(at)];
    for (const [usageChunk, expected] of [
      ['show', shown + usage + done],
      ['hide', shown + done],
    ] as const) {
      const { passed, text } = pass(cut, usageChunk);
      assert.equal(
        text.replace(/^: hello\n\n/, ''),
        latin1(expected).replace(/^: hello\n\n/, ''),
        `${at} ${usageChunk}`,
      );
      assert.deepEqual([passed.fault, passed.done], [null, true]);
      assert.deepEqual(passed.usage, { inputTokens: 3, outputTokens: 2 });
      assert.equal(passed.contentEvents, 3);
    }
  }
});

test('completions: in any pieces too', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(stream.length), { maxLength: 12 }), (places) => {
      const at = [0, ...places.toSorted((a, b) => a - b), stream.length];
      const chunks = at.slice(1).map((end, i) => stream.subarray(at[i]!, end));
      assert.ok(pass(chunks, 'hide').text.endsWith(latin1(pieces.join('') + done)));
    }),
  );
});

test('completions: ended at any byte before its end mark is a cut stream', () => {
  for (let at = 0; at < stream.length - done.length; at += 1) {
    assert.equal(pass([stream.subarray(0, at)], 'hide').passed.fault?.class, 'truncated', String(at));
  }
});

test('a body gathered whole is what came, in chunks of any size', () => {
  const chunk = fc.integer({ min: 1, max: 3_000 }).map((length) => Buffer.alloc(length, `${length} `));
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 60 }), (chunks) => {
      const body = new WholeBody();
      for (const one of chunks) assert.equal(body.add(one), null);
      assert.deepEqual(body.bytes(), Buffer.concat(chunks));
      assert.deepEqual(body.bytes(), Buffer.concat(chunks));
    }),
  );
});

test('a whole answer goes on as the bytes it came in, whatever its characters and its length', () => {
  for (const text of ['Hello', 'Grüße 👋', 'word '.repeat(3_000), '\\u00e9', `${'word '.repeat(3_000)}ü`]) {
    // Blanks that writing it anew would lose.
    const whole = Buffer.from(
      `{ "choices": [{"index": 0, "text": "${text}", "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5} }`,
    );
    const passed = new PassedWhole(forwardedEndpoints.completions);
    passed.push(whole.subarray(0, 40));
    passed.push(whole.subarray(40));
    assert.deepEqual(Buffer.from(passed.finish() ?? ''), whole);
    assert.deepEqual([passed.fault, passed.usage], [null, { inputTokens: 3, outputTokens: 2 }]);
  }
});

test('no chunk has a null usage that its caller did not request, however it is spelled and wherever the network cuts it', () => {
  const choices = (delta: string, end: string) => `"choices":[{"index":0,"delta":${delta},"finish_reason":${end}}]`;
  const text = String.raw`"content":"an ü, \"usage\":null"`;
  // A chunk without a role is written anew.
  const deltas = [`{"role":"assistant",${text}}`, `{${text}}`];
  for (const form of [
    'C,"usage":null',
    'C, "usage": null',
    '"usage": null, C',
    'C,"usage":null,"x":1',
    'C,\ndata: "usage":null',
    'C,\ndata: "usage":null,\ndata: "x":1',
  ]) {
    const frame = (delta: string, end: string) => `data: {${form.replace('C', choices(delta, end))}}\n\n`;
    const wholes = deltas.map((delta) =>
      Buffer.from(`${frame(delta, 'null')}${frame('{}', '"stop"')}data: [DONE]\n\n`),
    );
    for (const [whole, cut] of wholes.flatMap((one) =>
      Array.from({ length: one.length + 1 }, (_, at) => [one, at] as const),
    )) {
      const passed = new PassedStream(dialects['openai-chat'], 'hide');
      const pieces = [whole.subarray(0, cut), whole.subarray(cut)].map((piece) => passed.push(Buffer.from(piece)));
      const out = [...pieces, passed.finish()].map((piece) => Buffer.from(piece ?? '').toString()).join('');
      assert.equal(passed.fault, null);
      assert.doesNotMatch(out, /[^\\]"usage"/, `${form} at ${cut}`);
      const chunks = out.split('\n\n').slice(0, -2);
      assert.equal(chunks.length, 2);
      for (const one of chunks) JSON.parse(one.replaceAll(/^data: /gm, ''));
      assert.ok(out.includes(text));
    }
  }
});

for (const [end, bytes] of [
  ['with [DONE]', done],
  ['without [DONE]', ''],
] as const) {
  test(`chat: a stream without usage gets the counts of this process where its caller asked for them, ${end}`, () => {
    const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
    const chunk = (delta: object, finish_reason: string | null) =>
      frame({ ...head, choices: [{ index: 0, delta, finish_reason }] });
    const text = chunk({ role: 'assistant', content: 'Hello there' }, null) + chunk({}, 'stop');
    const pass = (usageChunk: 'show' | 'hide') => {
      const passed = new PassedStream(dialects['openai-chat'], usageChunk, { inputTokensEstimate: 7 });
      return String(passed.push(Buffer.from(text + bytes)) ?? '') + String(passed.finish() ?? '');
    };
    assert.equal(pass('hide'), text + done);
    const counts = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
    assert.equal(pass('show'), text + frame({ ...head, choices: [], usage: counts }) + done);
  });
}
