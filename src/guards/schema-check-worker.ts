import { type Schema, Validator } from '@cfworker/json-schema';
import type { JsonObject } from '../kernel/json.ts';
import { answerOrders } from '../kernel/threads/thread-port.ts';

/** An order to the worker; each is answered once, in turn. */
export interface SchemaOrder {
  id: number;
  text: string;
  schema: JsonObject;
}

answerOrders(({ text, schema }: SchemaOrder) => lacking(text, schema));

/** Why the text does not meet the schema; '' when it does. */
function lacking(text: string, schema: JsonObject): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is no JSON';
  }
  try {
    const { valid, errors } = new Validator(schema as Schema, '2020-12', true).validate(value);
    return valid ? '' : (errors.at(-1)?.error ?? 'it does not meet the schema');
  } catch (error) {
    // A schema that names itself follows its answer down.
    if (error instanceof RangeError && depthOf(text) > depthMax) return `it has more than ${depthMax} levels`;
    throw error;
  }
}

const depthMax = 100;

/** Levels of JSON. */
function depthOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [sign] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[{\]}]/gs)) {
    if (sign === '[' || sign === '{') deepest = Math.max(deepest, ++depth);
    else if (sign === ']' || sign === '}') depth -= 1;
  }
  return deepest;
}
