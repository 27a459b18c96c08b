import { isObject, type JsonObject, objectIn, objectsIn, stringOr } from '../../../kernel/json.ts';
import type { Citation } from '../../neutral/citation.ts';
import { documentIndex, vendor } from './wire.ts';

/** A text of the answer, as far as it has come; `start` is its place among all of them, in UTF-16 units. */
export interface TextBlock {
  start: number;
  text: string;
}

/** A document may be long, and an answer cites it in many places. */
const quoteCharsMax = 1_000;

/** One of Cohere's citations rests on several sources: one of ours for each. */
export function citationsOf(citation: JsonObject, block: TextBlock | undefined): Citation[] {
  const span = block === undefined ? undefined : spanIn(block, citation);
  const sources = objectsIn(citation.sources);
  return sources.map((source) => ({
    ...readSource(source),
    ...(span !== undefined && { span }),
    // A document gets its id of the caller's back instead.
    ...(source.type === 'tool' && { vendorPart: { vendor, block: { ...citation, sources: [source] } } }),
  }));
}

/** Cohere counts characters, we count UTF-16 units: they differ behind an emoji, and the cited words tell the place. */
function spanIn({ start: blockStart, text }: TextBlock, { start, text: cited }: JsonObject): Citation['span'] {
  if (typeof cited !== 'string' || typeof start !== 'number' || start < 0) return undefined;
  const at = text.indexOf(cited, start);
  return at < 0 ? undefined : { start: blockStart + at, end: blockStart + at + cited.length };
}

/** A document of the request, or what a tool answered; its members are whatever the caller wrote into it. */
function readSource(source: JsonObject): Citation {
  const id = stringOr(source.id, '');
  const document = isObject(source.document) ? source.document : objectIn(source.tool_output);
  const url = stringOr(document.url, '');
  const quote = [document.snippet, document.text, document.content].find((words) => typeof words === 'string');
  const index = documentIndex(id);
  return {
    url: /^https?:/i.test(url) ? url : null,
    title: stringOr(document.title, id),
    quote: typeof quote === 'string' ? quote.slice(0, quoteCharsMax) : '',
    ...(index !== undefined && { document: index }),
  };
}
