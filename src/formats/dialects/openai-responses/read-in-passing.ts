import { isObject, type JsonObject, type JsonValue, parsedData, stringOr } from '../../../kernel/json.ts';
import { contentCharsOf } from '../../neutral/event.ts';
import type { Fault } from '../../neutral/outcome.ts';
import { estimatedTokens, type Usage } from '../../neutral/usage.ts';
import type { PassingFacts, PassingReader, PassingVerdict, SseEvent, UsageOf, WholeGatherer } from '../dialect.ts';
import { brokenLine, contentOnly, isEndMark, looksWhole, nothing } from '../event-data.ts';
import type { GivenId } from '../named-objects.ts';
import { faultInWhole } from './answer-end.ts';
import { decodeWhole } from './decode-answer.ts';
import { faultInside } from './errors.ts';
import { MissingMembers } from './missing-members.ts';
import { isWhole } from './named-objects.ts';
import { neutralUsage } from './read-usage.ts';

/**
 * Watches a stream that is forwarded as bytes. Only the first event, the last one and those that begin or end an item
 * are parsed: of deltas the name tells enough.
 */
export function readInPassing({ usageOf }: { usageOf?: UsageOf | undefined } = {}): PassingReader {
  const seen = new SeenInPassing();
  seen.usageOf = usageOf;
  const members = new MissingMembers();

  function parse(type: string, data: string): PassingVerdict {
    const event = parsedData(data);
    if (event === null) return isEndMark(data) || isForeign(type) ? nothing : seen.fails(brokenLine);
    const verdict = judge(seen, type, event);
    if (verdict.fault !== null || !members.fill(type, event)) return verdict;
    const filled: PassingVerdict = { ...verdict, data: JSON.stringify(event) };
    const { before } = members;
    if (before === null) return filled;
    seen.events += 1;
    return { ...filled, before: `event: ${before.type}\ndata: ${JSON.stringify(before)}\n\n` };
  }

  return {
    step(event) {
      if (seen.failed || seen.terminal || event.data === '') return nothing;
      const type = typeOf(event);
      seen.events += 1;
      const isDelta = type.endsWith('.delta');
      if (isDelta) seen.characters += deltaLength(event.data);
      const isPlain = isDelta || isToolProgress(type);
      if (!isPlain || members.isNeeded || members.isUnsure) return parse(type, event.data);
      if (!isDelta) return contentOnly;
      return looksWhole(event.data) || parsedData(event.data) !== null ? contentOnly : seen.fails(brokenLine);
    },
    whole(body) {
      const wrong = faultInWhole(body);
      if (wrong !== null) return wrong;
      const answer = body as JsonObject;
      seen.ended(answer);
      seen.give(idsGivenBy(answer));
      if (!seen.usage?.outputTokens) seen.characters += contentCharsOf(decodeWhole(answer));
      seen.mended = members.fillResponse(answer, 'completed');
      return null;
    },
    seen,
  };
}

/** Kind of an event that is parsed. */
function judge(seen: SeenInPassing, type: string, event: JsonObject): PassingVerdict {
  const response = isObject(event.response) ? event.response : {};
  if (type.endsWith('.delta') || isToolProgress(type)) return contentOnly;
  switch (type) {
    case 'response.completed':
    case 'response.incomplete':
      seen.began(response.id);
      seen.give(idsGivenBy(response));
      seen.ended(response);
      return nothing;
    case 'response.failed':
    case 'response.cancelled':
      return seen.fails(faultInside({ object: 'response', status: 'failed', ...response }));
    case 'error':
      return seen.fails(faultInside(event));
    case 'response.output_item.added':
    case 'response.output_item.done':
      if (isObject(event.item) && type === 'response.output_item.done') seen.give(idsGivenWith(event.item));
      return isObject(event.item) && showsSomething(event.item, type) ? contentOnly : nothing;
    case '':
      return isObject(event.error) || typeof event.error === 'string' ? seen.fails(faultInside(event)) : nothing;
    default:
      seen.began(response.id);
      if (type === 'response.created') seen.give(idsGivenBy(response));
      return nothing;
  }
}

/** A class and not accessors in a literal: each evaluation of those makes a hidden class that holds its request. */
class SeenInPassing implements PassingFacts {
  usage: Usage | null = null;
  terminal = false;
  failed = false;
  characters = 0;
  events = 0;
  answeredAs: string | null = null;
  finishReason: string | null = null;
  mended = false;
  readonly given: GivenId[] = [];
  usageOf: UsageOf | undefined;
  #id: string | null = null;
  #known: Set<string> | null = null;

  fails(found: Fault): PassingVerdict {
    this.failed = true;
    return { ...nothing, fault: found };
  }

  began(id: JsonValue | undefined): void {
    if (typeof id === 'string') this.#id ??= id;
  }

  /** From its last event, or whole. */
  ended(response: JsonObject): void {
    const { model, status, incomplete_details: details } = response;
    this.usage = neutralUsage(response, this.usageOf) ?? this.usage;
    this.terminal = true;
    this.answeredAs = stringOr(model, null);
    const reason = isObject(details) ? stringOr(details.reason, null) : null;
    this.finishReason = status === 'completed' ? 'stop' : reason === 'max_output_tokens' ? 'length' : reason;
  }

  /** The last event repeats earlier content. */
  give(ids: readonly GivenId[]): void {
    this.#known ??= new Set();
    for (const one of ids) {
      if (this.#known.has(one.id)) continue;
      this.#known.add(one.id);
      this.given.push(one);
    }
  }

  get outputTokensSeen(): number {
    return estimatedTokens(this.characters);
  }

  /** The event that broke the stream was counted and not forwarded, so its number is free. */
  get mark(): PassingFacts['mark'] {
    if (this.#id === null) return undefined;
    return { id: this.#id, sequence: this.failed ? this.events - 1 : this.events };
  }
}

const typeMember = /"type"\s*:\s*"((?:response\.|error)[\w.]*)"/;
/** OpenAI begins with it; a later one may be inside an item. */
const typeSearchChars = 200;

/** The event's type: its `event:` name, else what the data says of itself. '' when neither tells. */
function typeOf({ event, data }: SseEvent): string {
  if (event !== '' && event !== 'message') return event;
  const found = typeMember.exec(data.slice(0, typeSearchChars))?.[1];
  if (found !== undefined) return found;
  const type = parsedData(data)?.type;
  return typeof type === 'string' ? type : '';
}

/** A tool that the provider runs is at work: nothing is silent, though no text comes. */
function isToolProgress(type: string): boolean {
  return /^response\.\w+_call(?:_\w+)?\./.test(type) || type.startsWith('response.mcp_list_tools.');
}

/** Text comes in separate deltas; calls begin with their names, and thoughts may be only encrypted. */
function showsSomething(item: JsonObject, type: string): boolean {
  switch (item.type) {
    case 'message':
      return type === 'response.output_item.done' && Array.isArray(item.content) && item.content.length > 0;
    case 'reasoning':
      return type === 'response.output_item.done' && typeof item.encrypted_content === 'string';
    default:
      return true;
  }
}

const deltaKey = '"delta":"';

/** Characters of the delta: enough to know roughly how much. Escapes cut it short. */
function deltaLength(data: string): number {
  const at = data.indexOf(deltaKey);
  if (at < 0) return 0;
  const start = at + deltaKey.length;
  return Math.max(0, data.indexOf('"', start) - start);
}

/** True for a named event that only this server has, such as a sign of life. */
function isForeign(type: string): boolean {
  return type !== '' && type !== 'error' && !type.startsWith('response.');
}

/** The response as the last event of its stream has it. Some servers leave its items out there, which came before. */
export function gatherWhole(): WholeGatherer {
  const items: JsonObject[] = [];
  let last: JsonObject | null = null;
  return {
    step({ event, data }) {
      if (event.endsWith('.delta')) return;
      const parsed = parsedData(data);
      if (parsed === null) return;
      if (parsed.type === 'response.output_item.done' && isObject(parsed.item)) items.push(parsed.item);
      else if (parsed.type === 'response.completed' || parsed.type === 'response.incomplete') {
        last = isObject(parsed.response) ? parsed.response : null;
      }
    },
    whole() {
      const isBare = last !== null && !(Array.isArray(last.output) && last.output.length > 0);
      return isBare ? { ...last, output: items } : last;
    },
  };
}

/** The ids that a response gives out, whole or as its first event has it. */
function idsGivenBy({ id, output }: JsonObject): GivenId[] {
  const given: GivenId[] = typeof id === 'string' ? [{ id, nameable: 'if-kept' }] : [];
  for (const item of Array.isArray(output) ? output : []) if (isObject(item)) given.push(...idsGivenWith(item));
  return given;
}

/** Ids of one item of its output: the item's, its container's, and those of files that it made. */
function idsGivenWith(item: JsonObject): GivenId[] {
  const given: GivenId[] = [];
  const { id, container_id: container, environment, content } = item;
  if (typeof id === 'string') given.push({ id, nameable: isWhole(item) ? 'if-kept' : 'always' });
  for (const one of [container, isObject(environment) ? environment.container_id : undefined]) {
    if (typeof one === 'string') given.push({ id: one, nameable: 'always' });
  }
  for (const part of Array.isArray(content) ? content : []) {
    const annotations = isObject(part) ? part.annotations : undefined;
    for (const note of Array.isArray(annotations) ? annotations : []) if (isObject(note)) given.push(...madeIn(note));
  }
  return given;
}

/** Output of a tool. A citation of a file names an earlier one. */
function madeIn({ type, file_id: file, container_id: container }: JsonObject): GivenId[] {
  if (type !== 'container_file_citation' && type !== 'file_path') return [];
  return [file, container].flatMap((id) => (typeof id === 'string' ? [{ id, nameable: 'always' as const }] : []));
}
