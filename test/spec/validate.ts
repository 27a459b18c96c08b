import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';

/** Published descriptions in this folder, by file name without `-openapi.json`. */
export type SpecName = 'openai' | 'qdrant';

/** The faults of a value, one line each; empty when it is as the description says. */
export type SpecValidator = (value: unknown) => string[];

const loaded = new Map<SpecName, Ajv2020>();
const compiled = new Map<string, SpecValidator>();

/** A check of values against one schema of a published description, such as `CreateChatCompletionResponse`. */
export function specValidator(spec: SpecName, schema: string): SpecValidator {
  const key = `${spec}#${schema}`;
  let validator = compiled.get(key);
  if (validator === undefined) {
    const check = ajvOf(spec).compile({ $ref: `${spec}#/components/schemas/${schema}` });
    validator = (value) =>
      check(value) ? [] : (check.errors ?? []).map((error) => `${error.instancePath || '/'} ${error.message ?? ''}`);
    compiled.set(key, validator);
  }
  return validator;
}

function ajvOf(spec: SpecName): Ajv2020 {
  let ajv = loaded.get(spec);
  if (ajv === undefined) {
    const file = new URL(`./${spec}-openapi.json`, import.meta.url);
    const { components } = JSON.parse(readFileSync(file, 'utf8')) as { components: unknown };
    ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
    ajv.addSchema({ $id: spec, components: withNulls(components) } as object);
    loaded.set(spec, ajv);
  }
  return ajv;
}

/** OpenAPI 3.0's `nullable`, which the descriptions still use, in the words of JSON Schema. */
function withNulls(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNulls);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { nullable, discriminator: _discriminator, ...rest } = schema as Record<string, unknown>;
  const inner = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, withNulls(value)]));
  return nullable === true ? { anyOf: [inner, { type: 'null' }] } : inner;
}
