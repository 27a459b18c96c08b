import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from './json-marks.ts';

/** A value that `JSON.parse` returns. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
/** An object of it; a member may be absent. */
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

/** True for a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value, if it is an object; else an empty one. */
export function objectIn(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Entries of the value, if it is an array; else none. */
export function listIn(value: unknown): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** Objects among the entries of the value, if it is an array; else none. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** `list` with one item more. The first one gets a list for itself: an empty list that grows makes room for seventeen. */
export function withOne<Item>(list: Item[], item: Item): Item[] {
  if (list.length === 0) return [item];
  list.push(item);
  return list;
}

/** A value as words: a text as it is, any other as JSON. `String` throws where the value is `{"toString": 1}`. */
export function jsonText(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : String(JSON.stringify(value));
}

/**
 * The result of one pass over a JSON text, which builds nothing: nesting, and the places of the top-level members. It
 * does not validate: `JSON.parse` does. On text that is not JSON it ends without throwing, with some answer.
 */
export interface JsonScan {
  /** Arrays and objects nest deeper than asked; nothing after that point was read. */
  tooDeep: boolean;
  /** Offset of the first byte after the top-level `{`; -1 when the top level is not an object. */
  afterBrace: number;
  /** How many top-level members there are, repeated and escaped ones counted each. */
  memberCount: number;
  /** How many members all objects have together, however deep; repeated ones counted each. */
  membersInAll: number;
  /** There is more of it than asked; nothing after that point was read. */
  tooWide: boolean;
  /** A number is too large for a double, such as 1e999: `JSON.parse` makes Infinity of it. */
  hasInfinity: boolean;
  /** How many top-level keys mean `model`, escaped spellings counted too. */
  modelCount: number;
  /** The value of the only top-level `model`, when its key is written without escapes. */
  model: ByteRange | null;
  /** The value of the only top-level `stream_options`, likewise. */
  streamOptions: ByteRange | null;
  /** A top-level key is written with escapes, or there were more keys than are kept: splice nothing. */
  opaqueKeys: boolean;
  /** Four offsets a member: key start and end (without quotes), value start and end. */
  members: readonly number[];
}

interface ByteRange {
  start: number;
  /** Exclusive. */
  end: number;
}

/** More top-level members than any real request has; beyond it the text is only counted, and `opaqueKeys` says so. */
const scannedMembersMax = 128;

/** How much a text may hold, however deep. */
export interface JsonWidth {
  /** Arrays, objects and members together. */
  structure: number;
  /** Commas, of which each element and member but the first has one. */
  commas: number;
}

export const anyWidth: JsonWidth = { structure: Number.POSITIVE_INFINITY, commas: Number.POSITIVE_INFINITY };

/** Reads `body` once; `depthMax` counts the outermost object or array as 1. `latin1`: its bytes as characters. */
export function scanJson(
  body: Buffer,
  depthMax: number,
  widthMax: JsonWidth = anyWidth,
  latin1: string = body.toString('latin1'),
): JsonScan {
  const end = body.length;
  const members: number[] = [];
  let tooDeep = false;
  let tooWide = false;
  let memberCount = 0;
  let membersInAll = 0;
  let containers = 0;
  let commas = 0;
  let hasInfinity = false;
  let modelCount = 0;
  let opaqueKeys = false;
  let afterBrace = -1;
  let depth = 0;
  // Of the current top-level member. A key of -1 means that there is none, a value of -1 that none has begun.
  let keyStart = -1;
  let keyEnd = -1;
  let inValue = false;
  let valueStart = -1;
  let valueEnd = -1;
  let at = 0;
  while (at < end) {
    const byte = body[at]!;
    if (byte === quote) {
      const close = closingQuote(body, latin1, at + 1);
      if (depth === 1) {
        if (inValue) {
          if (valueStart < 0) valueStart = at;
          valueEnd = close + 1;
        } else {
          keyStart = at + 1;
          keyEnd = close;
        }
      }
      at = close + 1;
      continue;
    }
    if (byte === openBrace || byte === openBracket) {
      if (depth === 0 && byte === openBrace && afterBrace < 0) afterBrace = at + 1;
      if (depth === 1 && inValue && valueStart < 0) valueStart = at;
      containers += 1;
      depth += 1;
      tooDeep = depth > depthMax;
      tooWide = containers + membersInAll > widthMax.structure;
      if (tooDeep || tooWide) break;
    } else if (byte === closeBrace || byte === closeBracket || byte === comma) {
      if (byte === comma && ++commas > widthMax.commas) {
        tooWide = true;
        break;
      }
      if (depth === 1) {
        if (afterBrace >= 0 && inValue && keyStart >= 0 && valueStart >= 0) {
          memberCount += 1;
          let escaped = false;
          for (let i = keyStart; i < keyEnd; i += 1) if (body[i] === backslash) escaped = true;
          if (escaped || members.length >= 4 * scannedMembersMax) opaqueKeys = true;
          else members.push(keyStart, keyEnd, valueStart, valueEnd);
          if (escaped ? unescapedIs(body, keyStart, keyEnd, 'model') : keyIs(body, keyStart, keyEnd, 'model')) {
            modelCount += 1;
          }
        }
        keyStart = -1;
        inValue = false;
        valueStart = -1;
      }
      if (byte !== comma) {
        if (depth > 0) depth -= 1;
        if (depth === 1) valueEnd = at + 1;
      }
    } else if (byte === colon) {
      membersInAll += 1;
      if (membersInAll + containers > widthMax.structure) {
        tooWide = true;
        break;
      }
      if (depth === 1) inValue = true;
    } else if (byte > 0x20) {
      const wordEnd = endOfWord(body, at);
      if (wordEnd - at > infinityCharsMin && isInfinite(latin1, at, wordEnd)) hasInfinity = true;
      if (depth === 1 && inValue) {
        if (valueStart < 0) valueStart = at;
        valueEnd = wordEnd;
      }
      at = wordEnd;
      continue;
    }
    at += 1;
  }
  return {
    tooDeep,
    afterBrace,
    memberCount,
    membersInAll,
    tooWide,
    hasInfinity,
    modelCount,
    model: modelCount === 1 ? memberValue(body, members, 'model') : null,
    streamOptions: memberValue(body, members, 'stream_options'),
    opaqueKeys,
    members,
  };
}

/** 1 for bytes that end a number or a word. */
const endsWord = new Uint8Array(256);
endsWord.fill(1, 0, 0x21);
for (const byte of [openBrace, openBracket, closeBrace, closeBracket, comma, colon, quote]) endsWord[byte] = 1;

/** Offset of the first byte behind the number or word (`true`) that begins at `from`. */
function endOfWord(body: Buffer, from: number): number {
  const end = body.length;
  let at = from + 1;
  while (at < end && endsWord[body[at]!] === 0) at += 1;
  return at;
}

/** `1e308` is finite: an infinite number has at least as many characters as `1e309`. */
const infinityCharsMin = 4;
/** Without an exponent a finite number may have so many digits. */
const plainDigitsMax = 308;

function isInfinite(latin1: string, start: number, end: number): boolean {
  const first = latin1.charCodeAt(start);
  const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
  if (!isNumber) return false;
  const word = latin1.slice(start, end);
  if (word.length <= plainDigitsMax && !word.includes('e') && !word.includes('E')) return false;
  return Math.abs(Number(word)) === Number.POSITIVE_INFINITY;
}

/** Offset of the value of top-level member `name` (ASCII); null when it is absent or there are several. */
export function memberValue(body: Buffer, members: readonly number[], name: string): ByteRange | null {
  let range: ByteRange | null = null;
  for (let i = 0; i < members.length; i += 4) {
    if (!keyIs(body, members[i]!, members[i + 1]!, name)) continue;
    if (range !== null) return null;
    range = { start: members[i + 2]!, end: members[i + 3]! };
  }
  return range;
}

/**
 * A top-level name that occurs twice, cut to 64 characters; null when there is none, or only an escaped spelling
 * repeats it.
 */
export function repeatedName(body: Buffer, members: readonly number[]): string | null {
  const seen = new Set<string>();
  for (let i = 0; i < members.length; i += 4) {
    const name = body.toString('utf8', members[i], members[i + 1]);
    if (seen.has(name)) return name.slice(0, 64);
    seen.add(name);
  }
  return null;
}

// Most keys end within these; beyond them the engine's own search is faster.
const lookBytes = 16;

/**
 * Offset of the quote that ends the string whose first byte is at `from`, or the text's length when none does.
 * `latin1` is `body` with one character a byte: searching a string costs a third of searching a Buffer.
 */
function closingQuote(body: Buffer, latin1: string, from: number): number {
  const end = body.length;
  let at = from;
  const near = Math.min(at + lookBytes, end);
  while (at < near) {
    const byte = body[at];
    if (byte === quote) return at;
    at += byte === backslash ? 2 : 1;
  }
  for (;;) {
    const next = latin1.indexOf('"', at);
    if (next < 0) return end;
    let escapes = 0;
    while (next - 1 - escapes >= at && body[next - 1 - escapes] === backslash) escapes += 1;
    if (escapes % 2 === 0) return next;
    at = next + 1;
  }
}

function keyIs(body: Buffer, start: number, end: number, name: string): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i += 1) if (body[start + i] !== name.charCodeAt(i)) return false;
  return true;
}

function unescapedIs(body: Buffer, start: number, end: number, name: string): boolean {
  // An escape takes six bytes at most, so longer keys cannot be it.
  if (end - start > 6 * name.length) return false;
  try {
    return JSON.parse(`"${body.toString('utf8', start, end)}"`) === name;
  } catch {
    return false;
  }
}

/** Whether a JSON text has more levels than this. One within a body is bounded by the body's length alone. */
export function nestsDeeper(json: string, levels: number): boolean {
  if (json.length <= levels) return false;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (isInString && code === backslash) at += 1;
    else if (code === quote) isInString = !isInString;
    else if (isInString) continue;
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth > levels) return true;
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
  }
  return false;
}

/** The data of an event as the object that it must be; null for anything else. */
export function parsedData(data: string): JsonObject | null {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    value = parsedWithoutNaN(data);
  }
  return isObject(value) ? value : null;
}

/** A JSON text; undefined for any other. A count that is NaN, as Python writes it, becomes -1: not a count either. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Servers in .NET like to begin with a byte order mark.
    return /^\ufeff[^\ufeff]/.test(text) ? parsedJson(text.slice(1)) : parsedWithoutNaN(text);
  }
}

const notANumber = /(?:[tT]okens|okenCount)"\s*:\s*-?(?:NaN|Infinity)\b/;

function parsedWithoutNaN(text: string): unknown {
  if (!notANumber.test(text)) return undefined;
  try {
    return JSON.parse(text.replaceAll(/((?:[tT]okens|okenCount)"\s*:\s*)-?(?:NaN|Infinity)\b/g, '$1-1'));
  } catch {
    return undefined;
  }
}

/** A member as the text that it should be. */
export function stringOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === 'string' ? value : otherwise;
}

/** True for a text that is not empty. */
export function hasText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** True for a whole number from `min` to `max`. */
export function isWhole(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}

/** The value, if it is a text that is not empty; else null. */
export function textIn(value: unknown): string | null {
  return hasText(value) ? value : null;
}
