import { isObject, type JsonObject, objectIn } from '../../kernel/json.ts';
import type { FitMembers, FittedMembers } from '../dialects/forward-target.ts';
import { schemaOfMode } from '../dialects/openai-chat/wire.ts';

/*
 * `response_format` of chats for services that refuse one of its forms, of callers of their format too. Null: it can stay.
 */

/** For services with JSON mode alone, which knows no schema; some demand the word JSON in the prompt. So words describe it. */
export const jsonModeForSchema = ofFormat(({ response_format: format, messages }) => {
  if (!isObject(format)) return null;
  const modeSchema = schemaOfMode(format);
  if (format.type !== 'json_schema' && modeSchema === null) return null;
  const members: JsonObject = { response_format: { type: 'json_object' } };
  const schema = modeSchema ?? objectIn(format.json_schema).schema;
  if (schema !== undefined && Array.isArray(messages)) {
    const content = `Answer with one JSON value that fits this JSON Schema, and nothing else: ${JSON.stringify(schema)}`;
    members.messages = [{ role: 'system', content }, ...messages];
  }
  return { members, losses: [{ field: 'response_format', why: 'narrowed' }] };
});

/** For services with schemas alone: JSON mode is a schema of any object. */
export const schemaForJsonMode = ofFormat((body) => {
  const withSchema = schemaOfJsonMode(body);
  if (withSchema !== null || objectIn(body.response_format).type !== 'json_object') return withSchema;
  const json_schema = { name: 'object', schema: { type: 'object', additionalProperties: true } };
  const members = { response_format: { type: 'json_schema', json_schema } };
  return { members, losses: [{ field: 'response_format', why: 'narrowed' }] };
});

/**
 * For services that refuse or ignore a `schema` in JSON mode, which others have, and clients (Instructor's for JavaScript)
 * send to all: it is the schema of the answer.
 */
export const schemaOfJsonMode = ofFormat(({ response_format: format }) => {
  const schema = schemaOfMode(objectIn(format));
  if (schema === null) return null;
  return { members: { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } }, losses: [] };
});

/**
 * For services that do not know TGI's form of a schema, `value` in JSON mode. Hugging Face's SDK for Python writes each
 * `json_schema` so.
 */
export const schemaOfTgi = ofFormat((body) => {
  return isObject(objectIn(body.response_format).value) ? schemaOfJsonMode(body) : null;
});

function ofFormat(fit: (body: JsonObject) => FittedMembers | null): FitMembers {
  return Object.assign(fit, { of: 'response_format' } as const);
}
