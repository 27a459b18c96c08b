import { isObject, type JsonValue } from '../../kernel/json.ts';
import { described, schemaOf } from '../neutral/described-check.ts';
import { arrayOf, complain, members, needed, stringOf } from '../neutral/value-checks.ts';

/** Names of models, and the maximum number that a request may have in addition to its model. */
const modelName = stringOf(1, 256);
const modelsMax = 16;

export const fallbackNames = arrayOf(modelName, 0, modelsMax, 'model names');

const named = members('an object with a model', { model: needed(modelName, 'the name of a model') });
const entry = described({ anyOf: [schemaOf(modelName), schemaOf(named)] }, (value) => {
  if (!isObject(value)) return modelName(value);
  // The other members would change the request for this model alone.
  const other = Object.keys(value).find((name) => name !== 'model');
  return other === undefined ? named(value) : complain(other, value[other], 'the name of the model alone');
});

/** LiteLLM's `fallbacks`: names, or objects with a `model`. */
export const fallbackEntries = arrayOf(entry, 0, modelsMax, 'models');

/** Models to try after the request's model, in order; both members have passed their checks. */
export function fallbackModelsOf({ models, fallbacks }: { models?: string[] | null; fallbacks?: JsonValue }): string[] {
  if (!Array.isArray(fallbacks)) return models ?? [];
  const further = fallbacks.map((one) => (isObject(one) ? one.model : one) as string);
  return [...(models ?? []), ...further];
}
