import type { NeutralPart } from '../../neutral/request.ts';
import { blobOf, encodePart } from './encode-part.ts';
import { type Encoding, lose } from './encoding.ts';
import { wireName } from './function-name.ts';
import type { Blob, Content, Part } from './wire.ts';

type ToolResult = Extract<NeutralPart, { type: 'tool-result' }>;

export interface FoundResult {
  result: ToolResult;
  /** Where its message stands in the caller's body. */
  path: string;
}

/** A call that the model's last turn made and that waits for its result. */
export interface OpenCall {
  id: string;
  name: string;
  /** Where it stands in the caller's body. */
  path: string;
}

const noResult = 'The tool gave no result.';
/** What Gemini 3 takes inside a result; anything else follows as the user's. */
const insideResult = /^(image\/(png|jpeg|webp)|application\/pdf|text\/plain)$/;

/**
 * The turn that answers a turn's calls, one part a call in their order, as Google demands. A call without a result gets
 * one that says so, listed as a loss of the call. Pictures that cannot stand inside follow as a turn of the user.
 */
export function encodeResults(
  calls: readonly OpenCall[],
  results: ReadonlyMap<string, FoundResult[]>,
  encoding: Encoding,
): Content[] {
  const beside: Part[] = [];
  const parts = calls.map((call): Part => {
    const found = results.get(call.id)?.shift();
    const id = encoding.rules.signedCalls && call.id !== '' ? { id: call.id } : {};
    const name = wireName(call.name);
    if (found === undefined) {
      lose(encoding, call.path, 'narrowed');
      return { functionResponse: { ...id, name, response: { error: noResult } } };
    }
    const { texts, inside } = contentOf(found.result, found.path, beside, encoding);
    if (texts === '' && inside.length === 0 && beside.length > 0) return seeNext(id, name);
    const response = found.result.isError ? { error: texts } : { output: texts };
    return { functionResponse: { ...id, name, response, ...(inside.length > 0 ? { parts: inside } : {}) } };
  });
  const turns: Content[] = [{ role: 'user', parts }];
  if (beside.length > 0) turns.push({ role: 'user', parts: beside });
  return turns;
}

function seeNext(id: { id?: string }, name: string): Part {
  return { functionResponse: { ...id, name, response: { output: '[see the next message]' } } };
}

function contentOf(
  result: ToolResult,
  path: string,
  beside: Part[],
  encoding: Encoding,
): { texts: string; inside: { inlineData: Blob }[] } {
  if (result.cache !== undefined) lose(encoding, 'cache_control', 'unsupported');
  const texts: string[] = [];
  const inside: { inlineData: Blob }[] = [];
  result.parts.forEach((part, i) => {
    const at = `${path}.content[${i}]`;
    const nested = nestedMedia(part, encoding);
    if (nested !== null) {
      inside.push({ inlineData: nested });
      return;
    }
    const encoded = encodePart(part, at, encoding);
    if (encoded === null) return;
    if (encoded.text === undefined) beside.push(encoded);
    else texts.push(encoded.text);
  });
  return { texts: texts.join('\n'), inside };
}

function nestedMedia(part: NeutralPart, encoding: Encoding): Blob | null {
  if (!encoding.rules.mediaInResults || (part.type !== 'image' && part.type !== 'document')) return null;
  if (part.source.kind !== 'base64') return null;
  const blob = blobOf(part.source);
  return insideResult.test(blob.mimeType) ? blob : null;
}
