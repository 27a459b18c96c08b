import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { fieldOf, type Loss } from '../neutral/loss.ts';
import { pairToolCalls } from '../neutral/pair-tool-calls.ts';
import type {
  NeutralMessage,
  NeutralReasoning,
  NeutralRequest,
  NeutralResponseFormat,
  NeutralTool,
} from '../neutral/request.ts';
import type { DialectId, EncodedRequest, EncodeTarget, UpstreamDialect } from './dialect.ts';

export type NeutralMember = keyof NeutralRequest;

/** Conversion of a member of the neutral form into a field. `To`: facts that decide it. */
export interface Write<To = EncodeTarget> {
  /** The member, where the row's place does not name it. */
  member?: NeutralMember;
  /** The value to send. Undefined: the target cannot have it, which is a loss. */
  fit(value: never, to: To): JsonValue | undefined;
  /** Reason of a changed value; absent: it is the same in this format's spelling. */
  why?: 'clamped' | 'narrowed';
  /** A value that says the same as none: leaving it out is no loss. */
  idle?: JsonValue;
}

/** A field that a format writes. */
export interface Field<To = EncodeTarget> {
  name: string;
  member: NeutralMember;
  write: Write<To>;
}

/** For formats that no caller speaks: each field with the member that it takes. */
export function fieldsOf<To>(
  rows: Readonly<Record<string, readonly [member: NeutralMember, write?: Write<To>]>>,
): readonly Field<To>[] {
  return Object.entries(rows).map(([name, [member, write = asIs]]) => ({ name, member, write }));
}

/** Value as it came. */
export const asIs: Write<unknown> = { fit: (value: JsonValue) => value };

export function clamp(min: number, max: number): Write<unknown> {
  return { fit: (value: number) => Math.min(Math.max(value, min), max), why: 'clamped' };
}

/** At most as many tokens as the target can write, and at least `min`. */
export function tokenLimit(min = 1): Write<Pick<EncodeTarget, 'maxOutputTokens'>> {
  return {
    member: 'maxOutputTokens',
    fit: (value: number, { maxOutputTokens: max }) => Math.max(min, max === null ? value : Math.min(value, max)),
    why: 'clamped',
  };
}

/** The first `max` texts of those that the format takes. */
export function firstTexts(max: number, takes: (text: string) => boolean = () => true): Write<unknown> {
  return {
    fit(texts: string[]) {
      if (texts.length <= max && texts.every(takes)) return texts;
      const sent = texts.filter(takes).slice(0, max);
      return sent.length > 0 ? sent : undefined;
    },
    why: 'narrowed',
  };
}

/** Writes a value if the target accepts such a value at all. */
export function when<To>(takes: (to: To, value: number) => boolean, write: Write<To> = asIs): Write<To> {
  return { ...write, fit: (value: never, to) => (takes(to, value) ? write.fit(value, to) : undefined) };
}

/** Nothing is sent, and a value other than `idle` is a loss. */
export function unsupported(idle: JsonValue): Write<unknown> {
  return { fit: () => undefined, idle };
}

/** For a field whose place in the neutral form is a function. */
export function from<To>(member: NeutralMember, write: Write<To> = asIs as Write<To>): Write<To> {
  return { ...write, member };
}

/** Writes each member of `request` for which `fields` has a place into `body`; what cannot be sent whole is a loss. */
export function writeFields<To>(
  fields: readonly Field<To>[],
  request: Partial<NeutralRequest>,
  to: To,
  body: JsonObject,
  losses: Loss[],
): void {
  for (const { name, member, write } of fields) {
    const value = request[member];
    if (value === undefined) continue;
    const fitted = write.fit(value as never, to);
    if (fitted !== undefined) body[name] = fitted;
    if (fitted === value) continue;
    if (fitted === undefined) {
      if (write.idle === value || idle.get(member) === value) continue;
      losses.push({ field: wordOf(member), why: write.why === 'narrowed' ? 'narrowed' : 'unsupported' });
    } else if (write.why !== undefined) losses.push({ field: wordOf(member), why: write.why });
  }
}

type JsonSchemaFormat = Extract<NeutralResponseFormat, { type: 'json-schema' }>;

/** Members inside of members, each by its path. */
export type InnerMember =
  | `messages.${Exclude<keyof NeutralMessage, 'place'>}`
  | `tools.${keyof NeutralTool}`
  | `reasoning.${keyof NeutralReasoning}`
  | `responseFormat.${keyof JsonSchemaFormat}`;

/** Members that the gateway answers for, whatever the format: `hints` and `extensions` are looked through by name. */
type Gateways = 'model' | 'stream' | 'includeUsage' | 'truncation' | 'hints' | 'extensions' | 'lost';
const gateways: readonly Gateways[] = ['model', 'stream', 'includeUsage', 'truncation', 'hints', 'extensions', 'lost'];

/** Members that encoders write by hand. */
export const byHand = [
  'toolChoice',
  'parallelToolCalls',
  'responseFormat',
  'responseFormat.description',
  'reasoning',
] as const;

/** Inner members that every format has a place for. `custom` is said by the other members too. */
const everybodys: readonly InnerMember[] = [
  'messages.role',
  'messages.parts',
  'tools.name',
  'tools.description',
  'tools.parameters',
  'tools.custom',
  'reasoning.effort',
  'reasoning.budgetTokens',
  // Its reader lists it as lost.
  'reasoning.above',
  'responseFormat.type',
  'responseFormat.name',
  'responseFormat.schema',
  'responseFormat.strict',
];

/** Values that say the same as no value. */
const idle: ReadonlyMap<string, unknown> = new Map<NeutralMember | InnerMember, unknown>([
  ['temperature', 1],
  ['topP', 1],
  ['n', 1],
  ['logprobs', false],
  ['topLogprobs', 0],
  ['user', ''],
  ['tools.strict', false],
  ['reasoning.summary', 'auto'],
]);

/** View of a request for an encoder: the members that it says it takes. */
export type Taken<Name extends NeutralMember | InnerMember> = Pick<
  NeutralRequest,
  Extract<Name, NeutralMember> | Gateways
>;

/** Parts that make a format's requests, and the members that they take. */
export interface EncoderParts<Name extends NeutralMember | InnerMember, Rules = void> {
  /** Vendor that gets its `extensions` back. */
  vendor: DialectId;
  /** Members that `encode` sends, loses or refuses. All that is neither here nor in `fields` is a loss. */
  takes: readonly Name[];
  /** Fields that `encode` writes by `writeFields`. */
  fields: readonly Pick<Field, 'member'>[];
  /** The hints that `encode` puts in; absent: none. */
  hints?: 'all' | ReadonlySet<string>;
  /** Extensions of other vendors that `encode` puts in; absent: none. */
  borrows?: Partial<Record<DialectId, ReadonlySet<string>>>;
  /** The words of losses for fields that a target omits, where they differ from the field's name. */
  words?: ReadonlyMap<string, string>;
  encode(request: Taken<Name>, target: EncodeTarget, rules: Rules): EncodedRequest | Failure;
}

/**
 * An encoder that cannot forget: each member of a request that its parts do not name is listed as lost, by OpenAI's
 * word for it, and so are fields that the target omits. Calls and results come to `encode` in pairs.
 */
export function encoderOf<const Name extends NeutralMember | InnerMember, Rules = void>(
  parts: EncoderParts<Name, Rules>,
): (request: NeutralRequest, target: EncodeTarget, rules: Rules) => EncodedRequest | Failure {
  const names = new Set<string>([...gateways, ...parts.takes, ...parts.fields.map(({ member }) => member)]);
  const insideOf = (holder: string) => {
    const inner = [...everybodys, ...names].filter((name) => name.startsWith(`${holder}.`));
    return new Set(inner.map((name) => name.slice(holder.length + 1)));
  };
  const inside = {
    messages: insideOf('messages'),
    tools: insideOf('tools'),
    reasoning: insideOf('reasoning'),
    responseFormat: insideOf('responseFormat'),
  };
  return (request, target, rules) => {
    const { messages, tools, reasoning, responseFormat, hints, extensions } = request;
    const first: Loss[] = [];
    let at = 0;
    // Pairing costs every message: without calls and results nothing of it is entered.
    let pairs = false;
    for (const message of messages) {
      loseInner('messages', message, at++, inside.messages, first);
      for (const { type } of message.parts) pairs ||= type === 'tool-call' || type === 'tool-result';
    }
    const paired = pairs ? pairToolCalls(messages) : null;
    if (paired !== null) first.push(...paired.losses);
    const taken = paired === null ? request : { ...request, messages: paired.messages };
    const encoded = parts.encode(taken, target, rules);
    if (isFailure(encoded)) return encoded;
    if (first.length > 0) encoded.losses = first.concat(encoded.losses);
    const { body, losses } = encoded;
    const last: Loss[] = [];
    for (const name in request) {
      const value = request[name as NeutralMember];
      if (value === undefined || names.has(name) || idle.get(name) === value) continue;
      // Plain settings are named before lists of them.
      (typeof value === 'object' ? last : losses).push({ field: wordOf(name), why: 'unsupported' });
    }
    if (last.length > 0) losses.push(...last);
    at = 0;
    if (tools !== undefined) for (const tool of tools) loseInner('tools', tool, at++, inside.tools, losses);
    if (reasoning !== undefined) loseInner('reasoning', reasoning, 0, inside.reasoning, losses);
    if (responseFormat !== undefined) loseInner('responseFormat', responseFormat, 0, inside.responseFormat, losses);
    if (hints !== undefined || extensions !== undefined) loseNamed(request, parts, losses);
    for (const name of target.omit) {
      const { [name]: value } = body;
      if (value === undefined) continue;
      delete body[name];
      // No thoughts from a model that has none.
      if (value !== 'none') losses.push({ field: parts.words?.get(name) ?? name, why: 'unsupported' });
    }
    return encoded;
  };
}

/** An encoder whose rules differ by upstream model: for any model, and for one. */
export function encodersByModel<Rules>(
  encode: (request: NeutralRequest, target: EncodeTarget, rules: Rules) => EncodedRequest | Failure,
  rulesOf: (model: string) => Rules,
): Required<Pick<UpstreamDialect, 'encodeRequest' | 'encoderFor'>> {
  return {
    encodeRequest: (request, target) => encode(request, target, rulesOf(target.model)),
    encoderFor(model) {
      const rules = rulesOf(model);
      return (request, target) => encode(request, target, rules);
    },
  };
}

/** `at`: the index of `value` where there are several. */
function loseInner(holder: string, value: object, at: number, taken: ReadonlySet<string>, losses: Loss[]): void {
  for (const name in value) {
    if (taken.has(name)) continue;
    const inner = (value as Record<string, unknown>)[name];
    if (inner === undefined || idle.get(`${holder}.${name}`) === inner) continue;
    const field = innerWord(holder, name, at);
    // A mark of the cache is one loss, however many there are.
    if (field !== cacheMark || !losses.some((loss) => loss.field === cacheMark))
      losses.push({ field, why: 'unsupported' });
  }
}

const cacheMark = 'cache_control';

function innerWord(holder: string, name: string, at: number): string {
  if (name === 'cache') return cacheMark;
  const word = wordOf(name);
  switch (holder) {
    case 'messages':
      return `messages[${at}].${word}`;
    case 'tools':
      return `tools[${at}].function.${word}`;
    case 'responseFormat':
      return `response_format.json_schema.${word}`;
    default:
      return `${holder}.${word}`;
  }
}

function loseNamed(
  { hints, extensions }: NeutralRequest,
  { vendor, hints: put, borrows }: Pick<EncoderParts<never>, 'vendor' | 'hints' | 'borrows'>,
  losses: Loss[],
): void {
  if (put !== 'all') {
    for (const name in hints) {
      const isUsual = name === 'service_tier' && (hints[name] === 'auto' || hints[name] === 'default');
      if (put?.has(name) !== true && !isUsual) losses.push({ field: name, why: 'unsupported' });
    }
  }
  for (const dialect in extensions) {
    if (dialect === vendor) continue;
    const borrowed = borrows?.[dialect as DialectId];
    for (const name in extensions[dialect]) {
      if (borrowed?.has(name) !== true) losses.push({ field: name, why: 'unknown' });
    }
  }
}

/** Word for a member in losses: OpenAI's field. Callers of other formats have a separate word for it (`wordFor`). */
export function wordOf(member: string): string {
  return words.get(member) ?? fieldOf(member);
}

const words: ReadonlyMap<string, string> = new Map([
  ['maxOutputTokens', 'max_tokens'],
  ['reasoning', 'reasoning_effort'],
]);
