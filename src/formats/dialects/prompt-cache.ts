import { createHash } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue, objectsIn } from '../../kernel/json.ts';
import { folded, type MemberNames, surveyMembers } from '../../kernel/parse-object.ts';
import { exactly } from '../neutral/json-texts.ts';
import { estimatedInput } from '../neutral/usage.ts';
import type { DialectId } from './dialect.ts';

/** Conditions under which a service reads the beginning of a prompt from a cache. */
export interface PromptCaching {
  /** `marks`: a mark behind each part that is kept. `key`: `prompt_cache_key`, equal for equal beginnings. */
  by: 'marks' | 'key';
  /** Tokens of the shortest beginning that it keeps. */
  tokensMin: number;
  /** Parts in which it refuses marks: tools, and their results behind which one would be. */
  without?: 'tools';
}

/** Caching at a target, for one caller; plain data. */
export interface PromptCacheOrder extends PromptCaching {
  /** Tenant and alias: others never get the same key. */
  scope: string;
}

/** Members by which callers and operators decide on caching themselves. */
const cacheMembers: MemberNames = {
  folded: new Set(
    [
      'cache_control cachePoint cachedContent cached_content',
      'prompt_cache_key prompt_cache_retention prompt_cache_options prompt_cache_breakpoint',
    ]
      .flatMap((names) => names.split(' '))
      .map(folded),
  ),
  seen: new Map(),
};

/** True if this body has members that decide on caching. */
export function decidesOnCaching(body: JsonValue): boolean {
  const survey = { count: 0, hasNamed: false };
  surveyMembers(body, cacheMembers, survey);
  return survey.hasNamed;
}

/**
 * Body as it goes out, with marks or a key for the cache of its service: only if the prompt is long enough, and its
 * beginning will probably come again. Else, and if the operator's fields decide on it, the bytes as they are.
 */
export function withPromptCache(bytes: Buffer | string, dialect: DialectId, order: PromptCacheOrder): Buffer | string {
  const body = exactly(bytes.toString()) as JsonObject;
  const parts = partsOf[dialect]?.(body);
  if (parts === undefined || decidesOnCaching(body)) return bytes;
  const size: Size = {
    constant: tokensOf(parts.tools) + tokensOf(parts.system),
    whole: estimatedInput(body, bytes.length),
  };
  const isChanged = order.by === 'key' ? addKey(body, parts, size, order) : addMarks(parts, size, order);
  return isChanged ? JSON.stringify(body) : bytes;
}

/** Tokens, by estimate. */
interface Size {
  /** Length of the beginning that all requests of an application share. */
  constant: number;
  whole: number;
}

/** The parts of a prompt, in the order in which services read it. */
interface Parts {
  tools: JsonValue | undefined;
  system: JsonValue | undefined;
  turns: readonly JsonObject[];
  /** A turn that goes on from an answer. */
  goesOn: boolean;
  markTools?(): boolean;
  markSystem?(): boolean;
  /** False: this turn takes no mark. */
  markTurn?(turn: JsonObject): boolean;
}

const partsOf: Partial<Record<DialectId, (body: JsonObject) => Parts>> = {
  'anthropic-messages': partsOfMessages,
  'bedrock-converse': partsOfConverse,
  'openai-chat': partsOfChat,
  'openai-responses': partsOfResponses,
};

/** Newest turns with a mark: the last one is written, the one before was written by the last request. */
const markedTurnsMax = 2;

/** The services take four marks. */
function addMarks(parts: Parts, { constant, whole }: Size, { tokensMin, without }: PromptCaching): boolean {
  let isChanged = false;
  if (without !== 'tools' && tokensOf(parts.tools) >= tokensMin) isChanged = parts.markTools?.() === true;
  if (constant >= tokensMin && parts.markSystem?.() === true) isChanged = true;
  if (!parts.goesOn) return isChanged;
  let marked = 0;
  let before = whole;
  for (let at = parts.turns.length - 1; at >= 0 && marked < markedTurnsMax && before >= tokensMin; at -= 1) {
    const turn = parts.turns[at]!;
    const takesMark = turn.role === 'user' && !(without === 'tools' && endsInResult(turn));
    if (takesMark && parts.markTurn?.(turn) === true) marked += 1;
    before -= tokensOf(turn);
  }
  return isChanged || marked > 0;
}

function endsInResult({ content }: JsonObject): boolean {
  return objectsIn(content).at(-1)?.toolResult !== undefined;
}

function addKey(body: JsonObject, parts: Parts, { constant, whole }: Size, order: PromptCacheOrder): boolean {
  if ((parts.goesOn ? whole : constant) < order.tokensMin) return false;
  const beginning = JSON.stringify([order.scope, parts.tools ?? null, parts.system ?? null]);
  body.prompt_cache_key = createHash('sha256').update(beginning).digest('base64url').slice(0, 32);
  return true;
}

const ephemeral = { type: 'ephemeral' };

function partsOfMessages(body: JsonObject): Parts {
  const tools = objectsIn(body.tools);
  const turns = objectsIn(body.messages);
  return {
    tools: body.tools,
    system: body.system,
    turns,
    goesOn: turns.some(({ role }) => role === 'assistant'),
    // A tool that is loaded later is no part of the beginning, and refuses a mark.
    markTools: () => mark(tools.findLast((tool) => tool.defer_loading !== true)),
    markSystem: () => markLast(body, 'system'),
    markTurn: (turn) => markLast(turn, 'content'),
  };
}

/** Blocks of these formats that take no mark. */
const unmarked: ReadonlySet<JsonValue | undefined> = new Set(['thinking', 'redacted_thinking', 'input_audio']);

/** A mark at the last block that takes one; a text becomes a block. */
function markLast(holder: JsonObject, name: 'system' | 'content'): boolean {
  const content = holder[name];
  if (typeof content !== 'string') {
    return mark(objectsIn(content).findLast(({ type, text }) => !unmarked.has(type) && text !== ''));
  }
  if (content === '') return false;
  holder[name] = [{ type: 'text', text: content, cache_control: ephemeral }];
  return true;
}

function mark(part: JsonObject | undefined): boolean {
  if (part === undefined) return false;
  part.cache_control = ephemeral;
  return true;
}

/** Converse has its marks as blocks behind what is kept. */
function partsOfConverse(body: JsonObject): Parts {
  const tools = isObject(body.toolConfig) ? body.toolConfig.tools : undefined;
  const turns = objectsIn(body.messages);
  return {
    tools,
    system: body.system,
    turns,
    goesOn: turns.some(({ role }) => role === 'assistant'),
    markTools: () => addPoint(tools),
    markSystem: () => addPoint(body.system),
    markTurn: ({ content }) => addPoint(content),
  };
}

function addPoint(blocks: JsonValue | undefined): boolean {
  if (!Array.isArray(blocks) || blocks.length === 0) return false;
  blocks.push({ cachePoint: { type: 'default' } });
  return true;
}

/** https://openrouter.ai/docs/features/prompt-caching: its marks are on text parts; those of the system cover the tools. */
function partsOfChat(body: JsonObject): Parts {
  const messages = objectsIn(body.messages);
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const system = messages.slice(0, first < 0 ? messages.length : first);
  const turns = messages.slice(system.length);
  const last = system.at(-1);
  return {
    tools: body.tools,
    system,
    turns,
    goesOn: turns.some(({ role }) => role === 'assistant'),
    markSystem: () => last !== undefined && markLast(last, 'content'),
    markTurn: (turn) => markLast(turn, 'content'),
  };
}

function partsOfResponses(body: JsonObject): Parts {
  const items = objectsIn(body.input);
  const first = items.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const system = items.slice(0, first < 0 ? items.length : first);
  return {
    tools: body.tools,
    system: [body.instructions ?? null, ...system],
    turns: items.slice(system.length),
    goesOn:
      body.previous_response_id != null ||
      items.some(({ role, type }) => role === 'assistant' || type === 'function_call'),
  };
}

function tokensOf(value: JsonValue | undefined): number {
  return value === undefined ? 0 : estimatedInput(value, Buffer.byteLength(JSON.stringify(value)));
}
