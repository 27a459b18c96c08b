import type { JsonScan } from '../../../kernel/json-scan.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { ForwardTarget } from '../dialect.ts';
import { type ForwardBody, forwardBody } from '../forward-body.ts';
import { unpackThought } from './kept-thought.ts';
import { type InputItem, isOwnId, type ResponsesRequest } from './wire.ts';

/**
 * The body for a provider of the caller's own format. The bytes stay as they came, but for spliced values. Thoughts
 * that this gateway converted for an earlier turn are left out: the provider would refuse what it did not encrypt.
 */
export function forward(rawBody: Buffer, body: ResponsesRequest, scan: JsonScan, target: ForwardTarget): ForwardBody {
  const losses: Loss[] = [];
  return forwardBody(rawBody, body, scan, target, { values: newValues(body, target, losses), losses });
}

function newValues(body: ResponsesRequest, target: ForwardTarget, losses: Loss[]): Map<string, string> {
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
  return values;
}

function isForeignThought(item: InputItem): boolean {
  if (item.type === 'item_reference') return isOwnId(item.id) && String(item.id).startsWith('rs_');
  if (item.type !== 'reasoning') return false;
  return (
    isOwnId(item.id) || (typeof item.encrypted_content === 'string' && unpackThought(item.encrypted_content) !== null)
  );
}
