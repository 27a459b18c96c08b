import type { Principal } from '../../books/auth/principal.ts';
import type { Counters } from '../../books/metering/counters.ts';
import type { Ledger, UsageGroup, UsageQuery } from '../../books/metering/ledger.ts';
import { readCredit, readLimits, readRun } from '../../books/metering/limits/limit-view.ts';
import { type RequestedParts, readParts } from '../../books/metering/part-budgets.ts';
import type { PlanBook } from '../../books/metering/plan-book.ts';
import { limitsOfKey, raisedBy } from '../../books/metering/plan-rules.ts';
import type { StorageBook } from '../../books/metering/storage/storage-book.ts';
import { usageRecord } from '../../books/metering/usage-record.ts';
import { parseDistanceMs, parseInstantMs } from '../../config/scalars.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type Clock, dayMs } from '../../kernel/clock.ts';
import { type Failure, failureIn, invalid, isFailure } from '../../kernel/failure.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { writeJson } from '../write-json.ts';
import { keyRoute } from './key-route.ts';

export interface UsageParts {
  counters: Pick<Counters, 'read' | 'running'>;
  ledger: Pick<Ledger, 'usage'>;
  plans(): PlanBook;
  storage: Pick<StorageBook, 'usage'>;
  clock: Clock;
}

/** `GET /v1/usage`: how full the caller's limits are, and what its own account has used. Free of charge. */
export function usageRoute(parts: UsageParts): Route {
  return keyRoute('GET /v1/usage', 'free', {
    summary: 'The rest of the limits, and what was used',
    handle: (exchange) => answerUsage(parts, exchange),
  });
}

async function answerUsage({ counters, ledger, plans, storage, clock }: UsageParts, exchange: Exchange): Promise<void> {
  const refused = (failure: Failure) => refuse(exchange.client, failure, []);
  const principal = callerOf(exchange);
  const query = usageQueryOf(new URLSearchParams(exchange.search), principal, clock.wallMs());
  if (isFailure(query)) return refused(query);
  const plan = raisedBy(plans().plan(principal.plan), principal.extraBudget, clock.wallMs());
  const keyLimits = principal.limits === null ? null : limitsOfKey(principal.limits, clock.wallMs());
  const { account, tenant } = principal;
  try {
    const [limits, rows, stored, budgets, credit, run] = await Promise.all([
      readLimits(counters, { account, tenant, plan, keyLimits }),
      ledger.usage(query),
      storage.usage(account),
      principal.budgets && readParts(counters, account, principal.budgets, partsIn(exchange.search)),
      principal.creditNano === undefined ? undefined : readCredit(counters, account, principal.creditNano),
      principal.run && readRun(counters, account, principal.run),
    ]);
    writeJson(exchange, 200, {
      account,
      plan: plan.name,
      ...limits,
      ...(budgets !== undefined && { budgets }),
      ...(credit !== undefined && { credit }),
      ...(run !== undefined && { run: { budget: run } }),
      storage: { used_bytes: stored.usedBytes, allowed_bytes: stored.allowedBytes, ...stored.kinds },
      data: rows.map(usageRecord),
    });
  } catch (error) {
    refused(failureIn(error));
  }
}

/** The users, tags and models whose budgets are asked for, besides those that a budget names. */
function partsIn(search: string): RequestedParts {
  const parameters = new URLSearchParams(search);
  const requested = (['user', 'tag', 'model'] as const).flatMap((kind) => {
    const value = parameters.get(kind);
    return value === null ? [] : [[kind, value.slice(0, partCharsMax)]];
  });
  return Object.fromEntries(requested);
}

/** Length that the ledger keeps. */
const partCharsMax = 256;

const groups: readonly UsageGroup[] = ['day', 'model', 'endpoint', 'user'];
const defaultPeriodMs = 30 * dayMs;
/** One answer tells of no longer time than this. */
const periodMsMax = 366 * dayMs;

/** Always of the caller's own account. A 400 names the parameter. */
function usageQueryOf(parameters: URLSearchParams, { account }: Principal, nowMs: number): UsageQuery | Failure {
  const named = parameters.get('group_by') ?? 'day';
  const groupBy = groups.find((group) => group === named);
  if (groupBy === undefined) return invalid('group_by', `group_by must be one of ${groups.join(', ')}.`);
  const toMs = instantOf(parameters.get('to'), nowMs, nowMs);
  if (toMs === null) return invalid('to', `to must be ${instantWords}.`);
  const fromMs = instantOf(parameters.get('from'), toMs - defaultPeriodMs, nowMs);
  if (fromMs === null) return invalid('from', `from must be ${instantWords}.`);
  if (fromMs >= toMs) return invalid('from', 'from must be before to.');
  if (toMs - fromMs > periodMsMax) return invalid('from', 'from must be at most 366 days before to.');
  return { accounts: [account], where: {}, groupBy, splitBy: null, fromMs, toMs };
}

const instantWords =
  'a date such as 2027-01-01 (its first instant, UTC), a time such as 2027-01-01T12:00:00Z, or a time ago such as 24h';

function instantOf(text: string | null, absentMs: number, nowMs: number): number | null {
  if (text === null) return absentMs;
  const agoMs = parseDistanceMs(text);
  return agoMs === undefined ? (parseInstantMs(text) ?? null) : nowMs - agoMs;
}
