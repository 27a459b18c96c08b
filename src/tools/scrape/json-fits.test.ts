import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { misfitOf } from './json-fits.ts';

const person: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1 },
    age: { type: ['integer', 'null'], minimum: 0, exclusiveMaximum: 150 },
    tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 2 },
    boss: { $ref: '#' },
    pay: { anyOf: [{ type: 'number' }, { $ref: '#/$defs/range' }] },
    kind: { const: 'person' },
    first: { oneOf: [{ type: 'number' }, { type: 'integer' }] },
  },
  required: ['name'],
  additionalProperties: false,
  $defs: { range: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }] } },
};

const cases: readonly [JsonValue, string | null][] = [
  [{ name: 'A', age: null, tags: ['a'], boss: { name: 'B' }, pay: [1, 'EUR'], kind: 'person', first: 1.5 }, null],
  [[], 'the answer must be of type object'],
  [{}, "the answer must have 'name'"],
  [{ name: '' }, 'the answer.name must have a length of at least 1'],
  [{ name: 'A', age: 1.5 }, 'the answer.age must be of type integer or null'],
  [{ name: 'A', age: -1 }, 'the answer.age must be at least 0'],
  [{ name: 'A', age: 150 }, 'the answer.age must be below 150'],
  [{ name: 'A', tags: ['c'] }, 'the answer.tags[0] must be one of ["a","b"]'],
  [{ name: 'A', tags: ['a', 'a', 'a'] }, 'the answer.tags must have a length of at most 2'],
  [{ name: 'A', boss: { name: 'B', boss: {} } }, "the answer.boss.boss must have 'name'"],
  [{ name: 'A', pay: ['1'] }, 'the answer.pay fits none of anyOf'],
  [{ name: 'A', kind: 'dog' }, 'the answer.kind must be "person"'],
  [{ name: 'A', first: 1 }, 'the answer.first must fit exactly one of oneOf'],
  [{ name: 'A', more: 1 }, 'the answer.more is not allowed'],
];

for (const [value, wrong] of cases) {
  test(`a value is held to its schema: ${JSON.stringify(value)} → ${wrong ?? 'fits'}`, () => {
    assert.equal(misfitOf(value, person), wrong);
  });
}

test('schemas that have no end come to one', () => {
  assert.match(misfitOf(1, { $ref: '#' })!, /too deep to be checked/);
  const branch: JsonObject = { anyOf: [{ $ref: '#' }, { $ref: '#' }, { $ref: '#' }] };
  assert.equal(misfitOf(1, branch), 'the answer fits none of anyOf');
  assert.equal(misfitOf(1, { $ref: 'https://elsewhere.example/schema' }), null);
});

test('lengths of texts are characters, as JSON Schema counts them', () => {
  assert.equal(misfitOf('😀😀', { minLength: 2, maxLength: 2 }), null);
  assert.equal(misfitOf('😀', { minLength: 2 }), 'the answer must have a length of at least 2');
});
