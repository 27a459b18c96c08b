import type { Operator } from '../../books/auth/operator.ts';
import type { UsageEvent } from '../../books/metering/ledger.ts';
import { someText } from '../../config/scalars.ts';
import type { RouteConfig } from '../../config/schema.ts';
import { isObject } from '../../kernel/json.ts';
import { requestedAccounts } from '../account-scope.ts';
import { listLimitMax, pastInstant } from '../fields.ts';
import { refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { periodOf } from '../requests.ts';

type ClassifyConfig = NonNullable<RouteConfig['classify']>;

/** A request that a rule observed, and the model that it would have chosen. */
export interface ObservedRequest {
  event: UsageEvent;
  /** Model of the nearest class; null: none was clearly the nearest. */
  found: string | null;
  /** Model that would have answered. */
  would: string;
}

/** The span of a question, as a request has it. */
export const spanFields = {
  from: pastInstant('Start of the span. Default: 30 days before `to`.').optional(),
  to: pastInstant('End of the span, not included. Default: now.').optional(),
  account: someText(256).optional().describe('Only requests of this account.'),
  cursor: someText(1_024).optional().describe('The `next_cursor` of the previous response.'),
};

/** The rule that classifies by this name, or a refusal. */
export function classifyOf({ snapshots }: AdminParts, name: string): ClassifyConfig {
  const { routes } = snapshots.current.config;
  const classify = Object.hasOwn(routes, name) ? routes[name]?.classify : undefined;
  if (classify !== undefined) return classify;
  return refuse({ kind: 'not-found', message: `There is no rule '${name.slice(0, 64)}' that classifies.` });
}

interface Question {
  rule: string;
  classify: ClassifyConfig;
  operator: Operator;
  span: { from?: ((nowMs: number) => number) | undefined; to?: ((nowMs: number) => number) | undefined };
  account: string | undefined;
  cursor: string | undefined;
  /** Requests of the next page, at least 1. Default: as many as a page may have. */
  pageSize?: () => number;
}

/** Pages of what a rule observed, the newest first, with the place behind each page; null: it was the last. */
export function observedPages(
  { ledger, clock }: AdminParts,
  { rule, classify, operator, span, account, cursor: first, pageSize = () => listLimitMax }: Question,
): { fromMs: number; toMs: number; pages: AsyncGenerator<ObservedPage> } {
  const { fromMs, toMs } = periodOf(span, clock.wallMs());
  const query = {
    accounts: requestedAccounts(account, operator.accounts),
    where: {},
    sinceMs: fromMs,
    untilMs: toMs,
    after: null,
  };
  async function* pages(): AsyncGenerator<ObservedPage> {
    let cursor = first ?? null;
    do {
      const page = await ledger.list({ ...query, cursor, limit: pageSize() });
      cursor = page.next;
      const requests = page.events.flatMap((event) => observedIn(event, rule, classify));
      yield { requests, examined: page.events.length, next: cursor };
    } while (cursor !== null);
  }
  return { fromMs, toMs, pages: pages() };
}

export interface ObservedPage {
  requests: readonly ObservedRequest[];
  /** Requests of the page, also those that the rule did not see. */
  examined: number;
  next: string | null;
}

function observedIn(event: UsageEvent, rule: string, { otherwise }: ClassifyConfig): ObservedRequest[] {
  const { rules } = event.route;
  const classified = isObject(rules) && Array.isArray(rules.classified) ? rules.classified.filter(isObject) : [];
  const seen = classified.find((one) => one.rule === rule && one.observed === true);
  if (seen === undefined) return [];
  const found = typeof seen.model === 'string' ? seen.model : null;
  return [{ event, found, would: found ?? otherwise ?? event.alias }];
}
