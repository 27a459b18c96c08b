import type { CallerDialectId, CallerRequest } from '../../../formats/dialects/dialect.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import { noExtras } from '../../../formats/dialects/request-extras.ts';
import type { Loss } from '../../../formats/neutral/loss.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import {
  isObject,
  type JsonObject,
  type JsonScan,
  type JsonValue,
  jsonText,
  listIn,
  objectIn,
  objectsIn,
  stringOr,
} from '../../../kernel/json.ts';
import { type ParsedObject, parseBody } from '../../../kernel/parse-object.ts';

/** A conversation, and as it was read. */
export interface ReadConversation {
  raw: Buffer;
  body: JsonObject;
  read: CallerRequest;
  dialect: CallerDialectId;
}

/** Parses and checks. */
export function readCaller(raw: Buffer, dialect: CallerDialectId): ReadConversation | Failure {
  const parsed = parseBody(raw);
  if (isFailure(parsed)) return parsed;
  return readAgain(raw, parsed, dialect, dialects[dialect].readRequest(raw, parsed.body, parsed.scan));
}

/**
 * A body as it was read, where its format may have been meant otherwise. Cursor asks for chat completions in the words of the
 * vendor that it knows by the model's name: in those of Responses (`input`, `input_text`, tools without `function`), or of
 * Messages (`input_schema`, `tool_use`). Such a body becomes the one in the words of chat completions.
 */
export function readAgain(
  raw: Buffer,
  { body, scan }: ParsedObject,
  dialect: CallerDialectId,
  read: CallerRequest | Failure,
): ReadConversation | Failure {
  const mayBeOther = dialect === 'openai-chat' && (isFailure(read) || read.extras?.nativeFor === 'judge');
  const other = mayBeOther ? inChat(raw, body, scan) : null;
  if (other === null) return isFailure(read) ? read : { raw, body, read, dialect };
  const again = isFailure(other) ? other : readCaller(Buffer.from(JSON.stringify(other.body)), dialect);
  if (isFailure(again) || isFailure(other)) return again;
  const { neutral, forward } = again.read;
  const named: CallerRequest = {
    ...again.read,
    neutral() {
      const made = neutral();
      return { ...made, lost: [...(made.lost ?? []), ...other.lost] };
    },
    forward(target) {
      const forwarded = forward(target);
      return { ...forwarded, losses: [...other.lost, ...forwarded.losses] };
    },
  };
  return { ...again, read: other.lost.length === 0 ? again.read : named };
}

interface InChat {
  body: Record<string, JsonValue | undefined>;
  /** Members without a word in chat completions. */
  lost: readonly Loss[];
}

/** The body in the words of chat completions; null: it has no others. A failure: what looks like Responses is none. */
function inChat(raw: Buffer, body: JsonObject, scan: JsonScan): InChat | Failure | null {
  const { messages, input, tools, tool_choice: choice, stream, stream_options } = body;
  if (messages === undefined && input !== undefined) {
    const encoded = encodedFrom(dialects['openai-responses'].readRequest(raw, body, scan));
    return isFailure(encoded) ? encoded : { ...encoded, body: { ...encoded.body, stream, stream_options } };
  }
  const offered = listIn(tools);
  const isOfMessages = (tool: JsonValue) => isObject(tool) && isObject(tool.input_schema);
  if (offered.some(isOfMessages) || (Array.isArray(messages) && messages.some(hasBlocks))) {
    const { readForCount, readRequest } = dialects['anthropic-messages'];
    const encoded = encodedFrom((readForCount ?? readRequest)(raw, body, scan));
    if (isFailure(encoded)) return null;
    const { messages: turns, tools: calls, tool_choice } = encoded.body;
    return { ...encoded, body: { ...body, system: undefined, messages: turns, tools: calls, tool_choice } };
  }
  const isFlat = offered.some((tool) => nested(tool) !== tool);
  const spelled = Array.isArray(messages) ? spelledTurns(messages) : null;
  if (!isFlat && spelled === null) return null;
  const ofTools = isFlat ? { tools: offered.map(nested), tool_choice: choice && nested(choice) } : {};
  return { body: { ...body, ...ofTools, ...(spelled !== null && { messages: spelled }) }, lost: [] };
}

function encodedFrom(read: Pick<CallerRequest, 'model' | 'neutral' | 'extras'> | Failure): InChat | Failure {
  if (isFailure(read)) return read;
  const { nativeOnly } = read.extras ?? noExtras;
  if (nativeOnly !== null) return nativeOnly;
  const neutral = read.neutral();
  // Custom tools stay such.
  const tools = neutral.tools?.map((tool) => (tool.custom ? { ...tool, custom: { ...tool.custom, of } } : tool));
  const target = { model: read.model, maxOutputTokens: null, stream: false, omit: [] };
  const encoded = dialects[of].encodeRequest({ ...neutral, ...(tools && { tools }) }, target);
  if (isFailure(encoded)) return encoded;
  // It has a place in chat completions.
  const isFormat = ({ field }: Loss) => /^tools\[\d+\]\.format$/.test(field);
  const lost = [...(neutral.lost ?? []), ...encoded.losses].filter((loss) => !isFormat(loss));
  return { body: encoded.body, lost };
}

const of = 'openai-chat' as const;

function hasBlocks(message: JsonValue): boolean {
  const content = isObject(message) && Array.isArray(message.content) ? message.content : [];
  return content.some(
    (part) => isObject(part) && /^(tool_use|tool_result|(redacted_)?thinking)$/.test(stringOr(part.type, '')),
  );
}

/**
 * Messages with parts of Responses' as those of chat completions, and with ids of calls that a client left empty, there or in
 * their results, which follow in the order of their calls. Null: all are as they should be.
 */
function spelledTurns(messages: readonly JsonValue[]): JsonValue[] | null {
  let count = 0;
  let open = new Set<JsonValue | undefined>();
  const turns = messages.map((message) => {
    if (!isObject(message)) return message;
    const { role, content, tool_calls: calls, tool_call_id: answered } = message;
    const changed: JsonObject = {};
    const parts = Array.isArray(content) ? content.map(chatPart) : [];
    if (parts.some((part, at) => part !== listIn(content)[at])) changed.content = parts;
    if (role === 'assistant') {
      const named = listIn(calls).map((call) => (lacksId(call) ? { ...call, id: `call_${++count}` } : call));
      if (listIn(calls).some(lacksId)) changed.tool_calls = named;
      open = new Set(objectsIn(named).map(({ id }) => jsonText(id)));
    }
    if (role === 'tool') {
      // Qwen-Agent has it in `id`.
      const [next] = open;
      const id = stringOr(answered, '') || (open.has(message.id) ? message.id : next);
      open.delete(id);
      if (id !== undefined && (answered ?? '') === '') changed.tool_call_id = id;
    }
    return Object.keys(changed).length === 0 ? message : { ...message, ...changed };
  });
  return turns.every((turn, at) => turn === messages[at]) ? null : turns;
}

function lacksId(call: JsonValue): call is JsonObject {
  return isObject(call) && (call.id ?? '') === '';
}

function chatPart(part: JsonValue): JsonValue {
  if (!isObject(part)) return part;
  const { type, text, image_url: url, detail, filename, file_data, file_id } = part;
  if ((type === 'input_text' || type === 'output_text') && typeof text === 'string') return { type: 'text', text };
  if (type === 'input_image' && typeof url === 'string')
    return { type: 'image_url', image_url: { url, ...(detail !== undefined && { detail }) } };
  if (type !== 'input_file' || (file_data ?? file_id) === undefined) return part;
  const file = Object.entries({ filename, file_data, file_id }).filter(([, value]) => value !== undefined);
  return { type: 'file', file: Object.fromEntries(file) };
}

/** A tool, or a choice of one, as Responses has it becomes that of chat completions; any other stays. */
function nested(tool: JsonValue): JsonValue {
  if (!isObject(tool) || typeof tool.name !== 'string') return tool;
  const { type, ...rest } = tool;
  if ((type !== 'function' && type !== 'custom') || isObject(rest[type])) return tool;
  const { type: kind, ...grammar } = objectIn(rest.format);
  const format = kind === 'grammar' ? { format: { type: kind, grammar } } : {};
  return { type, [type]: { ...rest, ...format } };
}
