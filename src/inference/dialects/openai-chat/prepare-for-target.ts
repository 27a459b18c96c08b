import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { JsonScan } from '../../../kernel/json-scan.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { ForwardTarget } from '../dialect.ts';
import { splicedBody, type Values } from '../splice-body.ts';
import { renameField } from './rename-field.ts';
import { takesSignatures, withoutSignatures } from './thought-signature.ts';
import { gatewayOnlyFields } from './wire.ts';

export interface ForwardBody {
  bytes: Buffer | string;
  losses: Loss[];
}

const limitFields = ['max_completion_tokens', 'max_tokens'] as const;

/**
 * The body for a target that speaks the caller's own format. The bytes stay as they came, but for spliced values;
 * a field that must go or be renamed, a key written with escapes or given twice makes it write the JSON anew.
 * `parsed` and `scan` are what `JSON.parse` and `scanJson` made of `rawBody`. An output limit above the target's is
 * clamped, never refused: clients send 128000 blindly.
 */
export function prepareForTarget(
  rawBody: Buffer,
  parsed: JsonObject,
  scan: JsonScan,
  target: ForwardTarget,
): ForwardBody {
  const losses: Loss[] = [];
  const values = newValues(parsed, target, losses);
  const spliced = mustRewrite(parsed, target) ? null : splicedBody(rawBody, parsed, scan, values);
  return { bytes: spliced ?? rewritten(parsed, values, target, losses), losses };
}

function newValues(parsed: JsonObject, target: ForwardTarget, losses: Loss[]): Values {
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
  for (const name in target.body) {
    const value = JSON.stringify(target.body[name]) as string | undefined;
    if (value !== undefined) values.set(name, value);
  }
  return values;
}

function mustRewrite(parsed: JsonObject, { omit, rename }: ForwardTarget): boolean {
  for (const name in parsed) if (gatewayOnlyFields.has(name) || Object.hasOwn(rename, name)) return true;
  for (const name of omit) if (Object.hasOwn(parsed, name)) return true;
  return false;
}

function rewritten(parsed: JsonObject, values: Values, target: ForwardTarget, losses: Loss[]): string {
  // A spread defines members, so a `__proto__` from the wire stays a plain member (S21).
  const body: JsonObject = { ...parsed };
  for (const name of gatewayOnlyFields) delete body[name];
  for (const [name, text] of values) body[name] = JSON.parse(text);
  for (const name of target.omit) {
    // What the operator wrote for this target stays; no quirk strikes it out.
    if (!Object.hasOwn(body, name) || Object.hasOwn(target.body, name)) continue;
    if (body[name] !== null) losses.push({ field: name, why: 'unsupported' });
    delete body[name];
  }
  for (const from in target.rename) renameField(body, from, target.rename[from]!);
  return JSON.stringify(body);
}
