import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { scanJson } from '../../../kernel/json.ts';
import type { ForwardTarget } from '../forward-target.ts';
import type { ForwardedEndpointId } from './endpoint.ts';
import { forwardedEndpoints } from './index.ts';

const ids = Object.keys(forwardedEndpoints) as ForwardedEndpointId[];
const target: ForwardTarget = {
  model: 'theirs',
  maxOutputTokens: 100,
  body: {},
  streamUsage: 'leave',
  omit: [],
  rename: {},
};

function read(id: ForwardedEndpointId, text: string) {
  const raw = Buffer.from(text);
  return forwardedEndpoints[id].readRequest(raw, JSON.parse(text) as JsonObject, scanJson(raw, 64));
}

function forwarded(id: ForwardedEndpointId, text: string, changes: Partial<ForwardTarget> = {}) {
  const request = read(id, text);
  assert.ok(!isFailure(request));
  const { bytes, losses } = request.forward({ ...target, ...changes });
  return { text: bytes.toString(), losses };
}

test('a body goes on byte for byte, but for its model', () => {
  const odd = '{ "prompt" : "a\\u00e9",\n "model":"ours" , "x":1.0e2, "input":"b", "questions":[{ }] }';
  for (const id of ids) assert.equal(forwarded(id, odd).text, odd.replace('"ours"', '"theirs"'));
});

test('what the operator sets for a target stands over the body, whichever way it is written', () => {
  for (const id of ids) {
    const sent = { input: 'a', questions: [{}] };
    const body = JSON.stringify({ ...sent, model: 'ours', truncate: false });
    const { text } = forwarded(id, body, { body: { truncate: true, extra: [1] } });
    assert.deepEqual(JSON.parse(text), { ...sent, model: 'theirs', truncate: true, extra: [1] });
  }
});

test('completions: more tokens than the model writes are lowered and listed; other endpoints have none', () => {
  const { text, losses } = forwarded('completions', '{"model":"ours","max_tokens":500}');
  assert.deepEqual(JSON.parse(text), { model: 'theirs', max_tokens: 100 });
  assert.deepEqual(losses, [{ field: 'max_tokens', why: 'clamped' }]);
  assert.equal(forwarded('rerank', '{"model":"ours","max_tokens":500}').losses.length, 0);
});

test('moderations: the default model is named to a target whose own is another', () => {
  const request = read('moderations', '{"input":"x"}');
  assert.equal(!isFailure(request) && request.model, 'omni-moderation-latest');
  assert.deepEqual(JSON.parse(forwarded('moderations', '{"input":"x"}').text), { input: 'x', model: 'theirs' });
});

test('moderations: a picture in the body is no text to be counted', () => {
  const url = `data:image/png;base64,${'A'.repeat(400_000)}`;
  const request = read('moderations', JSON.stringify({ input: [{ type: 'image_url', image_url: { url } }] }));
  assert.ok(!isFailure(request) && request.needs.inputTokensEstimate < 100);
});

test('completions: a prompt of ids of tokens has as many tokens, texts are estimated by their bytes', () => {
  const estimateOf = (prompt: unknown) => {
    const request = read('completions', JSON.stringify({ model: 'm', prompt }));
    return isFailure(request) ? null : request.needs.inputTokensEstimate;
  };
  const ids = Array.from({ length: 1_000 }, (_, at) => 10_000 + at);
  assert.equal(estimateOf(ids), 1_000);
  assert.equal(estimateOf([ids, ids]), 2_000);
  for (const texts of ['x'.repeat(4_000), ['x'.repeat(4_000)]]) assert.ok((estimateOf(texts) ?? 0) >= 1_000);
  assert.ok((estimateOf([]) ?? 0) > 0);
});

test('completions: conversations of one beginning find each other, tokens and nothing do not', () => {
  const startOf = (prompt: unknown) => {
    const request = read('completions', JSON.stringify({ model: 'm', prompt }));
    return isFailure(request) ? null : request.conversationStart;
  };
  assert.equal(startOf(['Once', 'Twice']), 'Once');
  assert.equal(startOf('x'.repeat(5_000))?.length, 1_024);
  for (const none of [[1, 2], [], null, 5, [[1]]]) assert.equal(startOf(none), '');
});

test('a wrong member is named, and any JSON is read without a throw', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...ids),
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.jsonValue(),
      (id, body, odd) => {
        const members = ['model', 'stream', 'stream_options', 'user', 'prompt', 'input', 'documents', 'max_tokens'];
        for (const name of members) {
          const request = read(id, JSON.stringify({ model: 'm', ...body, [name]: odd }));
          if (isFailure(request)) assert.equal(request.kind, 'invalid-request');
          else request.forward(target);
        }
      },
    ),
    { numRuns: 300 },
  );
});

/** Content of `[data]` in a stream, event by event. */
function watch(events: readonly string[]) {
  const reader = forwardedEndpoints.completions.readInPassing();
  const verdicts = events.map((data) => ({ ...reader.step({ event: '', data }) }));
  return { reader, verdicts, content: verdicts.filter(({ content }) => content).length };
}

const piece = (text: string, index = 0) =>
  JSON.stringify({ object: 'text_completion', choices: [{ index, text, finish_reason: null }] });
const finished = '{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}';
const usageChunk = '{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}';

test('completions in passing: text is content, usage is usage, [DONE] is the end', () => {
  const { reader, verdicts, content } = watch([piece('a'), piece('b', 1), finished, usageChunk, '[DONE]']);
  assert.equal(content, 2);
  assert.deepEqual(
    verdicts.map(({ usageOnly }) => usageOnly),
    [false, false, false, true, false],
  );
  assert.deepEqual(reader.seen.usage, { inputTokens: 3, outputTokens: 2 });
  assert.equal(reader.seen.terminal, true);
});

test('completions in passing: usage beside text hides no text', () => {
  const both = JSON.stringify({
    choices: [{ index: 0, text: 'x' }],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  });
  const { verdicts } = watch([both]);
  assert.deepEqual([verdicts[0]!.content, verdicts[0]!.usageOnly], [true, false]);
});

test('completions in passing: without [DONE] it has not ended, whatever the finish reasons say', () => {
  const { reader } = watch([piece('a'), finished]);
  assert.equal(reader.seen.terminal, false);
});

test('completions in passing: an error, or [DONE] without an answer, is a fault, and nothing after it counts', () => {
  const { verdicts, reader } = watch([
    '{"error":{"message":"overloaded","code":"overloaded_error"}}',
    piece('x'),
    '[DONE]',
  ]);
  assert.deepEqual([verdicts[0]!.fault?.class, verdicts[1]!.content], ['transient', false]);
  assert.equal(reader.seen.terminal, false);
  assert.equal(watch(['[DONE]']).verdicts[0]!.fault?.class, 'malformed');
});

test('completions in passing: [DONE] without a finish reason is a cut answer, and a line that is no JSON object a fault', () => {
  assert.equal(watch([piece('x'), '[DONE]']).verdicts[1]!.fault?.class, 'truncated');
  for (const line of ['{', '5', 'null', '[]', '<html>']) {
    const { verdicts, reader } = watch([piece('x'), line, finished, '[DONE]']);
    assert.deepEqual([verdicts[1]!.fault?.class, reader.seen.terminal], ['malformed', false], line);
  }
});

test('whole answers: what is none is a fault of the upstream, an error inside a 200 has its own class', () => {
  for (const id of ids) {
    const { whole } = forwardedEndpoints[id].readInPassing();
    for (const none of [null, [], 'x', 5, {}, { results: 5, choices: 'x' }]) {
      assert.equal(whole(none)?.class, 'malformed', `${id} ${JSON.stringify(none)}`);
    }
    assert.equal(whole({ error: { message: 'slow down', code: 'rate_limit_exceeded' } })?.class, 'rate_limited', id);
  }
  assert.equal(forwardedEndpoints.rerank.readInPassing().whole({ results: [] }), null);
  assert.equal(forwardedEndpoints.rerank.readInPassing().whole({ results: [], error: 'no' })?.message, 'no');
  assert.equal(forwardedEndpoints.completions.readInPassing().whole({ choices: [] })?.class, 'malformed');
});

test('rerank: usage in each place where servers tell it', () => {
  const usageOf = (rest: object) => {
    const reader = forwardedEndpoints.rerank.readInPassing();
    assert.equal(reader.whole({ results: [{ index: 0, relevance_score: 1 }], ...rest }), null);
    return reader.seen.usage;
  };
  const tokens = (inputTokens: number, more = {}) => ({ inputTokens, outputTokens: 0, ...more });
  assert.deepEqual(usageOf({ usage: { total_tokens: 7 } }), tokens(7, { totalTokens: 7 }), 'Jina, vLLM');
  assert.deepEqual(
    usageOf({ usage: { prompt_tokens: 6, completion_tokens: 0, total_tokens: 6 } }),
    tokens(6),
    'Together',
  );
  assert.deepEqual(
    usageOf({ usage: { search_units: 1, total_tokens: 9 } }),
    tokens(9, { searchUnits: 1, totalTokens: 9 }),
    'OpenRouter',
  );
  assert.deepEqual(
    usageOf({ meta: { billed_units: { search_units: 2 } } }),
    tokens(0, { searchUnits: 2 }),
    'Cohere v2',
  );
  assert.deepEqual(
    usageOf({ meta: { billed_units: { search_units: 1 }, tokens: { input_tokens: 11 } } }),
    tokens(11, { searchUnits: 1 }),
    'Cohere with tokens',
  );
  assert.deepEqual(usageOf({ meta: { billed_units: { input_tokens: 4 } } }), tokens(4), 'Cohere at other hosts');
  for (const silent of [
    {},
    { usage: null, meta: [] },
    { usage: { total_tokens: -1 } },
    { meta: { billed_units: 'x' } },
  ]) {
    assert.equal(usageOf(silent), null);
  }
});
