import type { JsonObject } from '../../../kernel/json.ts';
import type { JsonScan } from '../../../kernel/json-scan.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { ForwardTarget } from '../dialect.ts';
import { gatewayOnlyFields } from '../openai-chat/wire.ts';
import { splicedBody, type Values } from '../splice-body.ts';
import { unpackThought } from './kept-thought.ts';
import { type InputItem, isOwnId, type ResponsesRequest } from './wire.ts';

/**
 * The body for a provider of the caller's own format. The bytes stay as they came, but for spliced values. Thoughts
 * that this gateway converted for an earlier turn are left out: the provider would refuse what it did not encrypt.
 */
export function forward(
  rawBody: Buffer,
  body: ResponsesRequest,
  scan: JsonScan,
  target: ForwardTarget,
): { bytes: Buffer | string; losses: Loss[] } {
  const losses: Loss[] = [];
  const values = newValues(body, target, losses);
  const spliced = mustRewrite(body, target) ? null : splicedBody(rawBody, body, scan, values);
  return { bytes: spliced ?? rewritten(body, values, target, losses), losses };
}

function newValues(body: ResponsesRequest, target: ForwardTarget, losses: Loss[]): Values {
  const values = new Map([['model', JSON.stringify(target.model)]]);
  const asked = body.max_output_tokens;
  if (typeof asked === 'number' && target.maxOutputTokens !== null && asked > target.maxOutputTokens) {
    values.set('max_output_tokens', String(target.maxOutputTokens));
    losses.push({ field: 'max_output_tokens', why: 'clamped' });
  }
  if (Array.isArray(body.input) && body.input.some(isForeignThought)) {
    values.set('input', JSON.stringify(body.input.filter((item) => !isForeignThought(item))));
    losses.push({ field: 'input.reasoning', why: 'unsupported' });
  }
  for (const name in target.body) {
    const value = JSON.stringify(target.body[name]) as string | undefined;
    if (value !== undefined) values.set(name, value);
  }
  return values;
}

function isForeignThought(item: InputItem): boolean {
  if (item.type === 'item_reference') return isOwnId(item.id) && String(item.id).startsWith('rs_');
  if (item.type !== 'reasoning') return false;
  return (
    isOwnId(item.id) || (typeof item.encrypted_content === 'string' && unpackThought(item.encrypted_content) !== null)
  );
}

function mustRewrite(body: JsonObject, { omit }: ForwardTarget): boolean {
  for (const name in body) if (gatewayOnlyFields.has(name)) return true;
  for (const name of omit) if (Object.hasOwn(body, name)) return true;
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
  return JSON.stringify(body);
}
