import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../kernel/json.ts';
import { narrowSchema } from './narrow-schema.ts';

test('what Google takes goes whole', () => {
  const schema: JsonObject = {
    type: 'object',
    required: ['a'],
    additionalProperties: false,
    properties: { a: { anyOf: [{ type: 'string', format: 'date' }, { type: 'null' }] }, b: { $ref: '#/$defs/B' } },
    $defs: { B: { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 1 } },
  };
  assert.deepEqual(narrowSchema(schema), { schema, narrowed: false });
});

test('remarks go without a word, a constant is a choice of one', () => {
  const { schema, narrowed } = narrowSchema({ $schema: 'x', properties: { a: { const: 'k', default: 'k' } } });
  assert.deepEqual(schema, { properties: { a: { enum: ['k'] } } });
  assert.equal(narrowed, false);
});

test('other keywords become words, wherever they stand, and a property may be called like one', () => {
  const { schema, narrowed } = narrowSchema({
    properties: { pattern: { type: 'string', pattern: '^a' }, l: { items: { not: { type: 'null' } } } },
  });
  assert.equal(narrowed, true);
  assert.deepEqual(schema, {
    properties: {
      pattern: { type: 'string', description: '(pattern: "^a")' },
      l: { items: { description: '(not: {"type":"null"})' } },
    },
  });
});

test('older definitions are found again, and nothing stands beside a reference', () => {
  const { schema, narrowed } = narrowSchema({
    definitions: { P: { type: 'object', properties: { self: { $ref: '#/definitions/P', description: 'again' } } } },
    allOf: [{ $ref: '#/definitions/P' }],
  });
  assert.equal(narrowed, false);
  assert.deepEqual(schema, {
    $ref: '#/$defs/P',
    $defs: { P: { type: 'object', properties: { self: { $ref: '#/$defs/P' } } } },
  });
  const once = narrowSchema({ properties: { p: { allOf: [{ $ref: '#/$defs/P' }], title: 'T' } }, $defs: { P: {} } });
  assert.deepEqual(once, { schema: { properties: { p: { $ref: '#/$defs/P' } }, $defs: { P: {} } }, narrowed: false });
});

test('all of several schemas, or of one beside what it says too, is not taken for the one', () => {
  const several = { allOf: [{ required: ['a'] }, { required: ['b'] }] };
  for (const schema of [several, { type: 'object', allOf: [{ type: 'array' }] }, { allOf: [true] }, { allOf: {} }]) {
    const narrow = narrowSchema(schema);
    assert.equal(narrow.narrowed, true, JSON.stringify(schema));
    assert.equal('required' in narrow.schema, false, JSON.stringify(narrow.schema));
  }
  assert.deepEqual(narrowSchema({ title: 'T', allOf: [{ type: 'array' }] }).schema, { title: 'T', type: 'array' });
});
