import { z } from 'zod';
import { serverPrincipal } from '../../books/auth/principal.ts';
import type { UsageEvent } from '../../books/metering/ledger.ts';
import { someText } from '../../config/scalars.ts';
import type { CompareAnswers, Compared } from '../../inference/endpoints/compare-answers.ts';
import { invalid, isFailure } from '../../kernel/failure.ts';
import type { Records } from '../directory.ts';
import { timeField } from '../fields.ts';
import { jsonOperation, type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { classifyOf, type ObservedRequest, observedPages, spanFields } from './observed-requests.ts';

/** One call begins pages for so long, and each page is finished; the next call goes on from there. */
const stepMs = 20_000;
const atOnce = 4;
const pageMax = 8;
/** Requests without bodies that a call passes over. */
const examinedMax = 5_000;

const verdictFields = {
  compared: z.int().describe('Kept requests about which a judge decided.'),
  better: z.int().describe("The other model's answer is better than the one that the caller got."),
  equal: z.int(),
  worse: z.int(),
};

const agreementReply = z.object({
  object: z.literal('agreement'),
  rule: z.string(),
  judge: z.string(),
  from: timeField,
  to: timeField,
  ...verdictFields,
  agreement: z
    .number()
    .nullable()
    .describe('Share of compared ones that are equal or better; null: none was compared.'),
  unclear: z.int().describe('Requests about which the judge did not decide.'),
  failed: z.int().describe('Requests that the other model did not answer.'),
  not_kept: z.int().describe('Observed requests that another model would have answered, without a whole body here.'),
  not_allowed: z.int().describe('Requests of callers with data rules, or who are gone.'),
  classes: z
    .array(z.object({ model: z.string(), ...verdictFields }))
    .describe('By the model that would have answered.'),
  requests: z.array(z.object({ request: z.string(), model: z.string(), verdict: z.string() })),
  next_cursor: z.string().nullable().describe('Repeat the call with it to go on; null: all of the span was seen.'),
});

export type AgreementReply = z.output<typeof agreementReply>;

const bodySchema = z.strictObject({
  ...spanFields,
  judge: someText(256).describe('The model that compares two answers.'),
  limit: z.int().min(1).max(50).default(10).describe('Most requests that are asked again. Each costs three calls.'),
});

/** `/routes/{name}/agreement`: kept requests are asked again as the rule would have it, and a judge compares. */
export function agreementOperations(parts: AdminParts, records: Records): Operation[] {
  return [
    jsonOperation({
      route: 'POST /routes/{name}/agreement',
      // Its calls are on the server's account: operators of some accounts begin none.
      area: 'models',
      summary:
        'Asks kept requests that a rule observed again at the model of their class, and a judge which answer is better. The operator pays, and the ledger has the calls under the account (server).',
      body: bodySchema,
      reply: agreementReply,
      async run({ params: { name }, body, operator }) {
        const classify = classifyOf(parts, name);
        const { compareAnswers, snapshots } = parts;
        if (compareAnswers === undefined)
          return refuse(invalid(null, 'A comparison needs a running server, and none runs.'));
        const { judge, limit, account, cursor, ...span } = body;
        const found = snapshots.current.models.resolve(judge, serverPrincipal);
        if (isFailure(found)) return refuse(found);
        const tally = createTally();
        const { fromMs, toMs, pages } = observedPages(parts, {
          rule: name,
          classify,
          operator,
          span,
          account,
          cursor,
          // No page has more than may still be asked.
          pageSize: () => Math.max(1, Math.min(pageMax, limit - tally.asked())),
        });
        const next = await compareAll(parts, { pages, tally, limit, judge, compare: await compareAnswers() });
        const reply: AgreementReply = {
          object: 'agreement',
          rule: name,
          judge,
          from: new Date(fromMs).toISOString(),
          to: new Date(toMs).toISOString(),
          ...tally.shown(),
          next_cursor: next,
        };
        await records.apply([], {
          actor: operator.name,
          action: 'route.compare',
          subject: name,
          before: null,
          after: { judge, compared: reply.compared, agreement: reply.agreement },
        });
        return reply;
      },
    }),
  ];
}

interface Work {
  pages: ReturnType<typeof observedPages>['pages'];
  tally: ReturnType<typeof createTally>;
  limit: number;
  judge: string;
  compare: CompareAnswers;
}

/** Compares page by page; resolves to the place at which the next call goes on. */
async function compareAll(parts: AdminParts, { pages, tally, limit, judge, compare }: Work): Promise<string | null> {
  const untilMs = parts.clock.monotonicMs() + stepMs;
  let examined = 0;
  for await (const page of pages) {
    const moved = page.requests.filter(({ event, would }) => event.class === 'ok' && would !== event.alias);
    for (let at = 0; at < moved.length; at += atOnce) await Promise.all(moved.slice(at, at + atOnce).map(compareOne));
    examined += page.examined;
    const isOver = tally.asked() >= limit || examined >= examinedMax || parts.clock.monotonicMs() >= untilMs;
    if (page.next === null || isOver) return page.next;
  }
  return null;

  async function compareOne(request: ObservedRequest): Promise<void> {
    const stored = await storedBodies(parts, request.event);
    tally.add(request, stored === null ? 'not_kept' : await compare(stored, { model: request.would, judge }));
  }
}

async function storedBodies({ bodyKeeper, bodies }: AdminParts, { requestId, keyId }: UsageEvent) {
  const found = (await bodyKeeper?.find(requestId)) ?? (await bodies([requestId])).get(requestId);
  return found == null ? null : { keyId, path: found.path, request: found.request, answer: found.answer };
}

function createTally() {
  const none = () => ({ compared: 0, better: 0, equal: 0, worse: 0 });
  const all = none();
  const left = { unclear: 0, failed: 0, not_kept: 0, not_allowed: 0 };
  const byModel = new Map<string, ReturnType<typeof none>>();
  const requests: AgreementReply['requests'] = [];

  return {
    /** Requests that cost something, or could have. */
    asked: () => requests.length,
    add({ event, would }: ObservedRequest, verdict: Compared): void {
      if (verdict === 'not_kept' || verdict === 'not_allowed') {
        left[verdict] += 1;
        return;
      }
      requests.push({ request: event.requestId, model: would, verdict });
      if (verdict === 'unclear' || verdict === 'failed') {
        left[verdict] += 1;
        return;
      }
      const row = byModel.get(would) ?? none();
      byModel.set(would, row);
      for (const sums of [all, row]) {
        sums.compared += 1;
        sums[verdict] += 1;
      }
    },
    shown: () => ({
      ...all,
      agreement: all.compared === 0 ? null : (all.equal + all.better) / all.compared,
      ...left,
      classes: [...byModel].map(([model, row]) => ({ model, ...row })),
      requests,
    }),
  };
}
