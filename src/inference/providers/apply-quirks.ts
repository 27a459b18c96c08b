import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { renameField } from '../dialects/rename-field.ts';
import type { Loss } from '../neutral/loss.ts';
import type { ProviderQuirks } from './provider.ts';

export interface FittedBody {
  /** The same object when nothing had to change, so that a caller may forward the raw bytes. */
  body: JsonObject;
  losses: Loss[];
}

const nothingLost: Loss[] = [];

/**
 * An OpenAI-dialect body as this provider takes it: fields it refuses are left out, fields it spells otherwise are
 * renamed. A field at its default loses nothing by going and is not listed. Never changes `body` itself.
 * `quirks` are those of `quirksOf`.
 */
export function applyQuirks(body: JsonObject, quirks: ProviderQuirks): FittedBody {
  if (fits(body, quirks)) return { body, losses: nothingLost };
  const fitted: JsonObject = { ...body };
  const losses: Loss[] = [];

  for (const field of quirks.omit) leaveOut(fitted, field, losses);
  // No loss: whether the caller wanted usage is not known here, and these services send it unasked.
  if (!quirks.streamUsage) delete fitted.stream_options;
  fitResponseFormat(fitted, quirks, losses);

  for (const from in quirks.rename) renameField(fitted, from, quirks.rename[from]!);
  return { body: fitted, losses };
}

/** Cheap enough for every request: a dozen look-ups, no allocation. */
function fits(body: JsonObject, quirks: ProviderQuirks): boolean {
  for (const field of quirks.omit) if (body[field] !== undefined) return false;
  for (const field in quirks.rename) if (body[field] !== undefined) return false;
  if (!quirks.streamUsage && body.stream_options !== undefined) return false;
  const format = body.response_format;
  if (format === undefined || (quirks.jsonSchema && quirks.jsonObject)) return true;
  return !isObject(format) || format.type === 'text';
}

/** What OpenAI takes for granted when the field is absent. */
const defaults: Readonly<Record<string, JsonValue>> = {
  logprobs: false,
  n: 1,
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  store: false,
  service_tier: 'auto',
  parallel_tool_calls: true,
};

function leaveOut(body: JsonObject, field: string, losses: Loss[]): void {
  const value = body[field];
  if (value === undefined) return;
  delete body[field];
  if (value !== null && value !== defaults[field]) losses.push({ field, why: 'unsupported' });
}

function fitResponseFormat(body: JsonObject, quirks: ProviderQuirks, losses: Loss[]): void {
  const format = body.response_format;
  if (!isObject(format)) return;
  if (format.type === 'json_object' && !quirks.jsonObject) {
    losses.push({ field: 'response_format', why: quirks.jsonSchema ? 'narrowed' : 'unsupported' });
    if (quirks.jsonSchema) body.response_format = anyObjectSchema;
    else delete body.response_format;
    return;
  }
  if (format.type !== 'json_schema' || quirks.jsonSchema) return;
  losses.push({ field: 'response_format', why: quirks.jsonObject ? 'narrowed' : 'unsupported' });
  if (quirks.jsonObject) body.response_format = { type: 'json_object' };
  else delete body.response_format;
  // JSON mode alone knows no schema, and some services demand the word JSON in the prompt: so it is told in words.
  const wrapped = format.json_schema;
  const schema = isObject(wrapped) ? wrapped.schema : undefined;
  const messages = body.messages;
  if (schema === undefined || !Array.isArray(messages)) return;
  const content = `Answer with one JSON value that fits this JSON Schema, and nothing else: ${JSON.stringify(schema)}`;
  body.messages = [{ role: 'system', content }, ...messages];
}

const anyObjectSchema: JsonObject = {
  type: 'json_schema',
  json_schema: { name: 'object', schema: { type: 'object', additionalProperties: true } },
};
