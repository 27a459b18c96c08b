import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../kernel/json.ts';
import { isRecursive, narrowSchema } from './narrow-schema.ts';

test('refused keywords go into the description, at every depth', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      list: { type: 'array', minItems: 2, items: { type: 'string', maxLength: 5, description: 'A word.' } },
      either: { oneOf: [{ type: 'number', maximum: 1 }, { type: 'null' }] },
      // A field called like a keyword is a field.
      minimum: { type: 'integer' },
      when: { type: 'string', format: 'date-time' },
      odd: { type: 'string', format: 'iri' },
    },
  };
  assert.deepEqual(narrowSchema(schema), {
    narrowed: true,
    schema: {
      type: 'object',
      properties: {
        list: {
          type: 'array',
          items: { type: 'string', description: 'A word. (maxLength: 5)' },
          description: '(minItems: 2)',
        },
        either: { anyOf: [{ type: 'number', description: '(maximum: 1)' }, { type: 'null' }] },
        minimum: { type: 'integer' },
        when: { type: 'string', format: 'date-time' },
        odd: { type: 'string', description: '(format: "iri")' },
      },
      additionalProperties: false,
    },
  });
});

test('a schema within the limits only gets its objects closed, which loses nothing stated', () => {
  const schema = { type: 'object', properties: { a: { type: 'object' } }, required: ['a'] };
  const { schema: closed, narrowed } = narrowSchema(schema);
  assert.equal(narrowed, false);
  assert.equal(JSON.stringify(closed).match(/"additionalProperties":false/g)?.length, 2);
  assert.equal(narrowSchema({ type: 'object', additionalProperties: { type: 'string' } }).narrowed, true);
});

test('a member called __proto__ stays a member', () => {
  const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}') as JsonObject;
  assert.match(JSON.stringify(narrowSchema(schema).schema), /"__proto__":\{"type":"string"\}/);
});

test('recursion is found by whatever way, and shared definitions are none', () => {
  const node = { type: 'object', properties: { next: { $ref: '#/$defs/other' } } };
  const way = { $defs: { node, other: { anyOf: [{ $ref: '#/$defs/node' }] } }, $ref: '#/$defs/node' };
  assert.equal(isRecursive(way), true);
  assert.equal(isRecursive({ type: 'object', properties: { me: { $ref: '#' } } }), true);
  const leaf = { type: 'string' };
  const shared = {
    $defs: { leaf, pair: { items: { $ref: '#/$defs/leaf' } } },
    anyOf: [{ $ref: '#/$defs/leaf' }, { $ref: '#/$defs/pair' }],
  };
  assert.equal(isRecursive(shared), false);
});
