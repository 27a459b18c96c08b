import assert from 'node:assert/strict';
import test from 'node:test';
import { plainSpec, readFor, refusalOf, textSpec, vectorCall } from '../../../test/vector-call.ts';
import type { Embedded } from '../vector-engine.ts';
import { openCall, readCall } from './read-call.ts';

const vector = [0.1, 0.2, 0.3, 0.4];

test('in a collection with a model, texts stand for vectors: in the vector or in payload.text', () => {
  const { request, texts, fill } = readFor(textSpec, 'upsert-points', {
    points: [
      { id: 1, payload: { text: 'one' } },
      { id: 2, vector, payload: { text: 'kept' } },
      { id: 3, vector: { text: 'three' } },
      { id: 4, vector: { text: 'four', model: 'alpha' } },
    ],
  });
  assert.deepEqual(texts, { model: 'alpha', purpose: 'document', texts: ['one', 'three', 'four'] });
  fill({ size: 4, vectors: Float32Array.from({ length: 12 }, (_, i) => i) });
  assert.ok(request.kind === 'write' && request.operations[0]?.kind === 'upsert');
  const written = request.operations[0].points.vectors;
  assert.deepEqual(written, new Float32Array([0, 1, 2, 3, ...vector, 4, 5, 6, 7, 8, 9, 10, 11]));
});

test('without a model of its own, the call names it once or with each text', () => {
  const read = (body: object) => readFor(plainSpec, 'upsert-points', body).texts;
  assert.deepEqual(read({ points: [{ id: 1, vector: { text: 'a', model: 'beta' } }] }), {
    model: 'beta',
    purpose: 'document',
    texts: ['a'],
  });
  assert.deepEqual(read({ model: 'beta', points: [{ id: 1, payload: { text: 'a' } }] })?.model, 'beta');
});

test('raw vectors of another model are refused, when the call says which', () => {
  const points = [{ id: 1, vector }];
  const body = { points, embedding_model: 'beta' };
  assert.equal(
    refusalOf(() => readFor(textSpec, 'upsert-points', body)),
    "400 embedding_model: the collection 'docs' holds vectors of 'alpha', and vectors of 'beta' cannot be compared with them",
  );
  assert.equal(readFor(textSpec, 'upsert-points', { points, embedding_model: 'alpha' }).texts, null);
});

for (const [spec, body, message] of [
  [
    textSpec,
    { points: [{ id: 1, payload: { txt: 'a' } }] },
    '400 points[0].vector: is missing, and there is no text to embed in points[0].payload.text',
  ],
  [
    textSpec,
    { points: [{ id: 1, vector: { text: 'a', model: 'beta' } }] },
    "400 points[0].vector.model: the collection 'docs' holds vectors of 'alpha', and vectors of 'beta' cannot be compared with them",
  ],
  [
    plainSpec,
    { points: [{ id: 1, vector: { text: 'a' } }] },
    "400 points[0].vector.text: name the embedding model in 'model': the collection 'plain' has none",
  ],
  [
    plainSpec,
    { points: ['beta', 'gamma'].map((model, id) => ({ id, vector: { text: 'a', model } })) },
    "400 points[1].vector.model: one call embeds with one model: 'beta' or 'gamma'",
  ],
  [textSpec, { points: [{ id: 1, vector: { text: '' } }] }, '400 points[0].vector.text: must not be empty'],
  [
    textSpec,
    { points: [{ id: 1, vector: { text: 'a', options: { k: 1 } } }] },
    '501 points[0].vector.options: options of a text are not supported; leave them out.',
  ],
] as const) {
  test(`refused texts: ${message}`, () => {
    assert.equal(
      refusalOf(() => readFor(spec, 'upsert-points', body)),
      message,
    );
  });
}

const embedded = (count: number): Embedded => ({ size: 4, vectors: new Float32Array(count * 4).fill(0.5) });
const half = new Float32Array(4).fill(0.5);

test('texts are looked for as vectors are, wherever one may stand', () => {
  const text = { text: 'what?' };
  for (const [verb, body] of [
    ['search-points', text],
    ['search-points', { vector: text }],
    ['query-points', text],
    ['query-points', { query: text }],
    ['query-points', { query: { nearest: { text: 'what?', model: 'alpha' } } }],
  ] as const) {
    const { request, texts, fill } = readFor(textSpec, verb, body);
    assert.deepEqual(texts, { model: 'alpha', purpose: 'query', texts: ['what?'] });
    fill(embedded(1));
    assert.deepEqual(request.kind === 'query' && request.query.target, { kind: 'nearest', vector: half, mmr: null });
  }
  const read = readFor(textSpec, 'query-points', { query: { recommend: { positive: [text], negative: [text] } } });
  assert.equal(read.texts?.texts.length, 2);
  const batch = readFor(textSpec, 'search-batch', { searches: [text, { vector }, text] });
  assert.equal(batch.texts?.texts.length, 2);
});

test("a collection without a model takes the call's", () => {
  const { texts } = readFor(plainSpec, 'search-points', { text: 'what?', model: 'beta' });
  assert.deepEqual(texts, { model: 'beta', purpose: 'query', texts: ['what?'] });
  assert.equal(
    refusalOf(() => readFor(plainSpec, 'search-points', { text: 'what?' })),
    "400 text: name the embedding model in 'model': the collection 'plain' has none",
  );
});

test('vectors of another length than the collection holds are refused', () => {
  const { fill } = readFor(plainSpec, 'search-points', { text: 'what?', model: 'beta' });
  assert.equal(
    refusalOf(() => fill({ size: 8, vectors: new Float32Array(8) })),
    "400 The model 'beta' gives vectors of 8 numbers, but the collection 'plain' holds vectors of 4.",
  );
});

test('a call has at most 2,048 texts, and fewer where vectors are very long', () => {
  const read = (size: number, texts: number) => {
    const points = Array.from({ length: texts }, (_, id) => ({ id, vector: { text: 'a' } }));
    const call = openCall(vectorCall('upsert-points', { points }, { params: { collection: 'docs' } }));
    return () => readCall(call, { ...textSpec, size }, { pointsPerCall: 10_000 });
  };
  assert.equal(read(4, 2_048)().texts?.texts.length, 2_048);
  assert.equal(read(65_536, 256)().texts?.texts.length, 256);
  assert.equal(
    refusalOf(read(4, 2_049)),
    '400 points[2048].vector.text: at most 2048 texts a call are embedded for vectors of 4 numbers; split the call',
  );
  assert.equal(
    // Before memory for all of them is taken.
    refusalOf(read(65_536, 10_000)),
    '400 points[256].vector.text: at most 256 texts a call are embedded for vectors of 65536 numbers; split the call',
  );
});
