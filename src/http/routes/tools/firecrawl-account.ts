import { type PlanReadings, readLimits } from '../../../books/metering/limits/limit-view.ts';
import { limitsOfKey } from '../../../books/metering/plan-rules.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { failureIn } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Crawl } from '../../../tools/crawl/crawl-store.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { writeJson } from '../../write-json.ts';
import { keyRoute } from '../key-route.ts';
import type { UsageParts } from '../usage.ts';
import { type ToolMount, toolMounts } from './tool-mounts.ts';

export interface FirecrawlAccountParts extends Omit<UsageParts, 'storage'> {
  /** Crawls and batches of a tenant that run. */
  running(tenant: string): Promise<readonly Pick<Crawl, 'waiting'>[]>;
}

/** The SDKs want a number where a plan has no limit. */
const endless = Number.MAX_SAFE_INTEGER;

/** `GET /v1/usage` in the form of Firecrawl's SDKs: a credit is one unit. Free of charge. */
export function firecrawlAccountRoutes(parts: FirecrawlAccountParts): Route[] {
  const credits = (usage: { units: number }) => ({ creditsUsed: Math.ceil(usage.units) });
  const tokens = (usage: { tokens: number }) => ({ tokensUsed: usage.tokens });
  return toolMounts
    .filter(({ api }) => api !== 'culvert')
    .flatMap((mount) => [
      route(mount, '/concurrency-check', 'Concurrent requests', (exchange) => concurrency(parts, exchange)),
      route(mount, '/team/credit-usage', 'Units that are left', (exchange) => left(parts, exchange, mount, 'credits')),
      route(mount, '/team/token-usage', 'Tokens that are left', (exchange) => left(parts, exchange, mount, 'tokens')),
      route(mount, '/team/queue-status', 'Pages that wait', (exchange) => queue(parts, exchange)),
      route(mount, '/team/credit-usage/historical', 'Units by month', (exchange) => months(parts, exchange, credits)),
      route(mount, '/team/token-usage/historical', 'Tokens by month', (exchange) => months(parts, exchange, tokens)),
    ]);
}

function route(
  { at, dialect }: ToolMount,
  path: string,
  summary: string,
  answer: (exchange: Exchange) => Promise<JsonObject>,
): Route {
  return keyRoute(`GET ${at + path}`, 'free', {
    dialect,
    summary,
    async handle(exchange) {
      try {
        writeJson(exchange, 200, { success: true, ...(await answer(exchange)) }, exchange.admitted?.headers);
      } catch (error) {
        refuse(exchange.client, failureIn(error), []);
      }
    },
  });
}

function limitsOf({ counters, plans, clock }: FirecrawlAccountParts, { principal }: Exchange): Promise<PlanReadings> {
  const { account, tenant, plan, limits } = callerOf({ principal });
  const keyLimits = limits === null ? null : limitsOfKey(limits, clock.wallMs());
  return readLimits(counters, { account, tenant, plan: plans().plan(plan), keyLimits });
}

async function concurrency(parts: FirecrawlAccountParts, exchange: Exchange): Promise<JsonObject> {
  const { used, allowed } = placesOf(await limitsOf(parts, exchange));
  return { data: { concurrency: used, maxConcurrency: allowed } };
}

/** The key's own where it may have fewer than its plan. */
function placesOf({ concurrency: ofPlan, key }: PlanReadings): { used: number; allowed: number } {
  const ofKey = key?.concurrency.allowed == null ? null : key.concurrency;
  const tighter = ofKey !== null && (ofKey.allowed ?? endless) < (ofPlan.allowed ?? endless) ? ofKey : ofPlan;
  return { used: tighter.used, allowed: tighter.allowed ?? endless };
}

/** The longest window that has a limit. Windows roll, so there is no billing period. */
async function left(
  parts: FirecrawlAccountParts,
  exchange: Exchange,
  { api }: ToolMount,
  of: 'credits' | 'tokens',
): Promise<JsonObject> {
  const limits = await limitsOf(parts, exchange);
  const readings = [limits, ...(limits.key === null ? [] : [limits.key])].flatMap((one) => {
    const { month, week, '5h': hours } = of === 'credits' ? one.windows : one.tokens;
    const longest = [month, week, hours].find(({ allowed }) => allowed !== null);
    return longest?.allowed == null ? [] : [{ allowed: longest.allowed, remaining: longest.remaining ?? 0 }];
  });
  const [tightest] = readings.sort((one, other) => one.remaining - other.remaining);
  const remaining = tightest === undefined ? endless : Math.floor(tightest.remaining);
  const plan = tightest === undefined ? null : Math.floor(tightest.allowed);
  const data =
    api === 'firecrawl-v1'
      ? { [`remaining_${of}`]: remaining, [`plan_${of}`]: plan, billing_period_start: null, billing_period_end: null }
      : {
          [of === 'credits' ? 'remainingCredits' : 'remainingTokens']: remaining,
          [of === 'credits' ? 'planCredits' : 'planTokens']: plan,
          billingPeriodStart: null,
          billingPeriodEnd: null,
        };
  return { data };
}

async function queue(parts: FirecrawlAccountParts, exchange: Exchange): Promise<JsonObject> {
  const [limits, running] = await Promise.all([limitsOf(parts, exchange), parts.running(callerOf(exchange).tenant)]);
  const { used, allowed } = placesOf(limits);
  const waiting = running.reduce((sum, crawl) => sum + crawl.waiting, 0);
  return {
    jobsInQueue: used + waiting,
    activeJobsInQueue: used,
    waitingJobsInQueue: waiting,
    maxConcurrency: allowed,
    mostRecentSuccess: null,
  };
}

const monthsMax = 12;

/** Usage of the whole account by calendar month in UTC, newest first. Months without usage are left out. */
async function months(
  { ledger, clock }: FirecrawlAccountParts,
  { principal, search }: Exchange,
  usedIn: (usage: { units: number; tokens: number }) => JsonObject,
): Promise<JsonObject> {
  const byKey = new URLSearchParams(search).get('byApiKey') === 'true';
  const now = new Date(clock.wallMs());
  const startMs = (ago: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago, 1);
  const periods = await Promise.all(
    Array.from({ length: monthsMax }, async (_, ago) => {
      const [fromMs, toMs] = [startMs(ago), startMs(ago - 1)];
      const { account } = callerOf({ principal });
      const rows = await ledger.usage({
        accounts: [account],
        where: {},
        groupBy: byKey ? 'key' : 'account',
        splitBy: null,
        fromMs,
        toMs,
      });
      return rows.map((row) => ({
        startDate: new Date(fromMs).toISOString(),
        endDate: new Date(toMs).toISOString(),
        ...(byKey && { apiKey: row.group }),
        ...usedIn({ units: row.milliUnits / 1_000, tokens: row.inputTokens + row.outputTokens }),
      }));
    }),
  );
  return { periods: periods.flat() };
}
