import type { Citation, Span } from '../../../formats/neutral/citation.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';

/** In a longer text nobody looks for the words of each source. */
const searchedMax = 100_000;

/** The text of a choice as the model wrote it, and as it went on. */
export interface PassedText {
  came: string;
  passed: string;
}

/** The citation with the place of its words in the text as it went on; without one where they are not there. */
export function movedCitation(citation: Citation, { came, passed }: PassedText): Citation {
  const { span, vendorPart, ...rest } = citation;
  if (span === undefined || came === passed) return citation;
  const words = came.slice(span.start, span.end);
  const moved = words === '' || came.length > searchedMax ? null : placeOf(words, span.start, came, passed);
  if (moved === null) return rest;
  const by = moved.start - span.start;
  return {
    ...rest,
    span: moved,
    ...(vendorPart !== undefined && { vendorPart: { ...vendorPart, block: movedBlock(vendorPart.block, by) } }),
  };
}

/** Null: the words are there more or less often than they were, and nobody can tell which ones they are. */
function placeOf(words: string, start: number, came: string, passed: string): Span | null {
  const [before, after] = [placesOf(words, came), placesOf(words, passed)];
  const at = before.length === after.length ? after[before.indexOf(start)] : undefined;
  return at === undefined ? null : { start: at, end: at + words.length };
}

function placesOf(words: string, text: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + 1)) places.push(at);
  return places;
}

/** Members of formats with a place in the text. */
const placeMembers = ['start_index', 'end_index', 'start', 'end'];

function movedBlock(block: JsonObject, by: number): JsonObject {
  const moved = Object.entries(block).map(([name, value]) => {
    if (typeof value === 'number' && placeMembers.includes(name)) return [name, value + by];
    return [name, name === 'url_citation' && isObject(value) ? movedBlock(value, by) : value];
  });
  return Object.fromEntries(moved);
}
