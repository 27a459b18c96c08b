import { z } from 'zod';
import { serverPrincipal } from '../../books/auth/principal.ts';
import { isUnpriced } from '../../books/ledger/columns.ts';
import { chargedUsage } from '../../books/metering/reprice.ts';
import { priceShare, usdOf } from '../../formats/neutral/price.ts';
import type { Snapshot } from '../../inference/models/snapshot.ts';
import { isFailure } from '../../kernel/failure.ts';
import type { Target } from '../../routing/target.ts';
import { timeField } from '../fields.ts';
import { jsonOperation, type Operation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { classifyOf, type ObservedRequest, observedPages, spanFields } from './observed-requests.ts';

/** One call looks at requests for so long, and at so many of them; the next goes on from there. */
const stepMs = 5_000;
const stepRequestsMax = 50_000;

const sumsFields = {
  requests: z.int().describe('Requests that the rule observed.'),
  priced: z.int().describe('Those of them whose cost is known with both models.'),
  same: z.int().describe('Priced ones that the same model would have answered.'),
  unpriced: z.int().describe('Requests without a price, of what answered or of what would have.'),
  unanswered: z.int().describe('Requests that no model answered: failures, refusals and kept answers.'),
  was_usd: z.number().describe('What the priced ones cost.'),
  would_usd: z.number().describe('What they would have cost, by the prices of today and the tokens of the record.'),
  saved_usd: z.number().describe('The difference; below 0: the rule would have cost more.'),
};

const savingsReply = z.object({
  object: z.literal('savings'),
  rule: z.string(),
  observes: z.boolean().describe('false: the rule decides by now; the requests are those of before.'),
  from: timeField,
  to: timeField,
  looked_at: z.int().describe('Requests that this call examined at, the newest first.'),
  ...sumsFields,
  classes: z
    .array(
      z.object({
        model: z.string().nullable().describe('The class; null: none was clearly the nearest.'),
        would: z.array(z.string()).describe('Models that would have answered.'),
        ...sumsFields,
      }),
    )
    .describe('The same by class.'),
  next_cursor: z
    .string()
    .nullable()
    .describe('Repeat the call with it, and with the same `from` and `to`; null: all requests of the span were seen.'),
});

export type SavingsReply = z.output<typeof savingsReply>;
export type SavingsSums = Pick<SavingsReply, keyof typeof sumsFields>;

/** `/routes/{name}/savings`: what a rule that observes would have saved. */
export function savingsOperations(parts: AdminParts): Operation[] {
  return [
    jsonOperation({
      route: 'GET /routes/{name}/savings',
      area: 'usage',
      summary: 'Says what the requests that a rule observed would have cost with the models that it would have chosen.',
      query: z.strictObject(spanFields),
      reply: savingsReply,
      async run({ params: { name }, query: { account, cursor, ...span }, operator }) {
        const classify = classifyOf(parts, name);
        const { fromMs, toMs, pages } = observedPages(parts, { rule: name, classify, operator, span, account, cursor });
        const untilMs = parts.clock.monotonicMs() + stepMs;
        const sums = createSums(wouldCost(parts.snapshots.current));
        let examined = 0;
        let next: string | null = null;
        for await (const page of pages) {
          for (const request of page.requests) sums.add(request);
          examined += page.examined;
          next = page.next;
          if (examined >= stepRequestsMax || parts.clock.monotonicMs() >= untilMs) break;
        }
        return {
          object: 'savings' as const,
          rule: name,
          observes: classify.observe,
          from: new Date(fromMs).toISOString(),
          to: new Date(toMs).toISOString(),
          looked_at: examined,
          ...sums.shown(),
          next_cursor: next,
        };
      },
    }),
  ];
}

/** USD of a request's tokens at a model; null: it has no price. */
type WouldCost = (request: ObservedRequest) => number | null;

/** By the targets that are asked first: their mean by weight, where each has a price. */
function wouldCost({ models }: Snapshot): WouldCost {
  const known = new Map<string, readonly Target[]>();
  const firstTargets = (model: string) => {
    let targets = known.get(model);
    if (targets === undefined) {
      const alias = models.resolve(model, serverPrincipal);
      const all = isFailure(alias) ? [] : alias.candidates;
      const tier = Math.min(...all.map(({ rank, target }) => rank * 1e6 + target.priority));
      targets = all.filter(({ rank, target }) => rank * 1e6 + target.priority === tier).map(({ target }) => target);
      known.set(model, targets);
    }
    return targets;
  };
  return ({ event, would }) => {
    const usage = chargedUsage(event);
    const share = event.route.priceShare;
    let sum = 0;
    let weights = 0;
    for (const { price: list, weight } of firstTargets(would)) {
      const price = list === null ? null : typeof share === 'number' ? priceShare(list, share) : list;
      const usd = price === null ? null : usdOf(usage, price, event.atMs);
      if (usd === null) return null;
      sum += usd * weight;
      weights += weight;
    }
    return weights === 0 ? null : sum / weights;
  };
}

const nanoPerUsd = 1e9;

function createSums(costOf: WouldCost) {
  const none = () => ({ requests: 0, priced: 0, same: 0, unpriced: 0, unanswered: 0, wasNano: 0, wouldNano: 0 });
  type Sums = ReturnType<typeof none>;
  const all = none();
  const byClass = new Map<string | null, { would: Set<string>; sums: Sums }>();

  function count(sums: Sums, request: ObservedRequest, cost: number | null): void {
    const { event, would } = request;
    sums.requests += 1;
    // Without a cost it would be a request that a model answered: otherwise there is nothing to compare.
    if (event.class !== 'ok' || !isUnpriced({ ...event, costUsd: null })) {
      sums.unanswered += 1;
      return;
    }
    const isSame = would === event.alias;
    const wouldUsd = isSame ? event.costUsd : cost;
    if (event.costUsd === null || wouldUsd === null) {
      sums.unpriced += 1;
      return;
    }
    sums.priced += 1;
    if (isSame) sums.same += 1;
    // Whole nano-USD: a sum of fractions would show dust.
    sums.wasNano += Math.round(event.costUsd * nanoPerUsd);
    sums.wouldNano += Math.round(wouldUsd * nanoPerUsd);
  }

  function shown({ wasNano, wouldNano, ...counts }: Sums): SavingsSums {
    const usd = (nano: number) => nano / nanoPerUsd;
    return { ...counts, was_usd: usd(wasNano), would_usd: usd(wouldNano), saved_usd: usd(wasNano - wouldNano) };
  }

  return {
    add(request: ObservedRequest): void {
      const row = byClass.get(request.found) ?? { would: new Set(), sums: none() };
      byClass.set(request.found, row);
      row.would.add(request.would);
      const cost = costOf(request);
      count(row.sums, request, cost);
      count(all, request, cost);
    },
    shown: () => ({
      ...shown(all),
      classes: [...byClass]
        .map(([model, { would, sums }]) => ({ model, would: [...would].slice(0, 20), ...shown(sums) }))
        .toSorted((one, other) => other.requests - one.requests),
    }),
  };
}
