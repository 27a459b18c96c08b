import { type Failure, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { type Check, type Complaint, described, type JsonSchema, schemaOf } from './described-check.ts';

export type { Check } from './described-check.ts';

export function complain(path: string, got: JsonValue | undefined, send: string): Complaint {
  return { path, got, send };
}

/** The same complaint, seen from the holder of the value: `within('messages[0]', …)`. */
export function within(holder: string, complaint: Complaint): Complaint {
  const { path } = complaint;
  const joined = path === '' ? holder : path.startsWith('[') ? `${holder}${path}` : `${holder}.${path}`;
  return { ...complaint, path: joined };
}

export function asFailure({ path, got, send }: Complaint): Failure {
  const message =
    got === undefined ? `Missing '${path}': send ${send}.` : `Invalid '${path}': got ${shown(got)}; send ${send}.`;
  return invalid(path, message);
}

const shownCharsMax = 60;

/** A value as an error message may show it: short, and without raw control characters. */
function shown(value: JsonValue): string {
  if (typeof value === 'string') {
    return value.length > shownCharsMax
      ? `a string of ${value.length} characters (${JSON.stringify(value.slice(0, shownCharsMax))}…)`
      : `the string ${JSON.stringify(value)}`;
  }
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (isObject(value)) return 'an object';
  return String(value);
}

/** A finite number; JSON's 1e999 reads as Infinity and is refused. */
export function numberIn(min: number, max: number): Check {
  const send = `a number from ${min} to ${max}`;
  return described({ type: 'number', ...boundsOf(min, max) }, (value) =>
    typeof value === 'number' && value >= min && value <= max ? null : complain('', value, send),
  );
}

export function integerIn(min: number, max: number): Check {
  const send =
    max >= Number.MAX_SAFE_INTEGER
      ? min === 1
        ? 'a positive integer'
        : 'an integer'
      : `an integer from ${min} to ${max}`;
  return described({ type: 'integer', ...boundsOf(min, max) }, (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
      ? null
      : complain('', value, send),
  );
}

/** A bound that doubles cannot distinguish is not a bound. */
function boundsOf(minimum: number, maximum: number): JsonSchema {
  return {
    ...(minimum > -Number.MAX_SAFE_INTEGER && { minimum }),
    ...(maximum < Number.MAX_SAFE_INTEGER && { maximum }),
  };
}

export const boolean: Check = described({ type: 'boolean' }, (value) =>
  typeof value === 'boolean' ? null : complain('', value, 'true or false'),
);

export const string: Check = described({ type: 'string' }, (value) =>
  typeof value === 'string' ? null : complain('', value, 'a string'),
);

/** Bytes as base64. Of them only the beginning is read: they are megabytes. */
export const base64: Check = described({ type: 'string', minLength: 1 }, (value) =>
  typeof value === 'string' && value !== '' && !value.startsWith('data:')
    ? null
    : complain('', value, "bytes as base64, without 'data:…;base64,' before them"),
);

/** `lengthMin` and `lengthMax` in UTF-16 units. */
export function stringOf(lengthMin: number, lengthMax: number): Check {
  const send =
    lengthMin === 0
      ? `a string of at most ${lengthMax} characters`
      : `a string of ${lengthMin} to ${lengthMax} characters`;
  const lengths = {
    ...(lengthMin > 0 && { minLength: lengthMin }),
    ...(lengthMax < Number.MAX_SAFE_INTEGER && { maxLength: lengthMax }),
  };
  return described({ type: 'string', ...lengths }, (value) =>
    typeof value === 'string' && value.length >= lengthMin && value.length <= lengthMax
      ? null
      : complain('', value, send),
  );
}

export function oneOf(...words: readonly string[]): Check {
  const send = `one of ${words.map((word) => `'${word}'`).join(', ')}`;
  return described({ type: 'string', enum: [...words] }, (value) =>
    typeof value === 'string' && words.includes(value) ? null : complain('', value, send),
  );
}

export const object: Check = described({ type: 'object' }, (value) =>
  isObject(value) ? null : complain('', value, 'an object'),
);

export function arrayOf(item: Check, lengthMin: number, lengthMax: number, what: string): Check {
  const send =
    lengthMax === Number.POSITIVE_INFINITY
      ? lengthMin === 0
        ? `an array of ${what}`
        : `an array of at least ${lengthMin} ${what}`
      : `an array of ${lengthMin} to ${lengthMax} ${what}`;
  const lengths = {
    ...(lengthMin > 0 && { minItems: lengthMin }),
    ...(lengthMax !== Number.POSITIVE_INFINITY && { maxItems: lengthMax }),
  };
  return described({ type: 'array', items: schemaOf(item), ...lengths }, (value) => {
    if (!Array.isArray(value) || value.length < lengthMin || value.length > lengthMax) return complain('', value, send);
    return eachOf(value, item);
  });
}

/** A member that must be there; `send`: what to send where it is not. */
export interface Needed {
  needed: Check;
  send: string;
}

export function needed(check: Check, send: string): Needed {
  return { needed: check, send };
}

/** An object with these members, and possibly others; `send`: what to send for what is none. Members may be null. */
export function members(send: string, rules: Readonly<Record<string, Check | Needed>>): Check {
  const entries = Object.entries(rules).map(([name, rule]) =>
    'needed' in rule ? { name, check: rule.needed, send: rule.send } : { name, check: rule, send: null },
  );
  const must = entries.filter((entry) => entry.send !== null).map(({ name }) => name);
  const schema = {
    type: 'object',
    properties: Object.fromEntries(entries.map(({ name, check }) => [name, schemaOf(check)])),
    ...(must.length > 0 && { required: must }),
  };
  return described(schema, (value) => {
    if (!isObject(value)) return complain('', value, send);
    for (const entry of entries) {
      const { name, check } = entry;
      const complaint = entry.send === null ? optional(value, name, check) : required(value, name, check, entry.send);
      if (complaint !== null) return complaint;
    }
    return null;
  });
}

/**
 * Objects of several kinds, which `type` distinguishes; null: one that has nothing else. `send`, `sendType`: what to
 * send for what is no object, and for a type that is none of these, unless others `pass`.
 */
export function byType(
  send: string,
  sendType: string,
  kinds: Readonly<Record<string, Check | null>>,
  others: 'refused' | 'pass' = 'refused',
): Check {
  const choices = Object.entries(kinds).map(([type, check]): JsonSchema => {
    const { properties, required } = check === null ? {} : schemaOf(check);
    return {
      type: 'object',
      properties: { type: { const: type }, ...(properties as JsonObject | undefined) },
      required: ['type', ...((required as string[] | undefined) ?? [])],
    };
  });
  const anyOther = { type: 'object', properties: { type: { type: 'string' } }, required: ['type'] };
  const schema = { anyOf: others === 'pass' ? [...choices, anyOther] : choices };
  return described(schema, (value) => {
    if (!isObject(value)) return complain('', value, send);
    const { type } = value;
    if (typeof type === 'string' && Object.hasOwn(kinds, type)) return kinds[type]?.(value) ?? null;
    return others === 'pass' && typeof type === 'string' ? null : complain('type', type, sendType);
  });
}

/** One of these words, or what `other` takes, which also says what to send. */
export function wordOr(words: readonly string[], other: Check): Check {
  return described({ anyOf: [{ type: 'string', enum: [...words] }, schemaOf(other)] }, (value) =>
    typeof value === 'string' && words.includes(value) ? null : other(value),
  );
}

/** A text, or what `other` takes, which also says what to send. */
export function textOr(other: Check): Check {
  return described({ anyOf: [{ type: 'string' }, schemaOf(other)] }, (value) =>
    typeof value === 'string' ? null : other(value),
  );
}

/** An object with members of any name. */
export function mapOf(item: Check, membersMax: number, what: string): Check {
  const sizes = membersMax === Number.POSITIVE_INFINITY ? {} : { maxProperties: membersMax };
  return described({ type: 'object', additionalProperties: schemaOf(item), ...sizes }, (value) => {
    if (!isObject(value)) return complain('', value, `an object of ${what}`);
    const entries = Object.entries(value);
    if (entries.length > membersMax) return complain('', value, `an object of at most ${membersMax} members`);
    for (const [name, one = null] of entries) {
      const complaint = item(one);
      if (complaint !== null) return within(name.slice(0, 64), complaint);
    }
    return null;
  });
}

/** The first complaint of `item` about one of these, with its index. */
export function eachOf(values: readonly JsonValue[], item: Check): Complaint | null {
  for (const [i, value] of values.entries()) {
    const complaint = item(value);
    if (complaint !== null) return within(`[${i}]`, complaint);
  }
  return null;
}

/** A list of objects that hold a list of objects, or a text, under `member`: as much as is read where others judge. */
export function turnsOf(member: string, lengthMin: number): Check {
  const turn: Check = (value) => {
    if (!isObject(value)) return complain('', value, 'an object');
    const held = value[member];
    return !Array.isArray(held) || held.every(isObject) ? null : complain(member, held, 'an array of objects');
  };
  return arrayOf(turn, lengthMin, Number.POSITIVE_INFINITY, 'objects');
}

export function optional(holder: { [key: string]: JsonValue | undefined }, name: string, check: Check) {
  const value = holder[name];
  if (value === undefined || value === null) return null;
  const complaint = check(value);
  return complaint === null ? null : within(name, complaint);
}

export function required(holder: { [key: string]: JsonValue | undefined }, name: string, check: Check, send: string) {
  const value = holder[name];
  if (value === undefined) return complain(name, undefined, send);
  const complaint = check(value);
  return complaint === null ? null : within(name, complaint);
}

const functionNamePattern = /^[a-zA-Z0-9_-]{1,64}$/;

export const functionName: Check = described({ type: 'string', pattern: functionNamePattern.source }, (value) =>
  typeof value === 'string' && functionNamePattern.test(value)
    ? null
    : complain('', value, 'a name of 1 to 64 letters, digits, _ or -'),
);

/** A value without a rule may be anything that JSON can express again; 1e999 is not. */
export const anyJson: Check = (value) =>
  value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY
    ? complain('', value, 'a number that a double can hold')
    : null;

export function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

/** An end-user id as ledger and log may keep it, or null. */
export function cleanUser(user: JsonValue | undefined): string | null {
  if (typeof user !== 'string') return null;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go (S23)
  const clean = user.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '');
  return clean === '' ? null : clean;
}

const startCharsMax = 4_096;
/** Characters at both ends of each text that count: many conversations have the same long instructions. */
const endCharsMax = 256;

/**
 * The instructions and the messages up to the first of the user, which every later turn of the conversation repeats.
 * Contents are texts, or lists of parts that may have a `text`.
 */
export function conversationStart(
  messages: Iterable<{ role?: unknown; content?: unknown }>,
  instructions: unknown = null,
): string {
  let start = endsIn(instructions);
  for (const { role, content } of messages) {
    start += endsIn(content);
    if (role === 'user' || start.length >= startCharsMax) break;
  }
  return start.slice(0, startCharsMax);
}

/** The ends of each text of a content, whose parts may be of unknown types. */
function endsIn(content: unknown): string {
  if (typeof content === 'string') return content.slice(0, endCharsMax) + content.slice(-endCharsMax);
  let ends = '';
  if (!Array.isArray(content)) return ends;
  for (const part of content) {
    if (typeof part?.text === 'string') ends += endsIn(part.text);
    if (ends.length >= startCharsMax) break;
  }
  return ends;
}
