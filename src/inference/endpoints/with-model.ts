import type { Failure } from '../../kernel/failure.ts';
import { anyWidth, type JsonWidth, scanJson } from '../../kernel/json.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';
import { tooLargeForLoop } from '../../kernel/parse-object.ts';

/**
 * The text of a JSON object with this `model` in place of the one it has; all other bytes stay as they came. What is no
 * such object stays as it is, for the one who parses it to refuse. The failure is `tooLargeForLoop`: the text is wider
 * than `widthMax`.
 */
export function withModel(raw: Buffer, model: string, widthMax: JsonWidth = anyWidth): Buffer | Failure {
  const scan = scanJson(raw, jsonDepthMax, widthMax);
  if (scan.tooWide) return tooLargeForLoop;
  if (scan.tooDeep || scan.afterBrace < 0) return raw;
  const name = Buffer.from(JSON.stringify(model.toWellFormed()));
  const place = scan.model;
  if (place !== null) return Buffer.concat([raw.subarray(0, place.start), name, raw.subarray(place.end)]);
  // With a `model` that is there twice, or written with escapes, this makes one more: such a body is refused.
  const comma = scan.memberCount === 0 ? '' : ',';
  const first = Buffer.concat([Buffer.from('"model":'), name, Buffer.from(comma)]);
  return Buffer.concat([raw.subarray(0, scan.afterBrace), first, raw.subarray(scan.afterBrace)]);
}
