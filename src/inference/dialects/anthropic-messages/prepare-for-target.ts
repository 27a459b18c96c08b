import type { JsonObject } from '../../../kernel/json.ts';
import type { JsonScan } from '../../../kernel/json-scan.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { ForwardTarget } from '../dialect.ts';
import { renameField } from '../openai-chat/rename-field.ts';
import { gatewayOnlyFields } from '../openai-chat/wire.ts';
import { splicedBody } from '../splice-body.ts';
import { historyForAnthropic } from './history-for-anthropic.ts';
import type { CallerBody } from './request-wire.ts';

/** Anthropic's least. */
const budgetTokensMin = 1_024;

/**
 * The body for a target that speaks Messages. The bytes stay as they came, with whatever they hold that is not known
 * here, but for spliced values: the model, an output limit above the target's (clients send 128000 blindly), a history
 * that another dialect answered, the operator's own fields.
 */
export function prepareForTarget(
  rawBody: Buffer,
  parsed: CallerBody,
  scan: JsonScan,
  target: ForwardTarget,
): { bytes: Buffer | string; losses: Loss[] } {
  const losses: Loss[] = [];
  const values = new Map([['model', JSON.stringify(target.model)]]);
  clampLimit(parsed, target.maxOutputTokens, values, losses);
  const history = historyForAnthropic(parsed, losses);
  if (history !== null) values.set('messages', JSON.stringify(history));
  for (const name in target.body) {
    const value = JSON.stringify(target.body[name]) as string | undefined;
    if (value !== undefined) values.set(name, value);
  }
  const spliced = mustRewrite(parsed, target) ? null : splicedBody(rawBody, parsed, scan, values);
  return { bytes: spliced ?? rewritten(parsed, values, target, losses), losses };
}

/** The budget for thoughts is part of the limit and must stay below it. */
function clampLimit(
  { max_tokens: asked, thinking }: CallerBody,
  limit: number | null,
  values: Map<string, string>,
  losses: Loss[],
): void {
  if (typeof asked !== 'number' || limit === null || asked <= limit) return;
  values.set('max_tokens', String(limit));
  losses.push({ field: 'max_tokens', why: 'clamped' });
  const budget = thinking?.budget_tokens;
  if (!thinking || budget === undefined || budget < limit) return;
  const room = Math.max(budgetTokensMin, Math.floor(limit * 0.75));
  values.set('thinking', JSON.stringify({ ...thinking, budget_tokens: room }));
  losses.push({ field: 'thinking.budget_tokens', why: 'clamped' });
}

function mustRewrite(parsed: CallerBody, { omit, rename }: ForwardTarget): boolean {
  for (const name in parsed) if (gatewayOnlyFields.has(name) || Object.hasOwn(rename, name)) return true;
  return omit.some((name) => Object.hasOwn(parsed, name));
}

function rewritten(
  parsed: CallerBody,
  values: ReadonlyMap<string, string>,
  target: ForwardTarget,
  losses: Loss[],
): string {
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
