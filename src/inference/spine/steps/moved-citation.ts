import { movedMetadata } from '../../../formats/dialects/gemini/grounding.ts';
import { vendor as gemini } from '../../../formats/dialects/gemini/wire.ts';
import type { Citation, Span } from '../../../formats/neutral/citation.ts';
import type { NeutralEvent } from '../../../formats/neutral/event.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';

/** Characters of an answer in which the words of its sources are looked for, each time anew. Further sources have no place. */
const searchedMax = 25_000_000;

/** The text of a choice as the model wrote it, and as it went on. */
export interface PassedText {
  came: string;
  passed: string;
  /** Nothing was changed so far, and `ahead` has not gone on. */
  isSame: boolean;
  ahead: string;
  /** Characters that were looked through. */
  searched: { chars: number };
}

/** Adds a piece of a text as it came, and as it went on. */
export function noteText(texts: Map<number, PassedText>, choice: number, came: string, passed: string): void {
  const known = texts.get(choice) ?? { came: '', passed: '', isSame: true, ahead: '', searched: { chars: 0 } };
  const isSame = known.isSame && (known.ahead + came).startsWith(passed);
  const ahead = isSame ? (known.ahead + came).slice(passed.length) : '';
  texts.set(choice, { ...known, came: known.came + came, passed: known.passed + passed, isSame, ahead });
}

/**
 * The citation with the place of its words in the text as it went on; without one where they are not there. `end`: that of
 * the text that came and went on.
 */
export function movedCitation(citation: Citation, text: PassedText, end = text.came.length): Citation {
  const { span, vendorPart, ...rest } = citation;
  if (span === undefined || text.isSame) return citation;
  const moved = movedSpan(span, text, end);
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
  if (part.vendor !== gemini || text === undefined || text.isSame) return part;
  const { came, passed } = text;
  return { ...part, block: movedMetadata(part.block, came, passed, (span) => movedSpan(span, text, came.length)) };
}

/** The place in the text as it went on; null: its words are not there. */
function movedSpan(span: Span, { came, passed, searched }: PassedText, end: number): Span | null {
  searched.chars += end + passed.length;
  if (searched.chars > searchedMax) return null;
  const text = came.slice(0, end);
  const words = text.slice(span.start, span.end);
  return words === '' ? null : placeOf(words, span.start, text, passed);
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
