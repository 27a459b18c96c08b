import assert from 'node:assert/strict';
import { scopesOf } from '../../src/books/metering/counter-scope.ts';
import type { Counters, Full, Held, Limit, LimitState, Measure, Scope } from '../../src/books/metering/counters.ts';
import type { SpanName } from '../../src/books/metering/window.ts';
import { until } from '../until.ts';

/** The caller in the suites of counters: an account, one key of it, perhaps a tier. */
export interface Asker {
  account: string;
  tenant: string;
  tier: string | null;
  /** Whole account, whole key, account's tier, key's tier. */
  scopes: readonly Scope[];
}

let askers = 0;

/** A caller that nobody has counted yet. */
export function newAsker(of: { account?: string; key?: string; tier?: string | null } = {}): Asker {
  const account = of.account ?? `acme${askers++}`;
  const who = { account, tenant: `${account}/${of.key ?? 'key'}`, tier: of.tier ?? null };
  return { ...who, scopes: scopesOf(who) };
}

/** A limit of the whole account, unless `on` is another scope. */
export function limitOf(
  who: Asker,
  measure: Measure,
  span: SpanName,
  allowed: number,
  on: { scope?: Scope; id?: string } = {},
): Limit {
  return {
    id: on.id ?? (measure === 'units' || measure === 'calls' ? span : `${measure}:${span}`),
    scope: on.scope ?? who.scopes[0]!,
    measure,
    span,
    allowed,
    rule: measure === 'tokens' || measure === 'usd' ? 'post-paid' : 'exact',
  };
}

let requests = 0;
export const newRequestId = () => `req_${String(requests++).padStart(8, '0')}`;

export async function hold(counters: Counters, who: Asker, costMilli: number, limits: readonly Limit[] = []) {
  const { account, scopes } = who;
  return counters.hold({ requestId: newRequestId(), account, scopes, costMilli, limits });
}

export async function mustHold(counters: Counters, who: Asker, costMilli: number, limits: readonly Limit[] = []) {
  const answer = await hold(counters, who, costMilli, limits);
  assert.equal(answer.kind, 'held', JSON.stringify(answer));
  return answer as Held;
}

export async function mustRefuse(counters: Counters, who: Asker, costMilli: number, limits: readonly Limit[]) {
  const answer = await hold(counters, who, costMilli, limits);
  assert.equal(answer.kind, 'full', JSON.stringify(answer));
  return answer as Full;
}

export async function enter(
  counters: Counters,
  who: Asker,
  asks: { callMilli?: number; rpm?: readonly Limit[]; places?: readonly { scope: Scope; allowed: number }[] },
) {
  return counters.enter({
    requestId: newRequestId(),
    account: who.account,
    callMilli: asks.callMilli ?? 1_000,
    limits: asks.rpm ?? [],
    places: (asks.places ?? []).map((place) => ({ id: 'concurrency', ...place })),
  });
}

/** Milli-units, tokens, … of one scope within a span, as the counters tell. */
export async function usedOf(
  counters: Counters,
  who: Asker,
  measure: Measure,
  span: SpanName,
  scope: Scope = who.scopes[0]!,
): Promise<number> {
  return (await stateOf(counters, who, measure, span, scope)).used;
}

export async function stateOf(
  counters: Counters,
  who: Asker,
  measure: Measure,
  span: SpanName,
  scope: Scope = who.scopes[0]!,
): Promise<LimitState> {
  const [state] = await counters.read(who.account, [limitOf(who, measure, span, Number.POSITIVE_INFINITY, { scope })]);
  return state!;
}

/** Callers of `spendAll`. */
export const spenders = 64;

/**
 * Many callers of an account at a time, by turns at these counters, until each is refused: their requests come to this
 * much each. Resolves to how many were admitted, once not one of them is lost.
 */
export async function spendAll(
  processes: readonly [Counters, ...Counters[]],
  who: Asker,
  limits: readonly Limit[],
  usdNano: number,
): Promise<number> {
  let admitted = 0;
  await Promise.all(
    Array.from({ length: spenders }, async (_, at) => {
      const counters = processes[at % processes.length] ?? processes[0];
      for (;;) {
        const held = await hold(counters, who, 1_000, limits);
        if (held.kind !== 'held') return assert.equal(held.kind, 'full');
        admitted += 1;
        counters.settle(held, { costMilli: 1_000, tokens: 1, usdNano });
        await counters.read(who.account, limits);
      }
    }),
  );
  await until('all is settled', async () => {
    const [state] = await processes[0].read(who.account, limits);
    return state?.used === admitted * usdNano;
  });
  return admitted;
}
