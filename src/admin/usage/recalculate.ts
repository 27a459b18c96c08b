import { z } from 'zod';
import type { Operator } from '../../books/auth/operator.ts';
import { isUnpriced } from '../../books/ledger/columns.ts';
import { type Repriced, repricedMax } from '../../books/ledger/repricing.ts';
import { giveBackEndpoint } from '../../books/metering/give-back.ts';
import type { UsageEvent } from '../../books/metering/ledger.ts';
import { type Priced, repriced, repricedBack } from '../../books/metering/reprice.ts';
import { someText } from '../../config/scalars.ts';
import type { Snapshot } from '../../inference/models/snapshot.ts';
import { requestedAccounts } from '../account-scope.ts';
import type { Records } from '../directory.ts';
import { definedMembers, filter, listLimitMax, pastInstant, timeField } from '../fields.ts';
import { jsonOperation, type Operation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { periodOf } from '../requests.ts';

/** One call looks at requests for so long, and at so many of them; the next goes on from there. */
const stepMs = 5_000;
const stepRequestsMax = 50_000;
/** Targets of a reply that have a row. */
const targetsMax = 1_000;

const sumsFields = {
  requests: z.int().describe('Requests whose cost changes.'),
  unpriced_requests: z.int().describe('Those of them that had no price.'),
  old_usd: z.number().describe('What they cost before; those without a price have 0 here.'),
  new_usd: z.number().describe('What they cost by the prices of today.'),
};

const recalculation = z.object({
  object: z.literal('recalculation'),
  applied: z.boolean().describe('false: a preview, nothing was changed.'),
  from: timeField,
  to: timeField,
  looked_at: z.int().describe('Requests that this call looked at, the newest first.'),
  ...sumsFields,
  still_unpriced: z.int().describe('Requests without a price whose target has none today, or is gone.'),
  unclear: z
    .int()
    .describe(
      'Requests that keep their cost: several calls made it, and the record does not say what each of them cost.',
    ),
  targets: z.array(z.object({ model: z.string(), target: z.string(), ...sumsFields })).describe('The same by target.'),
  next_cursor: z
    .string()
    .nullable()
    .describe('Repeat the call with it, and with the same `from` and `to`; null: all requests of the span were seen.'),
});

export type Recalculation = z.output<typeof recalculation>;
type Sums = Pick<Recalculation, keyof typeof sumsFields>;

const body = z.strictObject({
  from: pastInstant('Start of the span. Default: 30 days before `to`.').optional(),
  to: pastInstant('End of the span, not included. Default: now.').optional(),
  account: filter('Only requests of this account.'),
  model: filter('Only requests for this model.'),
  requests: z
    .enum(['unpriced', 'all'])
    .default('unpriced')
    .describe('unpriced: those without a price; all: also those that were charged by another price.'),
  apply: z.boolean().default(false).describe('true: change them. Default: say what would change.'),
  cursor: someText(1_024).optional().describe('The `next_cursor` of the previous response.'),
});

/** `/usage/recalculate`: the prices of today for requests of the past. */
export function recalculateOperations(parts: AdminParts, records: Records): Operation[] {
  return [
    jsonOperation({
      route: 'POST /usage/recalculate',
      area: 'usage',
      summary: 'Gives past requests the cost that they have by the prices of today, or says what that would change.',
      body,
      reply: recalculation,
      run: (call) => recalculated(parts, records, call.body, call.operator),
    }),
  ];
}

async function recalculated(
  parts: AdminParts,
  records: Records,
  request: z.output<typeof body>,
  operator: Operator,
): Promise<Recalculation> {
  const { ledger, clock } = parts;
  const nowMs = clock.wallMs();
  const { fromMs, toMs } = periodOf(request, nowMs);
  const query = {
    accounts: requestedAccounts(request.account, operator.accounts),
    where: definedMembers({ alias: request.model }),
    sinceMs: fromMs,
    untilMs: toMs,
    after: null,
    limit: listLimitMax,
  };
  const priceOf = pricesOf(parts.snapshots.current);
  const byRequest = (event: UsageEvent) =>
    request.requests === 'all' || isUnpriced(event) ? repriced(event, priceOf) : 'the same';
  const presentCost = async (event: UsageEvent) => {
    if (event.endpoint !== giveBackEndpoint) return byRequest(event);
    const paid = await ledger.find(String(event.route.of), event.account);
    return repricedBack(event, paid, paid === null ? 'unclear' : byRequest(paid));
  };
  const untilMs = clock.monotonicMs() + stepMs;
  const sums = createSums();
  /** A few at a time: settlements get in between. Another recalculation may have been first with some. */
  const apply = async (changes: readonly Repriced[]) => {
    for (let at = 0; at < changes.length; at += repricedMax) {
      const few = changes.slice(at, at + repricedMax);
      const changed = new Set(await ledger.reprice(few, nowMs));
      sums.add(few.filter(({ before }) => changed.has(before.requestId)));
    }
  };
  let examined = 0;
  let cursor = request.cursor ?? null;
  const reply = (): Recalculation => ({
    object: 'recalculation',
    applied: request.apply,
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    looked_at: examined,
    ...sums.shown(),
    next_cursor: cursor,
  });
  try {
    do {
      const page = await ledger.list({ ...query, cursor });
      const changes: Repriced[] = [];
      for (const before of page.events) {
        examined += 1;
        const after = await presentCost(before);
        if (typeof after === 'string') sums.left(after);
        else changes.push({ before, after });
      }
      if (request.apply) await apply(changes);
      else sums.add(changes);
      cursor = page.next;
    } while (cursor !== null && examined < stepRequestsMax && clock.monotonicMs() < untilMs);
  } finally {
    // What was changed before a failure stays.
    if (request.apply) await audited(records, reply(), request, operator);
  }
  return reply();
}

/** One entry for each call that changed something: what it was asked for, and both sums. */
async function audited(
  records: Records,
  { from, to, requests, unpriced_requests, old_usd, new_usd }: Recalculation,
  { account, model, requests: which }: z.output<typeof body>,
  operator: Operator,
): Promise<void> {
  if (requests === 0) return;
  const span = { from, to, ...definedMembers({ account, model }), requests: which };
  await records.apply([], {
    actor: operator.name,
    action: 'usage.recalculate',
    subject: account ?? model ?? 'usage',
    before: { ...span, cost_usd: old_usd, unpriced_requests },
    after: { ...span, cost_usd: new_usd, changed: requests },
  });
}

/** The price of a target today: where it answers for the model, else where it answers for any. */
function pricesOf({ models }: Snapshot): (model: string, target: string) => Priced {
  const byModel = new Map<string, Priced>();
  for (const { id, candidates, variants } of models.all()) {
    const all = [...(variants?.all ?? []).flatMap(({ alias }) => alias.candidates), ...candidates];
    for (const { target } of all) byModel.set(`${id} ${target.id}`, target.price);
  }
  const anywhere = new Map(models.targets().map(({ id, price }) => [id, price]));
  return (model, target) => byModel.get(`${model} ${target}`) ?? anywhere.get(target) ?? null;
}

const nanoPerUsd = 1e9;
const nanoOf = (usd: number | null) => Math.round((usd ?? 0) * nanoPerUsd);

/** Adds up in whole nano-USD, as the ledger does. */
function createSums() {
  const none = () => ({ requests: 0, unpriced: 0, oldNano: 0, newNano: 0 });
  const all = none();
  const byTarget = new Map<string, { model: string; target: string; sums: ReturnType<typeof none> }>();
  const unchanged = { 'no price': 0, unclear: 0, 'the same': 0 };

  function add({ before, after }: Repriced, sums: ReturnType<typeof none>): void {
    sums.requests += 1;
    if (before.costUsd === null) sums.unpriced += 1;
    sums.oldNano += nanoOf(before.costUsd);
    sums.newNano += nanoOf(after.costUsd);
  }

  function shown({ requests, unpriced, oldNano, newNano }: ReturnType<typeof none>): Sums {
    return { requests, unpriced_requests: unpriced, old_usd: oldNano / nanoPerUsd, new_usd: newNano / nanoPerUsd };
  }

  return {
    add(changes: readonly Repriced[]): void {
      for (const change of changes) {
        const { alias: model, target } = change.before;
        const row = byTarget.get(`${model} ${target}`) ?? { model, target: target ?? '', sums: none() };
        byTarget.set(`${model} ${target}`, row);
        add(change, row.sums);
        add(change, all);
      }
    },
    left(why: keyof typeof unchanged): void {
      unchanged[why] += 1;
    },
    shown: () => ({
      ...shown(all),
      still_unpriced: unchanged['no price'],
      unclear: unchanged.unclear,
      targets: [...byTarget.values()]
        .toSorted((a, b) => b.sums.requests - a.sums.requests)
        .slice(0, targetsMax)
        .map(({ model, target, sums }) => ({ model, target, ...shown(sums) })),
    }),
  };
}
