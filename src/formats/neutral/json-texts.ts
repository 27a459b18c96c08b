import { isObject, type JsonObject, type JsonValue, nestsDeeper } from '../../kernel/json.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';
import { dropProof, sealedStep, sealThought, tellingProof, thoughtIn } from './thought-proof.ts';

/** The author of a text, or its use. `label`: a word or id of the format, which nobody should change. */
export type TextKind =
  | 'system'
  | 'user'
  | 'assistant'
  | 'reasoning'
  | 'refusal'
  | 'tool-definition'
  | 'tool-arguments'
  | 'tool-result'
  | 'address'
  | 'file-text'
  | 'query'
  | 'document'
  | 'metadata'
  | 'label'
  | 'other';

/** Members and indexes from the root. A path goes on within a text that is JSON, such as the arguments of a call. */
export type TextPath = readonly (string | number)[];

export interface TextChange {
  path: TextPath;
  /**
   * `name`: the text is the name of the member at `path`, which only answers have changed. `number`: its value, a
   * number; a text that is no number becomes a string. Absent: its value, a string.
   */
  as?: 'name' | 'number';
  text: string;
  /** Absent: nobody knows. */
  kind?: TextKind;
}

export interface TextPart extends TextChange {
  kind: TextKind;
  /** Kind of what a label names, where a model reads the label: a tool, a schema or a call. Absent: no model reads it. */
  names?: TextKind;
}

export interface Texts {
  parts: TextPart[];
  /** Content that is no text, that a provider keeps, or that is at an address; `tokens` of a tokenizer for a text. */
  unread: { path: TextPath; kind: 'bytes' | 'provider-object' | 'elsewhere' | 'tokens'; tokens?: number }[];
}

/** Lists whose texts are read as one: those of a message, of a system prompt and of a result of a tool. */
const listsOfPieces = new Set<string | number | undefined>(['content', 'parts', 'system', 'output']);

/** Whether a text may go on in the next one of its list. */
export function isPieceOfText({ path, kind, as }: Pick<TextPart, 'path' | 'kind' | 'as'>): boolean {
  return path.at(-1) === 'text' && listsOfPieces.has(path.at(-3)) && as === undefined && kind !== 'tool-arguments';
}

function kindTable(names: Partial<Record<TextKind, string>>): ReadonlyMap<string, TextKind> {
  const pairs = Object.entries(names) as [TextKind, string][];
  return new Map(pairs.flatMap(([kind, all]) => all.split(' ').map((name) => [name, kind])));
}

const kinds = kindTable({
  system: 'system instructions systemInstruction system_instruction',
  user: 'messages input contents prompt negative_prompt suffix questions',
  reasoning: 'reasoning reasoning_content reasoning_details reasoningText thinking thinking_blocks summary',
  refusal: 'refusal',
  'tool-definition': 'tools functions parameters inputSchema schema response_format responseFormat jsonSchema',
  'tool-result': 'output functionResponse toolResult',
  address: 'url urls image_url file_url fileUri file_uri uri',
  query: 'query q queries search',
  document: 'documents passages',
  metadata: 'user user_id safety_identifier prompt_cache_key',
  label:
    'type role id model name call_id tool_call_id tool_use_id object status detail effort format media_type mimeType mime_type encoding_format finish_reason stop_reason voice size quality language service_tier truncation embedding_model distance previous_response_id conversation tool_choice phase event_id item_id response_id taskId contextId messageId artifactId',
});
const roles = kindTable({
  system: 'system developer',
  user: 'user',
  assistant: 'assistant model',
  'tool-result': 'tool function',
});
/** Members whose objects are the caller's or the model's altogether: their names are texts too. */
const free = kindTable({
  'tool-arguments': 'arguments args env',
  'tool-result': 'response structuredContent',
  metadata: 'metadata attributes',
  document: 'payload',
  query: 'filter',
  user: 'variables',
  'tool-definition': 'input_schema responseSchema responseJsonSchema response_schema response_json_schema',
});
/** Members that hold words of a format alone, at any depth. */
const labelled = new Set(['category_applied_input_types', 'api_version', 'with_payload']);
/** A member and its value where that is a word of a format: any other value of the member is a text. */
const formatWord =
  /^(jsonrpc=2\.0|kind=(message|task|status-update|artifact-update|text|file|data)|state=(TASK_STATE_[A-Z_]+|submitted|working|completed|failed|canceled|rejected|(input|auth)-required|unknown)|timestamp=\d{4}-\d\d-\d\dT[\d:.]+Z|tool=[\w-]+__[\w.-]+|background=(transparent|opaque|auto)|output_format=(png|jpeg|webp|gif|svg)|input_fidelity=(low|high)|moderation=(low|auto)|style=(vivid|natural)|response_format=(url|b64_json|json|text|srt|vtt|verbose_json|diarized_json|mp3|opus|aac|flac|wav|pcm))$/;
/** Ids in the points of vector stores: were they changed, nobody would find the passages of a file to remove them. */
const storeId = /^(file-|vsf_)[0-9a-z]{9}[0-9A-Za-z]{16}$/;
const bytes = new Set('data file_data b64_json bytesBase64Encoded bytes image images audio mask blob'.split(' '));
const providerObjects = new Set(['file_id', 'container', 'cachedContent']);
/** Signatures, encrypted thoughts and states of MCP servers, where the format and nobody else names the members. */
const sealedMember = /signature$|^encrypted_|^redacted|^requestState$/i;
/** Types of such thoughts. */
const redacted = /^redacted[_-](thinking|reasoning)$|^reasoning\.encrypted$/;
/** Members with the address of a picture or a file. Its content is what a model reads, and nobody else does. */
const filesElsewhere = new Set(
  'image_url file_url video_url audio_url document_url fileUri file_uri s3Location'.split(' '),
);
/** A whole one: a text may begin like it, and say something behind that. */
const dataUrl = /^data:[\w.+/;="-]{0,200};base64,[\w+/=%\n\r-]*$/;
const webAddress = /^https?:/i;

/**
 * Every text of a JSON value, each with its place, and what of it is no text. `root`: kind of what says no more. `free`:
 * no member has a meaning that is known.
 */
export function textsIn(body: JsonValue, root: TextKind = 'other', members: 'known' | 'free' = 'known'): Texts {
  const found: Texts = { parts: [], unread: [] };
  visit(body, [], { kind: root, free: members === 'free', holder: null }, found);
  return found;
}

interface Around {
  kind: TextKind;
  free: boolean;
  /** The object that has the value. */
  holder: JsonObject | null;
  /** Kind of what a label names, as a part has it. */
  names?: TextKind;
}

function visit(value: JsonValue | undefined, path: TextPath, around: Around, found: Texts): void {
  if (typeof value === 'string') visitText(value, path, around, found);
  else if (Array.isArray(value)) {
    const mayBeTokens = path.length <= 2 && (path[0] === 'input' || path[0] === 'prompt') && !around.free;
    const tokens = mayBeTokens ? value.filter((one) => typeof one === 'number').length : 0;
    if (tokens > 0) found.unread.push({ path, kind: 'tokens', tokens });
    for (const [at, one] of value.entries()) {
      // Vectors have thousands of numbers.
      const isLong = typeof one === 'number' && around.free && Math.abs(one) >= 1e6;
      if (typeof one === 'string' || typeof one === 'object' || isLong) visit(one, [...path, at], around, found);
    }
  } else if (typeof value === 'number' || isRawJSON?.(value) === true) visitNumber(value, path, around, found);
  else if (isObject(value)) {
    const inside: Around = { ...around, kind: around.free ? around.kind : kindOfObject(value, around), holder: value };
    for (const [name, one] of Object.entries(value)) {
      const at = [...path, name];
      if (around.free) found.parts.push({ path: at, as: 'name', kind: around.kind, text: name });
      visit(one, at, around.free ? inside : aroundMember(name, one, inside, path), found);
    }
  }
}

function kindOfObject({ role, type }: JsonObject, { kind }: Around): TextKind {
  const written = typeof role === 'string' ? roles.get(role) : undefined;
  if (written !== undefined) return written;
  if (typeof type !== 'string') return kind;
  if (/tool_result|_output$/.test(type)) return 'tool-result';
  return type === 'thinking' || type === 'reasoning' ? 'reasoning' : kind;
}

function aroundMember(name: string, value: JsonValue | undefined, { kind, holder }: Around, path: TextPath): Around {
  if (name === 'input' && isCall(holder)) return { kind: 'tool-arguments', free: true, holder };
  // A part of an agent's message that is an object.
  const isOfAgent = name === 'data' && isObject(value) && path.at(-2) === 'parts';
  const freeKind = free.get(name) ?? (isOfAgent || isFreeObject(name, value, kind, holder) ? kind : undefined);
  if (freeKind !== undefined) return { kind: freeKind, free: true, holder };
  // Most values are long, and none of these words is.
  const isWord = typeof value === 'string' && value.length <= 200 && formatWord.test(`${name}=${value}`);
  if ((isWord || labelled.has(name)) && kind !== 'document') return { kind: 'label', free: false, holder };
  const named = name === 'name' && isPersonal(holder) ? kind : (kinds.get(name) ?? kind);
  // A label is one word: a list or an object of this name holds something else. Documents have members of any name.
  const isLabel = typeof value === 'string' && (kind !== 'document' || name === 'id');
  if (name === 'format' && isObject(value)) return { kind: 'tool-definition', free: false, holder };
  if (named !== 'label' || !isLabel) return { kind: named === 'label' ? kind : named, free: false, holder };
  const around: Around = { kind: named, free: false, holder };
  if (name !== 'name') return around;
  if (kind === 'tool-definition') return { ...around, names: kind };
  const isOfCall = holder?.arguments !== undefined || holder?.args !== undefined || holder?.input !== undefined;
  return isOfCall ? { ...around, names: 'tool-arguments' } : around;
}

/** Whether the name is a person's or a file's: of who speaks, of a document of Converse, of a file in an annotation, or of an agent's. */
function isPersonal(holder: JsonObject | null): boolean {
  if (holder === null) return false;
  const { role, source, format, hash, mimeType, artifactId } = holder;
  const isTool = role === 'tool' || role === 'function';
  const isOfAgent = mimeType !== undefined || artifactId !== undefined;
  const isDocument = (source !== undefined && format !== undefined) || hash !== undefined;
  return (typeof role === 'string' && !isTool) || isDocument || isOfAgent;
}

/** Each format names the object of a call in its way. */
function isCall(holder: JsonObject | null): boolean {
  if (holder?.toolUseId !== undefined || holder?.toolCallId !== undefined) return true;
  return typeof holder?.type === 'string' && /tool[_-]use|tool[_-]call|mcp_call/.test(holder.type);
}

/** Objects whose members others name: properties of a schema, answers to a form, results of a tool in JSON, and documents. */
function isFreeObject(name: string, value: JsonValue | undefined, kind: TextKind, holder: JsonObject | null): boolean {
  if (kind === 'tool-definition') return schemaNames.has(name) || (typeof value === 'object' && schemaValues.has(name));
  // A form that a person filled in for an MCP server, which names its fields.
  if (name === 'content' && holder?.action === 'accept') return isObject(value);
  if (kind !== 'tool-result' && kind !== 'document') return false;
  return name === 'json' || (name === 'data' && isObject(value)) || (name === 'value' && endsIn(/json$/, holder?.type));
}

/** Schemas of a tool, and members of one whose members the caller names. Words such as `format` are a caller's there. */
const schemaNames = new Set(
  'parameters inputSchema parametersJsonSchema schema properties patternProperties $defs definitions dependentSchemas dependentRequired'.split(
    ' ',
  ),
);
/** Members of a tool or a schema with values, which may be objects. */
const schemaValues = new Set('default const enum example examples input_examples inputExamples'.split(' '));

function endsIn(end: RegExp, value: JsonValue | undefined): boolean {
  return typeof value === 'string' && end.test(value);
}

/** Long enough for a card, an account or a national id. */
const longNumber = /^-?\d{7,}$/;

/** Numbers are settings of a request, but where the caller or the model names the members. */
function visitNumber(value: JsonValue | undefined, path: TextPath, { kind, free }: Around, found: Texts): void {
  const text = JSON.stringify(value);
  if (free && longNumber.test(text)) found.parts.push({ path, as: 'number', kind, text });
}

function visitText(text: string, path: TextPath, { kind, free, holder, names }: Around, found: Texts): void {
  // Nobody but its provider reads it, or has written it.
  if (path.at(-1) === 'data' && endsIn(redacted, holder?.type)) return;
  const thought = thoughtIn(text) ?? (tellingProof.test(text) ? text : null);
  if (thought !== null) {
    found.parts.push({ path: [...path, sealedStep], kind: 'reasoning', text: thought });
    return;
  }
  if (!free && kind !== 'document' && sealedMember.test(String(path.at(-1)))) return;
  const unread = dataUrl.test(text) ? 'bytes' : free ? null : unreadIn(text, path, holder);
  if (unread !== null) found.unread.push({ path, kind: unread });
  // The address of a file is a text all the same.
  if (unread !== null && unread !== 'elsewhere') return;
  const inner = kind === 'tool-arguments' ? jsonIn(text) : null;
  if (inner !== null) visit(inner, path, { kind, free: true, holder: null }, found);
  else if (free && (storeId.test(text) || (kind === 'query' && path.at(-1) === 'key')))
    found.parts.push({ path, kind: 'label', text });
  else {
    const isNamed = names !== undefined && path[0] !== 'params';
    found.parts.push({ path, kind: unread === 'elsewhere' ? 'address' : kind, ...(isNamed && { names }), text });
  }
}

/** Kind of the content that a text is or names, which nobody can read; null: it is a text. */
function unreadIn(text: string, path: TextPath, holder: JsonObject | null): Texts['unread'][number]['kind'] | null {
  const [name, around, outer] = path.filter((step) => typeof step === 'string').toReversed();
  if (name === undefined) return null;
  if (providerObjects.has(name) || (around === 'reference' && outer === 'data')) return 'provider-object';
  const isNamed = filesElsewhere.has(name) || (around !== undefined && filesElsewhere.has(around));
  // A server whose tools are called: what it says is read when it comes.
  const isServer = path[0] === 'mcp_servers';
  if (isNamed || (name === 'url' && !isServer && endsIn(/(^|-)url$/, holder?.type))) return 'elsewhere';
  if (!bytes.has(name) || holder?.type === 'text') return null;
  const type = holder?.media_type ?? holder?.mimeType ?? holder?.mime_type ?? holder?.mediaType;
  const isTyped = type !== undefined || holder?.type === 'data' || around === 'input_audio';
  if (name === 'data' && !isTyped) return null;
  return webAddress.test(text) ? 'elsewhere' : 'bytes';
}

/** An object or a list that a text holds as JSON; null: none, or one with more levels than a body may have. */
export function jsonIn(text: string): JsonObject | JsonValue[] | null {
  if (!/^\s*[{[]/.test(text) || nestsDeeper(text, jsonDepthMax)) return null;
  try {
    return exactly(text) as JsonObject;
  } catch {
    return null;
  }
}

/** Part of ECMAScript 2026, which the compiler's library lacks. */
const { rawJSON, isRawJSON } = JSON as {
  rawJSON?: (text: string) => JsonObject;
  isRawJSON?: (value: unknown) => boolean;
};

/** A number of more digits than a double holds, or one that is written otherwise than it would be here. */
const oddNumber = /[:,[\s-](?:[\d.]{16,}|\d+\.\d*0\b|\d[\d.]*[eE])|-0/;

/** A parsed JSON text that is written again with the numbers as they came. */
export function exactly(json: string): JsonValue {
  // Parsing with a function is slower by far.
  if (!oddNumber.test(json)) return JSON.parse(json) as JsonValue;
  const exact = (_: string, value: unknown, { source }: { source: string }) =>
    typeof value === 'number' && String(value) !== source ? rawJSON?.(source) : value;
  return JSON.parse(json, exact as (name: string, value: unknown) => unknown) as JsonValue;
}

/** Kinds of texts that no thought has. Next to them a member `signature` is one of the caller or of the model. */
const unproven: ReadonlySet<TextKind | undefined> = new Set([
  'tool-definition',
  'tool-arguments',
  'tool-result',
  'document',
  'metadata',
  'query',
]);

/** The JSON text with these texts in their places; all others, and all numbers, stay as they are. */
export function withTexts(json: string, changes: readonly TextChange[]): string {
  let root: unknown = exactly(json);
  for (const change of changes) {
    if (change.as === 'name') continue;
    root = withText(root, change, 0);
    if (!unproven.has(change.kind)) dropProof(root as JsonValue, change.path);
  }
  // Paths go by the names as they were, so the innermost are first.
  const names = changes.filter(({ as }) => as === 'name').sort((one, other) => other.path.length - one.path.length);
  const renamed = Map.groupBy(names, ({ path }) => JSON.stringify(path.slice(0, -1)));
  for (const [holder, inside] of renamed) {
    const newNames = new Map(inside.map(({ path, text }) => [path.at(-1), text]));
    root = withNames(root, JSON.parse(holder) as TextPath, newNames, 0);
  }
  return JSON.stringify(root);
}

/** A text that is JSON, which several changes may be in. */
class OpenText {
  #value: unknown;

  constructor(json: string) {
    this.#value = exactly(json);
  }

  change(by: (value: unknown) => unknown): this {
    this.#value = by(this.#value);
    return this;
  }

  toJSON(): string {
    return JSON.stringify(this.#value);
  }
}

function withNames(whole: unknown, path: TextPath, names: ReadonlyMap<unknown, string>, depth: number): unknown {
  const value = typeof whole === 'string' ? new OpenText(whole) : whole;
  if (value instanceof OpenText) return value.change((inner) => withNames(inner, path, names, depth));
  const holder = value as Record<string | number, unknown>;
  if (depth === path.length)
    return Object.fromEntries(Object.entries(holder).map(([name, one]) => [names.get(name) ?? name, one]));
  const step = path[depth] ?? '';
  holder[step] = withNames(holder[step], path, names, depth + 1);
  return value;
}

function withText(value: unknown, change: TextChange, depth: number): unknown {
  const { path, text, as } = change;
  if (depth === path.length) return as === 'number' && longNumber.test(text) ? (rawJSON?.(text) ?? Number(text)) : text;
  if (typeof value === 'string') {
    const isSealed = path[depth] === sealedStep && depth === path.length - 1;
    if (isSealed && thoughtIn(value) !== null) return sealThought(text);
    return isSealed && tellingProof.test(value) ? text : withText(new OpenText(value), change, depth);
  }
  if (value instanceof OpenText) return value.change((inner) => withText(inner, change, depth));
  const step = path[depth] ?? '';
  const holder = value as Record<string | number, unknown>;
  holder[step] = withText(holder[step] ?? null, change, depth + 1);
  return value;
}
