import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { offLoopBodyBytes } from '../../../kernel/limits.ts';
import { createEmbeddingCodec } from './embedding-codec.ts';

function codecFor(t: TestContext) {
  const codec = createEmbeddingCodec();
  t.after(() => codec.close());
  return codec;
}

const answerOf = (rows: readonly (readonly number[])[]) =>
  Buffer.from(
    JSON.stringify({ data: rows.map((embedding, index) => ({ index, embedding })), usage: { total_tokens: 9 } }),
  );

const many = Array.from({ length: 200 }, (_, i) => Array.from({ length: 1_000 }, (_, j) => i + j / 1_024));

test('F24 an answer above 1 MB is read in a thread, to the same numbers', async (t) => {
  const codec = codecFor(t);
  const whole = answerOf(many);
  assert.ok(whole.length > offLoopBodyBytes);
  // Memory of its own, as a body that was gathered has: it moves to the thread, which shows that it was not read here.
  const bytes = Buffer.from(new Uint8Array(whole).buffer);
  const read = await codec.decode('a', bytes, 'openai', many.length);
  assert.equal(bytes.length, 0);
  assert.ok(!('class' in read));
  assert.deepEqual([read.size, read.inputTokens], [1_000, 9]);
  assert.deepEqual([...read.rows], many.flat());
});

test('F24 an answer of many numbers is written in a thread, a short one here', async (t) => {
  const codec = codecFor(t);
  const rows = Float64Array.from(many.flat());
  const answer = { model: 'e', encoding: 'float', rows, size: 1_000, inputTokens: 9 } as const;
  const bytes = await codec.encode('a', answer, 'openai');
  assert.equal(rows.length, 0, 'its memory has gone to the thread');
  const parsed = JSON.parse(bytes.toString()) as { data: { embedding: number[] }[] };
  assert.deepEqual(
    parsed.data.map(({ embedding }) => embedding),
    many,
  );
  const few = { ...answer, rows: Float64Array.of(0.1, -2), size: 2 };
  const { id, ...written } = JSON.parse((await codec.encode('a', few, 'openai')).toString()) as { id: string };
  assert.match(id, /^embd-[\da-f-]{36}$/);
  assert.deepEqual(written, {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.1, -2] }],
    model: 'e',
    usage: { prompt_tokens: 9, total_tokens: 9 },
  });
  assert.equal(few.rows.length, 2);
});

test('what is no answer is a fault, of whatever size', async (t) => {
  const codec = codecFor(t);
  for (const [bytes, says] of [
    [Buffer.alloc(0), /empty/],
    [Buffer.from('{'), /not JSON/],
    [Buffer.from(`{"data":[${' '.repeat(offLoopBodyBytes)}`), /not JSON/],
    [answerOf([]), /0 vectors for 1 inputs/],
  ] as const) {
    const read = await codec.decode('a', bytes, 'openai', 1);
    assert.ok('class' in read);
    assert.equal(read.class, 'malformed');
    assert.match(read.message, says);
  }
});
