import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { refusalOf } from '../../../test/vector-call.ts';
import { measureNesting } from './measure-nesting.ts';
import { parseBody } from './parse-vector-body.ts';

const parsed = (text: string | Uint8Array) => parseBody(typeof text === 'string' ? Buffer.from(text) : text);

test('a body is a JSON object', () => {
  assert.deepEqual(parsed(' {"points": [{"id": 1, "vector": [0.5]}]} '), { points: [{ id: 1, vector: [0.5] }] });
});

for (const [body, refusal] of [
  ['', '400 The body is not valid JSON: it is empty.'],
  ['{"a":1', '400 The body is not valid JSON: it ends too early.'],
  ['{"a":tru}', "400 The body is not valid JSON: unexpected '}'."],
  ['[1]', '400 The body must be a JSON object.'],
  ['null', '400 The body must be a JSON object.'],
  ['{"a":1,"b":[{"a":2}],"a":3}', "400 The body has more than one 'a'."],
  ['{"a":1,"\\u0061":3}', '400 The body has two members with the same name.'],
  ['{"a":["x","\\ud800"]}', "400 Invalid 'a[1]': it holds half of a surrogate pair. Send valid Unicode."],
] as const) {
  test(`refused: ${body === '' ? 'an empty body' : body}`, () => {
    assert.equal(
      refusalOf(() => parsed(body)),
      refusal,
    );
  });
}

test('refused: bytes that are not UTF-8', () => {
  assert.equal(
    refusalOf(() => parsed(Uint8Array.from([0x7b, 0xff, 0x7d]))),
    '400 The body is not valid UTF-8.',
  );
});

test('a whole pair of surrogates in escapes is a character like any other', () => {
  assert.deepEqual(parsed('{"a":"\\ud83d\\ude00"}'), { a: '\u{1f600}' });
});

test('64 levels are read, 65 are not', () => {
  const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  assert.equal(Object.keys(parsed(nested(64))).length, 1);
  assert.equal(
    refusalOf(() => parsed(nested(65))),
    '400 The body nests deeper than 64 levels.',
  );
});

for (const [body, refusal] of [
  ['{"points":[{"id":1,"vector":[1,2]},{"id":2,"vector":[0.1,NaN]}]}', 'points[1].vector[1]: NaN'],
  ['{"vector":[Infinity]}', 'vector[0]: Infinity'],
  ['{"query":{"nearest":[1,-Infinity]}}', 'query.nearest[1]: -Infinity'],
  ['{"score_threshold":NaN,"x":"a\\"b"}', 'score_threshold: NaN'],
] as const) {
  test(`a number that JSON does not have is named by its place: ${refusal}`, () => {
    assert.equal(
      refusalOf(() => parsed(body)),
      `400 ${refusal} is not JSON. Send a finite number.`,
    );
  });
}

test('NaN in a text is a word, and a body that fails elsewhere says so', () => {
  assert.deepEqual(parsed('{"text":"NaN"}'), { text: 'NaN' });
  assert.equal(
    refusalOf(() => parsed('{"text":"NaN [{", "a":}')),
    "400 The body is not valid JSON: unexpected '}'.",
  );
});

test('property: nesting and members are as JSON.parse finds them, long numbers and texts between', () => {
  const leaf = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string(),
    fc.constantFrom('x'.repeat(200), '"\\'.repeat(60), '['.repeat(90), null),
    fc.constant(Array.from({ length: 40 }, (_, i) => i / 7)),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 6 }, leaf, fc.array(tie('tree')), fc.dictionary(fc.string(), tie('tree'))),
  }));
  fc.assert(
    fc.property(fc.dictionary(fc.string(), tree), (value) => {
      const text = JSON.stringify(value);
      const depth = depthOf(JSON.parse(text));
      const { members } = measureNesting(Buffer.from(text), depth);
      assert.deepEqual([members, measureNesting(Buffer.from(text), depth).tooDeep], [Object.keys(value).length, false]);
      assert.equal(measureNesting(Buffer.from(text), depth - 1).tooDeep, true);
    }),
    { numRuns: 500, seed: 4 },
  );
});

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
