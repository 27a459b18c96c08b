import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { refusalOf, vectorCall } from '../../../test/vector-call.ts';
import type { VectorVerb } from '../verbs.ts';
import { liftVectors } from './lift-vectors.ts';
import { openCall, readCall } from './read-call.ts';

const size = 64;
const spec = { name: 'docs', size, distance: 'Cosine', embeddingModel: null } as const;
const numbers = Array.from({ length: size }, (_, i) => Math.fround(Math.sin(i)));
const list = JSON.stringify(numbers);
/** The same numbers, one with more digits than are read apart. */
const longList = `[${numbers.map((number, i) => (i === 9 ? number.toFixed(30) : String(number))).join()}]`;

const read = (verb: VectorVerb, text: string) =>
  readCall(openCall(vectorCall(verb, Buffer.from(text), { params: { collection: 'docs' } })), spec, {
    pointsPerCall: 10,
  }).request;
const lift = (text: string, depth: 1 | 3 = 1) => liftVectors(Buffer.from(text), { name: 'vector', depth });

test('numbers are those that JSON has, as 32-bit floats, however they are written', () => {
  const usual = (max: number) => fc.tuple(fc.double({ min: 1e-9, max, noNaN: true }), fc.constantFrom(1, -1));
  const written = fc.oneof(
    usual(1e9).map(([number, sign]) => String(Math.fround(number * sign))),
    usual(1e9).map(([number, sign]) => String(number * sign)),
    usual(2).map(([number, sign]) => (number * sign).toFixed(8)),
    usual(2).map(([number, sign]) => (number * sign).toExponential(7).toUpperCase()),
    // 0.… with about 16 digits, which are read at once.
    fc
      .tuple(usual(1), fc.integer({ min: 14, max: 20 }))
      .map(([[number, sign], digits]) => (number * sign).toFixed(digits)),
    fc.integer().map(String),
    fc.constantFrom('0', '-0', '1e2', '1E+2', '16777217', '0.00', '3.4e22', '9007199254740993', '1.50e-5'),
  );
  const blank = fc.constantFrom('', ' ', '\n\t');
  let lifted = 0;
  let cases = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(blank, written, blank), { minLength: size, maxLength: 80 }), (all) => {
      const array = `[${all.map((one) => one.join('')).join()}]`;
      const found = lift(`{"vector" : ${array}, "limit": 1}`);
      cases += 1;
      if (found === null) return;
      lifted += 1;
      assert.deepEqual(found.vectors, [Float32Array.from(JSON.parse(array) as number[])]);
      assert.equal(found.rest.toString(), '{"vector" : [0], "limit": 1}');
    }),
    { numRuns: 500, seed: 1 },
  );
  // `npm run check` looks at a tenth of them.
  assert.ok(lifted > 0.8 * cases, `${lifted} of ${cases} were read apart`);
});

test('what is no plain array of numbers is left to the parser', () => {
  const bad = [
    '01',
    '-',
    '+1',
    '.5',
    '5.',
    '1e',
    '1e+',
    '1.2.3',
    '1 2',
    '',
    'NaN',
    '"1"',
    'null',
    '[1]',
    '1e39',
    '0x1',
  ];
  for (const one of [...bad, '99999999999999999999', '1e-60']) {
    for (const at of [0, size]) {
      const list = numbers.map(String).toSpliced(at, 0, one).join();
      assert.equal(lift(`{"vector":[${list}]}`), null, `${one} at ${at}`);
    }
  }
  assert.equal(lift(`{"vector":[${numbers.join()}`), null);
  assert.equal(lift(`{"vector":[${numbers.join()},`), null);
  assert.equal(lift('{"vector":[]}'), null);
});

test('only members of that name and depth are read apart, whatever strings say', () => {
  const text = `{"a":"\\"[{\\"","vector\\\\":"","filter":{"vector":${list}},"b":["vector",${list}],"vector":${list}}`;
  const found = lift(text)!;
  assert.equal(found.vectors.length, 1);
  assert.deepEqual(JSON.parse(found.rest.toString()), { ...JSON.parse(text), vector: [0] });
  assert.deepEqual(
    lift(`{"points":[{"vector":${list},"payload":{"vector":${list}}},{"vector":${list}}]}`, 3)!.vectors,
    [Float32Array.from(numbers), Float32Array.from(numbers)],
  );
});

const filter = '"filter":{"must":[{"key":"a","match":{"value":"[1]"}}]}';
const payload = `"payload":{"vector":${list},"text":"{[\\"é"}`;
for (const [what, verb, before, after] of [
  ['a search', 'search-points', `{${filter},"vector":`, ',"limit":3}'],
  ['a query', 'query-points', '{"query":', `,${filter}}`],
  ['a search of groups', 'search-groups', '{"group_by":"a","vector":', '}'],
  ['an upsert', 'upsert-points', `{"points":[{"id":1,"vector":${list}},{"id":2,${payload},"vector":`, '}]}'],
  ['a change of vectors', 'update-vectors', `{"points":[{"id":2,"vector":{"":${list}}},{"id":1,"vector":`, '}]}'],
  [
    'a filter that looks like points',
    'upsert-points',
    '{"points":[{"id":1,"vector":',
    `}],"update_filter":{${filter}}}`,
  ],
] as const) {
  test(`${what} means the same with vectors that are read apart`, () => {
    const lifted = (text: string) => {
      try {
        return read(verb, text);
      } catch {
        return refusalOf(() => read(verb, text));
      }
    };
    assert.deepEqual(lifted(before + list + after), lifted(before + longList + after));
  });
}

test('a wrong vector is refused in the words for any other', () => {
  const search = (vector: string, rest = '') => refusalOf(() => read('search-points', `{"vector":${vector}${rest}}`));
  assert.match(search(JSON.stringify([...numbers, 1])), /vector: expected 64 numbers, got 65/);
  assert.match(search(JSON.stringify(numbers.with(7, 'x' as never))), /vector\[7\]: expected a number/);
  assert.match(search(list.replace(']', ',1e39]')), /got 65/);
  assert.match(search(list, `,"vector":${list}`), /more than one 'vector'/);
  assert.match(search(list, ',"limit":}'), /not valid JSON/);
  const twice = `{"points":[{"id":1,"vector":${list},"vector":${JSON.stringify([...numbers, 1])}}]}`;
  assert.match(
    refusalOf(() => read('upsert-points', twice)),
    /points\[0\].vector: expected 64 numbers, got 65/,
  );
});
