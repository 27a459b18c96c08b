import { isAscii, isUtf8 } from 'node:buffer';
import { isMainThread } from 'node:worker_threads';
import { type Failure, invalid, isFailure } from './failure.ts';
import {
  isObject,
  type JsonObject,
  type JsonScan,
  type JsonValue,
  type JsonWidth,
  repeatedName,
  scanJson,
} from './json.ts';
import { jsonDepthMax, offLoopBodyBytes } from './limits.ts';
import { loneSurrogateIn } from './lone-surrogate.ts';
import { whereJsonFails } from './where-json-fails.ts';

/** A JSON object that came from outside, and what the scan of its bytes found. */
export interface ParsedObject {
  body: JsonObject;
  scan: JsonScan;
}

/**
 * Bounds of what the main thread may parse or take from another thread. An object with a new key costs V8 about a
 * microsecond; a number or a short text costs a tenth of that. A vector of 65,536 numbers fits, with its payload.
 */
export const loopWidthMax: JsonWidth = { structure: 8_192, commas: 81_920 };

/**
 * The failure of a text that is too large for the main thread: in bytes, or in values. A caller that can have it read in
 * another thread compares with this object; from all others it is the answer.
 */
export const tooLargeForLoop: Failure = invalid(
  null,
  `The body has more than ${loopWidthMax.structure} objects, arrays and members, or more than ${loopWidthMax.commas} values. Send it in parts.`,
);

/**
 * The one door for JSON that callers send: an object that every parser reads in the same way. Nothing is parsed before
 * one scan has bounded its depth and, on the main thread, its width and length, so that no text holds up the loop (faults.md S21,
 * S35). The failure is a 400; `isJson: false`: of a text that no parser reads. `whole` is what messages call the text;
 * `widthMax` bounds it in other threads.
 */
export function parseObject(raw: Buffer, whole = 'The body', widthMax?: JsonWidth): ParsedObject | Failure {
  if (isMainThread && raw.length > offLoopBodyBytes) return tooLargeForLoop;
  const latin1 = raw.toString('latin1');
  const scan = scanJson(raw, jsonDepthMax, isMainThread ? loopWidthMax : widthMax, latin1);
  const isPlainText = isAscii(raw);
  // Invalid UTF-8 is replaced here, and elsewhere skipped or refused.
  if (!isPlainText && !isUtf8(raw)) return { ...invalid(null, `${whole} is not valid UTF-8.`), isJson: false };
  if (scan.tooDeep) return invalid(null, `${whole} nests deeper than ${jsonDepthMax} levels.`);
  if (scan.tooWide) return tooLargeForLoop;
  let body: unknown;
  const text = isPlainText ? latin1 : raw.toString('utf8');
  try {
    body = JSON.parse(text);
  } catch (error) {
    return { ...invalid(null, `${whole} is not valid JSON: ${whereJsonFails(error, text)}.`), isJson: false };
  }
  if (!isObject(body)) return invalid(null, `${whole} must be a JSON object.`);
  const ambiguous = ambiguityOf(raw, latin1, body, scan, whole);
  return ambiguous ?? { body, scan };
}

/** Names that mean something else than a member to careless readers. No API has parameters called so. */
const magicNames = ['__proto__', 'constructor', 'prototype'] as const;

/** Why two parsers could read the text differently; null when there is one way. */
function ambiguityOf(raw: Buffer, latin1: string, body: JsonObject, scan: JsonScan, whole: string): Failure | null {
  // JSON.parse keeps the last one; another parser may keep the first.
  if (scan.modelCount > 1) return invalid('model', `${whole} has more than one 'model'.`);
  if (scan.memberCount !== Object.keys(body).length) {
    const name = repeatedName(raw, scan.members);
    return invalid(
      name,
      `${whole} has ${name === null ? 'two members with the same name' : `more than one '${name}'`}.`,
    );
  }
  for (const name of magicNames) {
    if (Object.hasOwn(body, name)) return invalid(name, `'${name}' is not a parameter. Leave it out.`);
  }
  if (scan.hasInfinity) {
    const path = infinityIn(body, '');
    if (path !== null) return invalid(path, `Invalid '${path}': the number is too large. Send a finite one.`);
  }
  // Without an escape no half of a pair can be in valid UTF-8.
  if (!latin1.includes('\\u')) return null;
  const path = loneSurrogateIn(body, '');
  return path === null
    ? null
    : invalid(
        path,
        `Invalid '${path}': it holds half of a surrogate pair, such as of an emoji that was cut. Send valid Unicode.`,
      );
}

/** Path of the first number that is not finite, in OpenAI's spelling; null when there is none. */
function infinityIn(value: JsonValue | undefined, path: string): string | null {
  if (typeof value === 'number') return Number.isFinite(value) ? null : path;
  if (typeof value !== 'object' || value === null) return null;
  for (const [name, inner] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    const found = infinityIn(inner, at.slice(0, 256));
    if (found !== null) return found;
  }
  return null;
}

/** Names that came up and have no other spelling: a lookup costs less than a pattern. */
const plainNames = new Set<string>();
const plainNamesMax = 512;

/**
 * The body of a request to a model. It goes on as bytes and is read twice: by us, who decide by
 * it, and by an upstream with another parser. A body that the two could read differently is refused (faults.md S21).
 */
export function parseBody(raw: Buffer): ParsedObject | Failure {
  const parsed = parseObject(raw);
  if (isFailure(parsed)) return parsed;
  const { body } = parsed;
  for (const name in body) {
    if (plainNames.has(name)) continue;
    if (/^[a-z_]+$/.test(name)) {
      if (plainNames.size < plainNamesMax) plainNames.add(name);
      continue;
    }
    const plain = folded(name);
    if (plain === name || !Object.hasOwn(body, plain)) continue;
    const message = `The body also has '${plain}' in another spelling, which some servers read instead.`;
    return invalid(name.slice(0, 64), message);
  }
  return parsed;
}

/** The members of all objects in a body. */
export interface MemberSurvey {
  /** How many, however deep. Fewer than its text has: one hides another of the same name. */
  count: number;
  /** One of them has a name that was looked for, in whatever case of letters. */
  hasNamed: boolean;
}

/** Goes over a parsed value once, and adds to `survey`. */
export function surveyMembers(value: JsonValue | undefined, names: MemberNames, survey: MemberSurvey): void {
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) {
      if (typeof value[at] === 'object') surveyMembers(value[at], names, survey);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const name in value) {
      survey.count += 1;
      if (names.seen.get(name) ?? isNamed(name, names)) survey.hasNamed = true;
      if (typeof value[name] === 'object') surveyMembers(value[name], names, survey);
    }
  }
}

/** Folding each name of a long conversation would be half the survey. */
const seenMax = 1_024;

function isNamed(name: string, { folded: names, seen }: MemberNames): boolean {
  const is = names.has(folded(name));
  if (seen.size < seenMax) seen.set(name, is);
  return is;
}

/** Names of members, which are the same in all cases of letters. */
export interface MemberNames {
  /** All of them, as `folded` writes them. */
  folded: ReadonlySet<string>;
  /** Spellings that came up, and whether each is one of the names. */
  seen: Map<string, boolean>;
}

/** Servers written in Go take members in any case, and more than ASCII's as equal (`ſ` and `s`). */
export function folded(name: string): string {
  return name.toUpperCase().toLowerCase();
}
