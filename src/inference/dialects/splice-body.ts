import type { JsonObject } from '../../kernel/json.ts';
import { type JsonScan, memberValue } from '../../kernel/json-scan.ts';

/** Top-level members' new values, as JSON. */
export type Values = ReadonlyMap<string, string>;

interface Edit {
  start: number;
  /** Exclusive; equal to `start` for an insertion. */
  end: number;
  text: string;
}

/**
 * The bytes as they came, but for the `values` of top-level members: replaced where they stand, else inserted first.
 * `parsed` and `scan` are what `JSON.parse` and `scanJson` made of `rawBody`. Null when the bytes cannot be trusted to
 * say what `parsed` says (a key written with escapes or given twice): then the JSON must be written anew.
 */
export function splicedBody(rawBody: Buffer, parsed: JsonObject, scan: JsonScan, values: Values): Buffer | null {
  const edits = editsFor(rawBody, parsed, scan, values);
  return edits === null ? null : spliced(rawBody, edits);
}

function editsFor(rawBody: Buffer, parsed: JsonObject, scan: JsonScan, values: Values): Edit[] | null {
  if (scan.model === null || scan.opaqueKeys || scan.tooDeep || scan.afterBrace < 0) return null;
  const edits: Edit[] = [];
  let inserted = '';
  for (const [name, text] of values) {
    if (Object.hasOwn(parsed, name)) {
      const range = name === 'model' ? scan.model : memberValue(rawBody, scan.members, name);
      if (range === null) return null;
      edits.push({ start: range.start, end: range.end, text });
    } else inserted += `${JSON.stringify(name)}:${text},`;
  }
  // `model` stands somewhere behind it, so the last comma is always followed by a member.
  if (inserted !== '') edits.push({ start: scan.afterBrace, end: scan.afterBrace, text: inserted });
  return edits.length > 1 ? edits.sort((a, b) => a.start - b.start) : edits;
}

function spliced(rawBody: Buffer, edits: readonly Edit[]): Buffer {
  let length = rawBody.length;
  for (const { start, end, text } of edits) length += Buffer.byteLength(text) - (end - start);
  const body = Buffer.allocUnsafe(length);
  let from = 0;
  let to = 0;
  for (const { start, end, text } of edits) {
    to += rawBody.copy(body, to, from, start);
    to += body.write(text, to);
    from = end;
  }
  rawBody.copy(body, to, from);
  return body;
}
