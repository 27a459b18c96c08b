import type { JsonObject, JsonValue } from '../../kernel/json.ts';

/** JSON Schema (2020-12), as `/openapi.json` has it. */
export type JsonSchema = JsonObject;

/** One fault in a request: its place, the value, and the expected one. */
export interface Complaint {
  /** OpenAI's spelling: `messages[0].content`; '' is the value checked itself. */
  path: string;
  /** Undefined when it is missing. */
  got: JsonValue | undefined;
  /** Ends the sentence "send …". */
  send: string;
}

/** Null when the value is as it should be. Checks allocate only when they complain. */
export interface Check {
  (value: JsonValue): Complaint | null;
  /** JSON Schema of the accepted values, as far as it can say; absent: anything. */
  readonly schema?: JsonSchema;
}

export function described(schema: JsonSchema, check: (value: JsonValue) => Complaint | null): Check {
  return Object.assign(check, { schema });
}

export function schemaOf(check: Check): JsonSchema {
  return check.schema ?? {};
}

/** A body: its fields, each with its check or its row of a table, and the texts for required ones. */
export function bodySchema(
  fields: Iterable<readonly [name: string, check: Check | readonly [check: Check, ...unknown[]]]>,
  required: ReadonlyMap<string, string>,
): JsonSchema {
  const properties = Object.fromEntries(
    [...fields].map(([name, row]): [string, JsonSchema] => {
      const send = required.get(name);
      const schema = schemaOf(typeof row === 'function' ? row : row[0]);
      return [name, send === undefined ? schema : { description: sentence(send), ...schema }];
    }),
  );
  return { type: 'object', properties, required: [...required.keys()] };
}

function sentence(send: string): string {
  return `${send.charAt(0).toUpperCase()}${send.slice(1)}.`;
}
