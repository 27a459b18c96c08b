import type { JsonScan } from '../../../kernel/json-scan.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { ForwardTarget } from '../dialect.ts';
import { type ForwardBody, forwardBody } from '../forward-body.ts';
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
): ForwardBody {
  const losses: Loss[] = [];
  const values = new Map([['model', JSON.stringify(target.model)]]);
  clampLimit(parsed, target.maxOutputTokens, values, losses);
  const history = historyForAnthropic(parsed, losses);
  if (history !== null) values.set('messages', JSON.stringify(history));
  return forwardBody(rawBody, parsed, scan, target, { values, losses });
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
