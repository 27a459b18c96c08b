import { movedMetadata } from '../../../formats/dialects/gemini/grounding.ts';
import { vendor as gemini } from '../../../formats/dialects/gemini/wire.ts';
import type { Citation, Span } from '../../../formats/neutral/citation.ts';
import type { NeutralEvent } from '../../../formats/neutral/event.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';

/** In a longer text nobody looks for the words of each source. */
const searchedMax = 100_000;

/** The text of a choice as the model wrote it, and as it went on. */
export interface PassedText {
  came: string;
  passed: string;
}

/** The citation with the place of its words in the text as it went on; without one where they are not there. */
export function movedCitation(citation: Citation, text: PassedText): Citation {
  const { span, vendorPart, ...rest } = citation;
  if (span === undefined || text.came === text.passed) return citation;
  const moved = movedSpan(span, text);
  if (moved === null) return vendorPart === undefined || hasPlace(vendorPart.block) ? rest : { ...rest, vendorPart };
  const by = moved.start - span.start;
  return {
    ...rest,
    span: moved,
    ...(vendorPart !== undefined && { vendorPart: { ...vendorPart, block: movedBlock(vendorPart.block, by) } }),
  };
}

type VendorPart = Extract<NeutralEvent, { type: 'vendor-part' }>;

/** The same of Google's sources, which come together in one part behind their text. Undefined: there was none. */
export function movedPart(part: VendorPart, text: PassedText | undefined): VendorPart {
  if (part.vendor !== gemini || text === undefined || text.came === text.passed) return part;
  const { came, passed } = text;
  return { ...part, block: movedMetadata(part.block, came, passed, (span) => movedSpan(span, text)) };
}

/** The place in the text as it went on; null: its words are not there. */
export function movedSpan({ start, end }: Span, { came, passed }: PassedText): Span | null {
  const words = came.slice(start, end);
  return words === '' || came.length > searchedMax ? null : placeOf(words, start, came, passed);
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

function hasPlace(block: JsonObject): boolean {
  return placeMembers.some((name) => name in block) || isObject(block.url_citation);
}

function movedBlock(block: JsonObject, by: number): JsonObject {
  const moved = Object.entries(block).map(([name, value]) => {
    if (typeof value === 'number' && placeMembers.includes(name)) return [name, value + by];
    return [name, name === 'url_citation' && isObject(value) ? movedBlock(value, by) : value];
  });
  return Object.fromEntries(moved);
}
