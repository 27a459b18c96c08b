import { isObject, type JsonValue } from '../kernel/json.ts';
import type { AnswerReply, RequestReply, RouteReply } from './hook-types.ts';

/** A reply as it may be used, or why not: a sentence that begins with "its reply". */
export type Checked<T> = { ok: true; value: T | null } | { ok: false; why: string };

/** Longer messages would be more than a caller reads. */
const messageCharsMax = 1_000;
const tagCharsMax = 64;

/** Members that people try to change and no hook may. */
const forbidden: ReadonlySet<string> = new Set(
  `account caller credential credentials headers key keyId plan price prices
  requestId user`.split(/\s+/),
);

type Check = (value: unknown) => string | null;

/** The reply of `onRequest` to a request with so many texts. */
export function requestReply(reply: unknown, texts: number): Checked<RequestReply> {
  return checked(reply, {
    refuse: text(messageCharsMax),
    model: text(256),
    tag: tagOf,
    texts: changesOf(texts),
    system: text(100_000),
    parameters: parametersOf,
  });
}

/** The reply of `onRoute` to a choice among these targets. */
export function routeReply(reply: unknown, targets: readonly string[]): Checked<RouteReply> {
  return checked(reply, {
    refuse: text(messageCharsMax),
    targets(value) {
      if (!Array.isArray(value) || value.length === 0) return 'must be a list of at least one of the given targets';
      const wrong = value.find((one) => !targets.includes(one as string));
      if (wrong !== undefined) return `names ${shown(wrong)}, which is none of the given ones`;
      return new Set(value).size === value.length ? null : 'names a target twice';
    },
  });
}

/** The reply of `onAnswer` or `onEvent` to so many texts. */
export function answerReply(reply: unknown, texts: number): Checked<AnswerReply> {
  return checked(reply, { refuse: text(messageCharsMax), texts: changesOf(texts) });
}

function checked<T>(reply: unknown, members: Readonly<Record<string, Check>>): Checked<T> {
  if (reply === null || reply === undefined) return { ok: true, value: null };
  if (!isObject(reply as JsonValue)) return { ok: false, why: 'its reply is not an object' };
  // Languages without optional members send null for what they do not change.
  const given = Object.entries(reply as object).filter(([, value]) => value !== undefined && value !== null);
  for (const [name, value] of given) {
    const check = Object.hasOwn(members, name) ? members[name] : undefined;
    if (check === undefined) return { ok: false, why: whyNot(name, Object.keys(members)) };
    const wrong = check(value);
    if (wrong !== null) return { ok: false, why: `'${name}' of its reply ${wrong}` };
  }
  return { ok: true, value: Object.fromEntries(given) as T };
}

function whyNot(name: string, members: readonly string[]): string {
  if (forbidden.has(name)) return `its reply changes '${name}', which no hook may`;
  return `its reply has ${shown(name)}; it may have ${members.join(', ')}`;
}

const text =
  (charsMax: number): Check =>
  (value) =>
    typeof value === 'string' && value.trim() !== '' && value.length <= charsMax
      ? null
      : `must be a text of 1 to ${charsMax} characters`;

function tagOf(value: unknown): string | null {
  const fits = typeof value === 'string' && value.length <= tagCharsMax && /^[\w.:/-]+$/.test(value);
  return fits ? null : `must have 1 to ${tagCharsMax} letters, digits or . : / _ -`;
}

function changesOf(count: number): Check {
  return (value) => {
    if (!Array.isArray(value)) return 'must be a list of { at, text }';
    for (const change of value as unknown[]) {
      if (!isObject(change as JsonValue)) return 'must be a list of { at, text }';
      const { at, text: words, ...more } = change as Record<string, unknown>;
      const isPlace = Number.isInteger(at) && Number(at) >= 0 && Number(at) < count;
      if (!isPlace) return `has the place ${shown(at)}, and there are ${count} texts`;
      if (typeof words !== 'string') return 'has a change without a text';
      const [extra] = Object.keys(more);
      if (extra !== undefined) return `has a change with ${shown(extra)}; it has at and text`;
    }
    return null;
  };
}

const parameters: Readonly<Record<string, (value: unknown) => boolean>> = {
  temperature: (value) => typeof value === 'number' && value >= 0 && value <= 2,
  top_p: (value) => typeof value === 'number' && value > 0 && value <= 1,
  max_tokens: (value) => Number.isInteger(value) && Number(value) > 0,
  reasoning_effort: (value) => typeof value === 'string' && /^[a-z]{1,16}$/.test(value),
};

function parametersOf(value: unknown): string | null {
  if (!isObject(value as JsonValue)) return 'must be an object';
  for (const [name, one] of Object.entries(value as object)) {
    const fits = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (fits === undefined) return `has ${shown(name)}; it may have ${Object.keys(parameters).join(', ')}`;
    if (!fits(one)) return `has no such value of ${name}: ${shown(one)}`;
  }
  return null;
}

/** Short, and safe for a log. */
function shown(value: unknown): string {
  const shown = typeof value === 'string' ? `'${value.replace(/[^\x20-\x7e]/g, '?')}'` : String(JSON.stringify(value));
  return shown.length > 60 ? `${shown.slice(0, 57)}…` : shown;
}
