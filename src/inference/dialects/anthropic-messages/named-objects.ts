import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { type BodyObjects, findNamed, type GivenId, memberKinds, type NamingRules } from '../named-objects.ts';

/**
 * Where a request names files, containers, skills and earlier answers that Anthropic keeps. An `mcp_servers` entry is an
 * address and a token of the caller's own: it names nothing that is kept.
 */
const rules: NamingRules = {
  members: memberKinds({
    file_id: 'id',
    file_ids: 'id',
    container_id: 'id',
    skill_id: 'skill',
    // Of `thread` and `diagnostics`.
    previous_message_id: 'id',
    input: 'opaque',
    input_schema: 'opaque',
    input_examples: 'opaque',
    metadata: 'opaque',
    schema: 'opaque',
  }),
  top: memberKinds({ container: 'id' }),
  // What a program put out, told back. Other results may hold documents, which are read.
  echoes: (type) => type.endsWith('_execution_output'),
};

export function objectsIn(body: JsonObject): BodyObjects {
  const kept = isObject(body.thread) || isObject(body.diagnostics);
  return Object.assign(findNamed(body, rules), { answerGives: kept ? 'all' : 'objects' } as const);
}

/** The container of an answer, or of the event that ends one. */
export function containerGiven({ container }: JsonObject): GivenId[] {
  return isObject(container) && typeof container.id === 'string' ? [{ id: container.id, nameable: 'always' }] : [];
}

/** Files that tools made, in a block of an answer. */
export function filesGiven(value: JsonValue | undefined): GivenId[] {
  if (Array.isArray(value)) return value.flatMap(filesGiven);
  // A server of the caller's own says what it likes.
  if (!isObject(value) || value.type === 'mcp_tool_result') return [];
  const own: GivenId[] = typeof value.file_id === 'string' ? [{ id: value.file_id, nameable: 'always' }] : [];
  return [...own, ...filesGiven(value.content)];
}
