import { type Failure, isFailure } from '../../../kernel/failure.ts';
import {
  isObject,
  type JsonObject,
  type JsonScan,
  type JsonValue,
  jsonText,
  listIn,
  objectIn,
} from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { NeutralMessage, NeutralPart, NeutralReasoning, NeutralRequest } from '../../neutral/request.ts';
import type { CallerRequest } from '../dialect.ts';
import { type ForwardBody, forwardBody } from '../forward-body.ts';
import type { ForwardTarget } from '../forward-target.ts';
import { memberKinds, objectsBy } from '../named-objects.ts';
import { openAiChat } from '../openai-chat/index.ts';
import { thinkingOf } from './encode-request.ts';
import { invalidFieldIn, unknownFieldsIn } from './request-fields.ts';
import { documentId } from './wire.ts';

/** Nothing in a body names an object at a provider. */
export const objects = objectsBy({
  members: memberKinds({ arguments: 'opaque', parameters: 'opaque', json_schema: 'opaque', data: 'opaque' }),
});

/**
 * Checks a body of `POST /v2/chat` and keeps it unchanged. For other formats it becomes the chat completion that says the
 * same, with its documents before the last turn of the user.
 */
export function readRequest(raw: Buffer, body: JsonObject, scan: JsonScan): CallerRequest | Failure {
  const failure = invalidFieldIn(body);
  if (failure !== null) return failure;
  const value = openAiChat.readRequest(raw, chatOf(body), scan);
  if (isFailure(value)) return value;
  const documents = documentsOf(body);
  const reasoning = reasoningOf(body);
  return {
    ...value,
    includeUsage: true,
    needs: reasoning === null ? value.needs : { ...value.needs, reasoning: reasoning.effort !== 'none' },
    neutral: () => neutralOf(value.neutral(), body, documents, reasoning),
    ...(documents.length > 0 && { echo: { documents: documents.map(({ id }) => id) } }),
    wordFor,
    forward: (target) => forward(raw, body, scan, target),
  };
}

/** The same as a chat completion of OpenAI's format, but for documents and thoughts. */
function chatOf(body: JsonObject): JsonObject {
  const chat: JsonObject = {
    model: body.model as string,
    messages: (body.messages as JsonObject[]).map(messageOf),
    stream: body.stream === true,
  };
  for (const [from, to] of renamed) {
    const value = body[from] ?? null;
    if (value !== null) chat[to] = value;
  }
  const { tools, strict_tools: strict, tool_choice: choice, k, response_format: format } = body;
  // 0 means that all tokens may come.
  if (typeof k === 'number' && k > 0) chat.top_k = k;
  if (Array.isArray(tools) && tools.length > 0) {
    // Cohere's SDK for Go leaves out the type, as Cohere lets it.
    const typed = (tools as JsonObject[]).map((tool) => ({ type: 'function', ...tool }));
    chat.tools = strict === true ? typed.map(strictTool) : typed;
    if (choice === 'REQUIRED' || choice === 'NONE') chat.tool_choice = choice.toLowerCase();
  }
  if (isObject(format) && format.type === 'json_object') {
    const schema = format.json_schema ?? format.schema;
    chat.response_format = isObject(schema)
      ? { type: 'json_schema', json_schema: { name: 'answer', schema } }
      : { type: 'json_object' };
  }
  return chat;
}

const renamed = [
  ['max_tokens', 'max_tokens'],
  ['stop_sequences', 'stop'],
  ['temperature', 'temperature'],
  ['seed', 'seed'],
  ['frequency_penalty', 'frequency_penalty'],
  ['presence_penalty', 'presence_penalty'],
  ['p', 'top_p'],
  ...['models', 'fallbacks'].map((name) => [name, name] as const),
] as const;

function strictTool(tool: JsonObject): JsonObject {
  return { ...tool, function: { ...(tool.function as JsonObject), strict: true } };
}

/** Plans and thoughts of the model go back as its reasoning; citations of an earlier answer say nothing to a model. */
function messageOf({
  role,
  content,
  tool_calls: calls,
  tool_call_id: callId,
  tool_plan: plan,
}: JsonObject): JsonObject {
  const parts = listIn(content) as JsonObject[];
  const thought = parts.flatMap(({ type, thinking }) => (type === 'thinking' ? [jsonText(thinking)] : [])).join('');
  const reasoning = thought !== '' ? thought : plan;
  const hasCalls = Array.isArray(calls) && calls.length > 0;
  return {
    role,
    content: typeof content === 'string' ? content : contentOf(parts, hasCalls),
    ...(role === 'tool' && typeof callId === 'string' && { tool_call_id: callId }),
    ...(hasCalls && { tool_calls: calls.map(callOf) }),
    ...(typeof reasoning === 'string' && reasoning !== '' && { reasoning_content: reasoning }),
  };
}

function callOf(call: JsonValue): JsonObject {
  const { id, function: called } = call as JsonObject;
  const { name, arguments: args = '{}' } = called as JsonObject;
  return { id, type: 'function', function: { name, arguments: args } };
}

/** Null where a turn has calls alone. */
function contentOf(parts: readonly JsonObject[], hasCalls: boolean): JsonValue {
  const texts = parts.flatMap((part): JsonObject[] => {
    if (part.type === 'thinking') return [];
    if (part.type !== 'document') return [part];
    const { document } = part;
    const data = isObject(document) ? document.data : document;
    return [{ type: 'text', text: typeof data === 'string' ? data : JSON.stringify(data) }];
  });
  return texts.length === 0 ? (hasCalls ? null : '') : texts;
}

interface GivenDocument {
  id: string;
  title: string | undefined;
  text: string;
}

function documentsOf({ documents }: JsonObject): GivenDocument[] {
  return listIn(documents).map((document, at): GivenDocument => {
    const { id, data = document } = objectIn(document);
    const { title, snippet, text } = objectIn(data);
    const words = text ?? snippet;
    // A document of a title and a text is these two; of any other, all members count.
    const isPlain = isObject(data) && Object.keys(data).every((name) => plainMembers.has(name));
    return {
      id: typeof id === 'string' ? id : documentId(at),
      title: typeof title === 'string' ? title : undefined,
      text: typeof data === 'string' ? data : isPlain && typeof words === 'string' ? words : JSON.stringify(data),
    };
  });
}

const plainMembers: ReadonlySet<string> = new Set(['title', 'text', 'snippet']);

function reasoningOf({ thinking, reasoning_effort: effort }: JsonObject): NeutralReasoning | null {
  if (!isObject(thinking)) return typeof effort === 'string' ? { effort } : null;
  if (thinking.type === 'disabled') return { effort: 'none' };
  const { token_budget: budget } = thinking;
  return typeof budget === 'number' ? { budgetTokens: budget } : { effort: 'medium' };
}

function neutralOf(
  request: NeutralRequest,
  body: JsonObject,
  documents: readonly GivenDocument[],
  reasoning: NeutralReasoning | null,
): NeutralRequest {
  const lost = unknownFieldsIn(body).map((field): Loss => ({ field, why: 'unsupported' }));
  const { citation_options: citing } = body;
  const isCited = !isObject(citing) || citing.mode !== 'OFF';
  return {
    ...request,
    ...(documents.length > 0 && { messages: withDocuments(request.messages, documents, isCited) }),
    ...(reasoning !== null && { reasoning }),
    ...(lost.length > 0 && { lost: [...(request.lost ?? []), ...lost] }),
  };
}

/** The documents before the text of the last turn of the user. */
function withDocuments(
  messages: readonly NeutralMessage[],
  documents: readonly GivenDocument[],
  isCited: boolean,
): NeutralMessage[] {
  const parts = documents.map(
    ({ title, text }): NeutralPart => ({
      type: 'document',
      source: { kind: 'base64', mediaType: 'text/plain', base64: Buffer.from(text).toString('base64') },
      ...(title !== undefined && { name: title }),
      ...(isCited && { cited: true }),
    }),
  );
  const at = messages.findLastIndex(({ role }) => role === 'user');
  if (at === -1) return [...messages, { role: 'user', parts }];
  return messages.map((message, i) => (i === at ? { ...message, parts: [...parts, ...message.parts] } : message));
}

/** Body of the caller; an output limit above the target's is clamped. */
function forward(raw: Buffer, body: JsonObject, scan: JsonScan, target: ForwardTarget): ForwardBody {
  const losses: Loss[] = [];
  const values = new Map([['model', JSON.stringify(target.model)]]);
  const { max_tokens: limit } = body;
  if (typeof limit === 'number' && target.maxOutputTokens !== null && limit > target.maxOutputTokens) {
    values.set('max_tokens', String(target.maxOutputTokens));
    losses.push({ field: 'max_tokens', why: 'clamped' });
  }
  const { reasoning_effort: effort, thinking } = body;
  if (effort === undefined) return forwardBody(raw, body, scan, target, { values, losses });
  if (typeof effort === 'string' && !isObject(thinking)) values.set('thinking', JSON.stringify(thinkingOf({ effort })));
  const without = [...(target.without ?? []), 'reasoning_effort'];
  return forwardBody(raw, body, scan, { ...target, without }, { values, losses });
}

const words: ReadonlyMap<string, string> = new Map([
  ['max_completion_tokens', 'max_tokens'],
  ['max_output_tokens', 'max_tokens'],
  ['top_p', 'p'],
  ['top_k', 'k'],
  ['stop', 'stop_sequences'],
  ['reasoning_effort', 'thinking'],
  ['thinking.budget_tokens', 'thinking.token_budget'],
]);

/** OpenAI's names of fields, which encoders use for losses and refusals, as Cohere's callers know them. */
function wordFor(field: string): string {
  if (field.startsWith('response_format')) return 'response_format';
  if (/^tools\[\d+\]\.function\.strict$/.test(field)) return 'strict_tools';
  return words.get(field) ?? field;
}
