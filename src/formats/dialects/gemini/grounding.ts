import { isObject, type JsonObject, type JsonValue, listIn, objectsIn, stringOr } from '../../../kernel/json.ts';
import { type Citation, citationsMax, type Span } from '../../neutral/citation.ts';
import { vendor } from './wire.ts';

/** Sources that `groundingMetadata` says `text` rests on, one a piece and source; all found ones where no piece is named. */
export function readGrounding(metadata: JsonObject, text: string): Citation[] {
  const sources = listIn(metadata.groundingChunks).map(sourceOf);
  const supports = objectsIn(metadata.groundingSupports);
  const citations: Citation[] = [];
  if (supports.length === 0) for (const source of sources) if (source !== null) citations.push(source);
  const bytes = Buffer.from(supports.length === 0 ? '' : text);
  for (const { segment, groundingChunkIndices: indices } of supports) {
    if (citations.length >= citationsMax || !Array.isArray(indices)) continue;
    const span = isObject(segment) ? spanOf(segment, text, bytes) : null;
    for (const index of indices) {
      const source = typeof index === 'number' ? (sources[index] ?? null) : null;
      if (source !== null) citations.push({ ...source, ...(span !== null && { span }) });
    }
  }
  return citations.slice(0, citationsMax);
}

/** Sources that `citationMetadata` says `text` repeats. */
export function readCitations(metadata: JsonObject, text: string): Citation[] {
  const sources = metadata.citationSources ?? metadata.citations;
  if (!Array.isArray(sources)) return [];
  const bytes = Buffer.from(text);
  return sources.slice(0, citationsMax).flatMap((source): Citation[] => {
    if (!isObject(source) || typeof source.uri !== 'string') return [];
    const span = spanOf(source, text, bytes);
    return [
      { url: source.uri, title: stringOr(source.title, ''), quote: '', ...(span !== null && { span }), vendorPart },
    ];
  });
}

/**
 * `groundingMetadata` or `citationMetadata` over a text that was changed: `move` gives a place in the new one, or null.
 * Sources beyond `citationsMax` have none.
 */
export function movedMetadata(
  block: JsonObject,
  text: string,
  changed: string,
  move: (span: Span) => Span | null,
): JsonObject {
  const bytes = Buffer.from(text);
  let left = citationsMax;
  const moved = (place: JsonObject): JsonObject => {
    const span = left-- > 0 ? spanOf(place, text, bytes) : null;
    const to = span === null ? null : move(span);
    const { startIndex, endIndex, ...rest } = place;
    return to === null ? rest : { ...place, ...placeOf(to, changed) };
  };
  const { groundingMetadata, citationMetadata } = block;
  if (isObject(groundingMetadata)) {
    const groundingSupports = objectsIn(groundingMetadata.groundingSupports).map(({ segment, ...support }) => ({
      ...support,
      ...(isObject(segment) && { segment: moved(segment) }),
    }));
    return { ...block, groundingMetadata: { ...groundingMetadata, groundingSupports } };
  }
  if (!isObject(citationMetadata)) return block;
  const lists = Object.entries(citationMetadata).map(([name, list]) => [name, objectsIn(list).map(moved)]);
  return { ...block, citationMetadata: Object.fromEntries(lists) };
}

/** The metadata itself becomes a part of this dialect. */
const vendorPart = { vendor, block: {} };

function sourceOf(chunk: JsonValue): Citation | null {
  if (!isObject(chunk)) return null;
  const source = [chunk.web, chunk.retrievedContext, chunk.maps].find(isObject);
  if (source === undefined) return null;
  const uri = stringOr(source.uri, '');
  const url = /^https?:/i.test(uri) ? uri : null;
  return { url, title: stringOr(source.title, url === null ? uri : ''), quote: stringOr(source.text, ''), vendorPart };
}

/** Google counts bytes of UTF-8, and not always from where the text begins: the words themselves decide. */
function spanOf({ startIndex, endIndex, text: cited }: JsonObject, text: string, bytes: Buffer): Span | null {
  const from = typeof startIndex === 'number' ? startIndex : 0;
  if (typeof endIndex !== 'number' || from < 0 || endIndex <= from || endIndex > bytes.length) return null;
  const start = bytes.toString('utf8', 0, from).length;
  const end = start + bytes.toString('utf8', from, endIndex).length;
  if (typeof cited !== 'string' || cited === '' || text.slice(start, end) === cited) return { start, end };
  const at = text.indexOf(cited);
  return at < 0 ? null : { start: at, end: at + cited.length };
}

/** Gathers the sources of one candidate. */
export class Grounding {
  readonly #chunks: JsonObject[] = [];
  readonly #places = new Map<string, number>();
  readonly #supports: { span: Span; indices: number[] }[] = [];

  /** `textLength`: of the text so far. False: there are too many. */
  add({ url, title, quote, span }: Citation, textLength: number): boolean {
    if (this.#supports.length >= citationsMax) return false;
    const key = JSON.stringify([url, title, quote]);
    let place = this.#places.get(key);
    if (place === undefined) {
      place = this.#chunks.length;
      this.#places.set(key, place);
      this.#chunks.push(url === null ? { retrievedContext: { title, text: quote } } : { web: { uri: url, title } });
    }
    const rests = span ?? { start: textLength, end: textLength };
    const last = this.#supports.at(-1);
    if (last?.span.start === rests.start && last.span.end === rests.end) last.indices.push(place);
    else this.#supports.push({ span: rests, indices: [place] });
    return true;
  }

  /** `groundingMetadata` over the whole text. */
  metadata(text: string): JsonObject {
    return {
      groundingChunks: this.#chunks,
      groundingSupports: this.#supports.map(({ span, indices }) => ({
        segment: segmentOf(span, text),
        groundingChunkIndices: [...new Set(indices)],
      })),
    };
  }
}

function segmentOf(span: Span, text: string): JsonObject {
  return { ...placeOf(span, text), text: text.slice(span.start, span.end) };
}

function placeOf({ start, end }: Span, text: string): { startIndex: number; endIndex: number } {
  const startIndex = Buffer.byteLength(text.slice(0, start));
  return { startIndex, endIndex: startIndex + Buffer.byteLength(text.slice(start, end)) };
}
