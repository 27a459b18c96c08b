import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { JsonScan } from '../../../kernel/json-scan.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { ForwardTarget } from '../dialect.ts';
import { type ForwardBody, forwardBody } from '../forward-body.ts';
import { takesSignatures, withoutSignatures } from './thought-signature.ts';

const limitFields = ['max_completion_tokens', 'max_tokens'] as const;

/**
 * The body for a target that speaks the caller's own format. An output limit above the target's is clamped, never
 * refused: clients send 128000 blindly.
 */
export function prepareForTarget(
  rawBody: Buffer,
  parsed: JsonObject,
  scan: JsonScan,
  target: ForwardTarget,
): ForwardBody {
  const losses: Loss[] = [];
  return forwardBody(rawBody, parsed, scan, target, { values: newValues(parsed, target, losses), losses });
}

function newValues(parsed: JsonObject, target: ForwardTarget, losses: Loss[]): Map<string, string> {
  const values = new Map([['model', JSON.stringify(target.model)]]);
  for (const name of limitFields) {
    const asked = parsed[name];
    if (typeof asked !== 'number' || target.maxOutputTokens === null || asked <= target.maxOutputTokens) continue;
    values.set(name, String(target.maxOutputTokens));
    losses.push({ field: name, why: 'clamped' });
  }
  const unsigned = takesSignatures(target.model) ? null : withoutSignatures(parsed.messages);
  if (unsigned !== null) {
    values.set('messages', JSON.stringify(unsigned));
    losses.push({ field: 'extra_content', why: 'unsupported' });
  }
  const options = isObject(parsed.stream_options) ? parsed.stream_options : {};
  if (target.streamUsage === 'ask' && parsed.stream === true && options.include_usage !== true) {
    values.set('stream_options', JSON.stringify({ ...options, include_usage: true }));
  }
  return values;
}
