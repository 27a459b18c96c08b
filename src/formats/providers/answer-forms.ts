import { isObject, type JsonObject } from '../../kernel/json.ts';
import type { FittedMembers } from '../dialects/dialect.ts';

/*
 * `response_format` of chats for services that refuse one of its forms, of callers of their format too. Null: it can stay.
 */

/** For services with JSON mode alone, which knows no schema; some demand the word JSON in the prompt. So words describe it. */
export function jsonModeForSchema({ response_format: format, messages }: JsonObject): FittedMembers | null {
  if (!isObject(format) || format.type !== 'json_schema') return null;
  const members: JsonObject = { response_format: { type: 'json_object' } };
  const schema = isObject(format.json_schema) ? format.json_schema.schema : undefined;
  if (schema !== undefined && Array.isArray(messages)) {
    const content = `Answer with one JSON value that fits this JSON Schema, and nothing else: ${JSON.stringify(schema)}`;
    members.messages = [{ role: 'system', content }, ...messages];
  }
  return { members, losses: [{ field: 'response_format', why: 'narrowed' }] };
}

/** For services with schemas alone: JSON mode is a schema of any object. */
export function schemaForJsonMode({ response_format: format }: JsonObject): FittedMembers | null {
  if (!isObject(format) || format.type !== 'json_object') return null;
  const json_schema = { name: 'object', schema: { type: 'object', additionalProperties: true } };
  const members = { response_format: { type: 'json_schema', json_schema } };
  return { members, losses: [{ field: 'response_format', why: 'narrowed' }] };
}
