import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailureError } from '../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import type { CollectionSpec } from '../collection.ts';
import { type VectorVerb, vectorVerbNames, vectorVerbs } from '../verbs.ts';
import { vectorBodySchema } from './body-schemas.ts';
import { openCall, readCall } from './read-call.ts';

const spec: CollectionSpec = { name: 'docs', size: 4, distance: 'Dot' } as CollectionSpec;

/** The fault of a body; null: it is accepted. */
function complaint(verb: VectorVerb, body: JsonObject): string | null {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const owner = { tenant: 'dev/test', account: 'dev' };
  const params = vectorVerbs[verb].path.includes(':collection') ? { collection: 'docs' } : {};
  try {
    readCall(openCall({ owner, verb, params, search: '', body: bytes } as never), spec, { pointsPerCall: 1_000 });
    return null;
  } catch (error) {
    if (error instanceof FailureError && 'message' in error.failure) return error.failure.message;
    throw error;
  }
}

const verbs = vectorVerbNames.filter((verb) => Object.keys(fieldsOf(verb)).length > 0);

function fieldsOf(verb: VectorVerb): Record<string, JsonObject> {
  return vectorBodySchema(verb).properties as Record<string, JsonObject>;
}

/** A value of another type than any that the schema allows. */
function wrongFor({ type, anyOf }: JsonObject): JsonValue {
  const types = anyOf === undefined ? [type] : (anyOf as JsonObject[]).map((choice) => choice.type);
  const wrong: [string, JsonValue][] = [
    ['boolean', true],
    ['string', 'text'],
    ['integer', 0.5],
  ];
  return wrong.find(([name]) => !types.includes(name))![1];
}

for (const verb of verbs) {
  test(`the body of ${verb} is as it is described: every field is known and has its type, and what must be there`, () => {
    const fields = fieldsOf(verb);
    for (const [name, schema] of Object.entries(fields)) {
      const message = complaint(verb, { [name]: wrongFor(schema) });
      assert.notEqual(message, null, name);
      assert.doesNotMatch(message!, /unknown key/, name);
    }
    for (const name of (vectorBodySchema(verb).required as string[] | undefined) ?? []) {
      const rest = Object.fromEntries(Object.keys(fields).map((one) => [one, null]));
      assert.notEqual(complaint(verb, rest), null, `${name} may be left out`);
    }
    assert.match(complaint(verb, { 'zz-none': 1 }) ?? '', verb === 'post-points' ? /is missing/ : /unknown key/);
  });
}

test('every call that has a body is described', () => {
  const bodiless = vectorVerbNames.filter((verb) => !verbs.includes(verb));
  for (const verb of bodiless) assert.match(vectorVerbs[verb].method, /^(GET|DELETE)$/, verb);
});
