import type { TextPart } from '../../../formats/neutral/json-texts.ts';
import { type Failure, FailureError, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonValue } from '../../../kernel/json.ts';
import type { AnswerTextPlace, AnswerTexts, TextFilter, TextParts } from '../../models/steps.ts';

/** Text or texts that a filter let through. Throws a FailureError. */
export function given<T extends string | readonly string[]>(text: T | Failure): T {
  if (isFailure(text)) throw new FailureError(text);
  return text;
}

/** A text that is there whole. */
export function throughFilter(texts: AnswerTexts, place: AnswerTextPlace, text: string): string {
  return throughWhole(texts(place), text);
}

/** The same through the filter itself; null: it goes on as it is. */
export function throughWhole(filter: TextFilter | null, text: string): string {
  return filter === null ? text : given(filter.push(text)) + given(filter.end());
}

/**
 * The parts of one text, such as the segments of a transcript, through its filter, which finds what goes across them.
 * Filters that take no parts get each as a text. `joins`: the text before each part that is none of it, and does not go on;
 * absent: a blank where there is none. Throws a FailureError.
 */
export function throughFilterInParts(
  texts: AnswerTexts,
  place: AnswerTextPlace,
  parts: readonly string[],
  joins: readonly (string | undefined)[] = [],
): readonly string[] {
  const filter = texts(place);
  const inParts = filter?.parts?.();
  if (inParts === undefined)
    return parts.map((part, at) => (at === 0 ? throughWhole(filter, part) : throughFilter(texts, place, part)));
  const passing = new JoinedParts(inParts);
  return [...parts.flatMap((part, at) => passing.take(part, joins[at])), ...passing.end()];
}

/** Parts and what joins them through a filter, which gives back the parts alone. Throws a FailureError. */
export class JoinedParts {
  readonly #parts: TextParts;
  /** Number of parts and joins that have come back: each part is behind its join. */
  #back = 0;
  #last = '';

  constructor(parts: TextParts) {
    this.#parts = parts;
  }

  /** `join`: what is between it and the part before. Absent: a blank where there is none. */
  take(part: string, join = joinOf(this.#last, part)): string[] {
    this.#last = part;
    return [join, part].flatMap((one) => this.#given(one));
  }

  end(): string[] {
    return this.#given(null);
  }

  #given(part: string | null): string[] {
    return given(this.#parts(part)).filter(() => this.#back++ % 2 === 1);
  }
}

function joinOf(before: string, after: string): string {
  return before === '' || /\s$/.test(before) || /^\s/.test(after) ? '' : ' ';
}

/** The texts of a transcript's segments, as they follow each other in its text; null: it has fewer than two. */
export function segmentsIn(answer: JsonValue, found: readonly TextPart[]) {
  if (!isObject(answer) || !Array.isArray(answer.segments)) return null;
  const of = found.filter(({ path }) => path.length === 3 && path[0] === 'segments' && path[2] === 'text');
  const parts = of.map(({ text }) => text);
  return of.length < 2 ? null : { of, parts, joins: joinsIn(answer.text, parts) };
}

/** Joins of the parts. Parts that follow each other at once in their text have none. */
function joinsIn(whole: JsonValue | undefined, parts: readonly string[]): (string | undefined)[] {
  if (typeof whole !== 'string') return [];
  let end = 0;
  return parts.map((part) => {
    const text = part.trim();
    const start = whole.startsWith(text, end) ? end : end + 1;
    const follows = start === end;
    if (whole.startsWith(text, start)) end = start + text.length;
    return follows ? '' : undefined;
  });
}

/** The beginning of a subtitle: an empty line, its number, its times and its settings. */
const subtitleHead =
  /((?:^|\n)\r?\n?(?:\d+\r?\n)?(?:\d+:)?\d\d:\d\d[.,]\d{3} --> (?:\d+:)?\d\d:\d\d[.,]\d{3}(?:[ \t]+[a-z]+:[\w%,.-]{1,30}){0,6}[ \t]*\r?\n)/;

/** Subtitles (SRT, WebVTT) through the filter of their text, which finds what goes across them. Throws a FailureError. */
export function throughFilterAsSubtitles(texts: AnswerTexts, subtitles: string): string {
  const pieces = subtitles.split(subtitleHead);
  const parts = pieces.filter((_, at) => at % 2 === 0);
  const passed = throughFilterInParts(texts, { kind: 'assistant', choice: 0 }, parts);
  return pieces.map((piece, at) => (at % 2 === 0 ? (passed[at / 2] ?? '') : piece)).join('');
}
