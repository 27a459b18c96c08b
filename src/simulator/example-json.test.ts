import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import type { JsonObject } from '../kernel/json.ts';
import { exampleOf } from './example-json.ts';

function errorsOf(schema: JsonObject, value: unknown): unknown {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);
  return validate(value) ? null : validate.errors;
}

const leaf: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({ type: fc.constant('string'), minLength: fc.nat(20) }),
  fc.record({ type: fc.constant('string'), maxLength: fc.nat(3) }),
  fc
    .constantFrom('date-time', 'date', 'email', 'uri', 'uuid', 'ipv4', 'ipv6')
    .map((format) => ({ type: 'string', format })),
  fc.record({ type: fc.constantFrom('integer', 'number'), minimum: fc.integer({ min: -50, max: 50 }) }),
  fc.record({ type: fc.constantFrom('integer', 'number'), exclusiveMaximum: fc.integer({ min: -50, max: 50 }) }),
  fc.record({ type: fc.constant('integer'), multipleOf: fc.integer({ min: 1, max: 9 }), minimum: fc.nat(50) }),
  fc.record({ enum: fc.array(fc.oneof(fc.string(), fc.integer()), { minLength: 1 }) }),
  fc.constantFrom<JsonObject>({ type: 'boolean' }, { type: 'null' }, { const: 'x' }, { type: ['string', 'null'] }, {}),
);

const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.record({ type: fc.constant('array'), items: tie('schema'), minItems: fc.nat(3) }),
    fc.dictionary(fc.string(), tie('schema'), { maxKeys: 4 }).map((properties) => ({
      type: 'object',
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
    })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
  ),
}));

test('the example of any such schema satisfies it', () => {
  fc.assert(
    fc.property(schema, (made) => {
      assert.equal(errorsOf(made, exampleOf(made, 'mock')), null);
    }),
    { numRuns: 80 },
  );
});

test('an example has what each part of allOf requires, and what is required in addition', () => {
  const named: JsonObject = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } };
  const made: JsonObject = {
    type: 'object',
    allOf: [{ $ref: '#/$defs/named' }, { required: ['age'], properties: { age: { type: 'integer', minimum: 3 } } }],
    properties: { city: { allOf: [{ type: 'string', minLength: 6 }] } },
    required: ['city'],
    $defs: { named },
  };
  assert.deepEqual(exampleOf(made, 'mock'), { city: 'mock..', name: 'mock', age: 3 });
  assert.equal(errorsOf(made, exampleOf(made, 'mock')), null);
});

test('references within the schema are followed, and endless ones end', () => {
  const node: JsonObject = {
    type: 'object',
    required: ['name', 'next'],
    properties: { name: { $ref: '#/$defs/name' }, next: { anyOf: [{ type: 'null' }, { $ref: '#' }] } },
    $defs: { name: { type: 'string', minLength: 2 } },
  };
  assert.deepEqual(exampleOf(node, 'mock'), { name: 'mock', next: null });
  const endless: JsonObject = { type: 'object', required: ['self'], properties: { self: { $ref: '#' } } };
  assert.equal(typeof exampleOf(endless, 'mock'), 'object');
});
