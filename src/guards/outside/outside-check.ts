import type { JsonValue } from '../../kernel/json.ts';

/** Texts that a service is asked about. */
export interface OutsideQuestion {
  /** Id of the request, by which its record is found. */
  id: string;
  on: 'input' | 'output';
  /** Name of the alias; null: no model answers. */
  model: string | null;
  /** `part`: author or use of the text, such as `user`. */
  texts: readonly { part: string; text: string }[];
}

/** A place in one of the texts. Units: UTF-16, `end` is the first after it. */
export interface OutsidePlace {
  text: number;
  start: number;
  end: number;
}

export interface OutsideFinding {
  /** Word for what it is, as the service calls it. */
  kind: string;
  /** Null: the service says no place. */
  at: OutsidePlace | null;
  /** Index of the sentence, where sentences are judged. */
  nth?: number;
}

/** Findings of a service; empty: it found nothing. `action`: it decides itself what is done at the least, or at the most. */
export interface OutsideVerdict {
  findings: readonly OutsideFinding[];
  action?: 'block' | 'flag';
  /** Sentences of the question, where findings count them. */
  sentences?: number;
}

/** One POST of JSON to a service. */
export interface OutsideExchange {
  url: string;
  headers?: Readonly<Record<string, string>>;
  body: JsonValue;
  /** The answer of a 2xx. Throws `BadAnswer` for one that is not as documented. */
  read(answer: unknown): OutsideVerdict;
}

/** A service that looks for something: its requests for a question. Each of them must be answered. */
export type OutsideCheck = (question: OutsideQuestion) => readonly OutsideExchange[];

/** An answer that is not as the service documents it, in words for the operator. */
export class BadAnswer extends Error {}

/** The list at a member of an answer. Throws `BadAnswer`. */
export function listIn(value: unknown, what: string): readonly Record<string, unknown>[] {
  if (Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null)) return value;
  throw new BadAnswer(`its answer has no list ${what}`);
}

/** Several texts as one, for services that take one. */
export interface JoinedTexts {
  text: string;
  /** The place in its text of what begins and ends here, in UTF-16 units of the whole; null: between texts. */
  place(start: number, end: number): OutsidePlace | null;
}

const gap = '\n\n';

/** Characters before a cut that the next piece repeats, so that a name or a number on both sides is found. */
const repeatedChars = 200;

/** The texts in as few pieces of up to `charsMax` as may be. A longer text is cut. */
export function joined(texts: OutsideQuestion['texts'], charsMax: number): JoinedTexts[] {
  const pieces: { text: string; parts: { at: number; text: number; from: number; length: number }[] }[] = [];
  for (const [index, { text }] of texts.entries()) {
    for (let from = 0; from < text.length; ) {
      let piece = pieces.at(-1);
      const isFull = piece === undefined || piece.text.length + gap.length + (text.length - from) > charsMax;
      if (piece === undefined || isFull) {
        piece = { text: '', parts: [] };
        pieces.push(piece);
      }
      if (piece.text !== '') piece.text += gap;
      const end = cutAt(text, from, charsMax);
      piece.parts.push({ at: piece.text.length, text: index, from, length: end - from });
      piece.text += text.slice(from, end);
      from = end < text.length ? repeatedFrom(text, end) : end;
    }
  }
  return pieces.map(({ text, parts }) => ({
    text,
    place(start, end) {
      const part = parts.findLast(({ at }) => at <= start);
      if (part === undefined || start >= part.at + part.length) return null;
      const shift = part.from - part.at;
      return { text: part.text, start: start + shift, end: Math.min(end, part.at + part.length) + shift };
    },
  }));
}

/** The texts in lists of up to `charsMax` together, for services that take several. A longer text is cut. */
export function listed(texts: OutsideQuestion['texts'], charsMax: number): string[][] {
  const lists: string[][] = [];
  let last: string[] = [];
  let room = 0;
  for (const { text } of texts.flatMap((one) => joined([one], charsMax))) {
    if (text.length > room) {
      last = [];
      lists.push(last);
      room = charsMax;
    }
    last.push(text);
    room -= text.length;
  }
  return lists;
}

/** The end of a piece: at white space where there is some, and never within a character. */
function cutAt(text: string, from: number, charsMax: number): number {
  if (text.length - from <= charsMax) return text.length;
  const end = from + charsMax;
  const space = text.lastIndexOf(' ', end - 1);
  if (space > from + charsMax / 2) return space + 1;
  return /[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end - 1 : end;
}

/** Beginning of the piece behind one that ends at `end`: at a word where there is one, and never within a character. */
function repeatedFrom(text: string, end: number): number {
  const from = end - repeatedChars;
  const word = text.indexOf(' ', from) + 1;
  if (word > 0 && word < end) return word;
  return /[\udc00-\udfff]/.test(text.charAt(from)) ? from + 1 : from;
}

/** UTF-16 units before a character, which Python and Go count by code points. */
export function unitsBefore(text: string, codePoints: number): number {
  let units = 0;
  for (let count = 0; count < codePoints && units < text.length; count++) {
    units += (text.codePointAt(units) ?? 0) > 0xffff ? 2 : 1;
  }
  return units;
}
