import { z } from 'zod';
import type { Operator } from '../books/auth/operator.ts';
import { guardNames } from '../config/guard-names.ts';
import { someText } from '../config/scalars.ts';
import { guardSchema } from '../config/schema/schema-guards.ts';
import type { GuardConfig } from '../config/schema.ts';
import { type Texts, textsIn } from '../formats/neutral/json-texts.ts';
import { triedVerdicts } from '../guards/kinds.ts';
import { isRight, scoreOf, type TriedText, wrongKinds } from '../guards/score.ts';
import type { Tried } from '../inference/guards/try-guards.ts';
import { culvert } from '../kernel/command-form.ts';
import { isFailure } from '../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import { parseObject } from '../kernel/parse-object.ts';
import type { Records } from './directory.ts';
import { refuseUnknownGuards } from './entries/unknown-guards.ts';
import { noQuery, pastInstant } from './fields.ts';
import type { Operation } from './operation.ts';
import type { AdminParts } from './parts.ts';

/** Cases of one call, and the newest requests that it looks at. */
const casesMax = 1_000;

const verdict = z.enum(triedVerdicts);
const requestBody = z
  .record(z.string(), z.json())
  .describe('A body of chat completions, messages, responses or Gemini. Its system prompt, tools and all else count.');
const share = z.number().nullable();

const testCase = z
  .strictObject({
    text: z.string().max(1_000_000).optional(),
    request: requestBody.optional(),
    answer: z.string().max(1_000_000).optional().describe('The text of a model.'),
    expect: z
      .union([verdict, z.array(someText(64)).max(100)], {
        error: 'expected a list of kinds such as ["email"], or a verdict such as "masked"',
      })
      .optional()
      .describe('Kinds that it holds, each once, or the verdict. [] for nothing. Omitted: it is not judged.'),
  })
  .refine(({ text, request, answer }) => [text, request, answer].filter((one) => one !== undefined).length === 1, {
    error: 'expected one of text, request and answer',
  });

const bodySchema = z
  .strictObject({
    guards: guardNames().describe('Guards to try. Default: all, or the draft alone.'),
    draft: guardSchema.optional().describe('A guard as in culvert.yaml that is not stored. Its name is `draft`.'),
    texts: z.array(z.string().max(1_000_000)).max(casesMax).optional().describe('Cases without an expectation.'),
    requests: z.array(requestBody).max(casesMax).optional().describe('The same, as bodies of requests.'),
    answers: z.array(z.string().max(1_000_000)).max(casesMax).optional().describe('The same, as texts of a model.'),
    cases: z.array(testCase).max(casesMax).optional(),
    from: pastInstant(
      'Tries the kept bodies of requests since then, the newest 1,000: those that rules keep, and those of keys that telemetry.log.bodies names, in the memory of the server.',
    ).optional(),
  })
  .refine(({ texts, requests, answers, cases, from }) => [texts, requests, answers, cases, from].some(Boolean), {
    error: 'expected texts, requests, answers, cases or from',
  });
type TestBody = z.output<typeof bodySchema>;

const replySchema = z.object({
  not_tried: z
    .array(z.string())
    .describe(
      'Guards that ask a service outside, which a trial does not, or that read answers alone where there is none.',
    ),
  results: z
    .array(
      z.object({
        request_id: z.string().nullable().describe('The kept request; null for a case of the body.'),
        verdict: verdict.describe('What the guards would do together.'),
        found: z.array(z.string()).describe('Kinds that were found, in alphabetical order.'),
        guards: z.array(
          z.object({
            name: z.string(),
            verdict,
            findings: z.record(z.string(), z.int()).describe('Number of findings by kind.'),
          }),
        ),
        unscanned: z.int().describe('Parts that guards cannot read, such as pictures.'),
        right: z.boolean().nullable().describe('Whether it is as expected; null: nothing was expected.'),
        missed: z.array(z.string()).describe('Expected kinds that were not found.'),
        extra: z.array(z.string()).describe('Kinds that were found and not expected.'),
        masked: z
          .string()
          .nullable()
          .describe('The text as it would go on. null: it is blocked or unchanged, or a request was tried.'),
      }),
    )
    .describe(
      'In the order of texts, requests, answers, cases and kept requests, newest first. They hold no text but `masked`.',
    ),
  score: z.object({
    texts: z.int(),
    judged: z.int().describe('Those with an expectation.'),
    right: z.int().describe('Those that are as expected.'),
    precision: share.describe('Share of what was found that was expected; null: nothing was found.'),
    recall: share.describe('Share of what was expected that was found; null: nothing was expected.'),
    kinds: z.array(
      z.object({
        kind: z.string(),
        expected: z.int(),
        found: z.int(),
        right: z.int(),
        precision: share,
        recall: share,
      }),
    ),
    verdicts: z.record(z.string(), z.int()).describe('Number of texts by verdict.'),
  }),
  kept: z
    .object({
      requests: z.int().describe('Requests since `from` that were looked at.'),
      tried: z.int().describe('Those whose bodies are kept and whole.'),
      note: z.string().nullable().describe('Why others were not tried.'),
    })
    .nullable()
    .describe('Null without `from`.'),
});

/** For pages that show it. */
export type GuardTestReply = z.output<typeof replySchema>;

interface Case {
  of: 'request' | 'answer';
  requestId: string | null;
  texts: Texts;
  expected: TriedText['expected'];
}

/** `/guards/test`: what guards would do with texts and requests, and how often they are right. */
export function guardTestOperations(parts: AdminParts, records: Records): Operation[] {
  return [
    {
      method: 'POST',
      path: '/guards/test',
      area: 'requests',
      access: 'read',
      summary:
        'Tries guards on texts and requests, and returns verdicts, precision and recall. Nothing is sent or changed. A guard that observes is tried as if it enforced.',
      query: noQuery,
      body: bodySchema,
      reply: { kind: 'json', status: 200, schema: replySchema },
      async run({ body, operator }) {
        const request = body as TestBody;
        refuseUnknownGuards(request, await records.current(operator.accounts));
        const { guardTrial } = await import('../inference/guards/try-guards.ts');
        const trial = await guardTrial(guardsOf(parts, request));
        const sinceMs = request.from?.(parts.clock.wallMs());
        const all: (Pick<Case, 'requestId' | 'expected'> & Tried)[] = [];
        const take = async ({ texts, of, ...each }: Case) => void all.push({ ...each, ...(await trial.on(texts, of)) });
        let stored: Awaited<ReturnType<typeof takeStored>> | null = null;
        try {
          for (const each of casesOf(request)) await take(each);
          if (sinceMs !== undefined) stored = await takeStored(parts, operator, sinceMs, take);
        } finally {
          await trial.close();
        }
        return {
          not_tried: trial.notTried(),
          results: all.map(({ requestId, expected, ...tried }) => ({
            request_id: requestId,
            ...tried,
            ...judged({ expected, ...tried }),
          })),
          score: scoreOf(all),
          kept: stored,
        };
      },
    },
  ];
}

function guardsOf({ snapshots }: AdminParts, { guards, draft }: TestBody): Record<string, GuardConfig> {
  const all = snapshots.current.config.guards;
  const names = guards ?? (draft === undefined ? Object.keys(all) : []);
  const named = Object.entries(all).filter(([name]) => names.includes(name));
  return { ...Object.fromEntries(named), ...(draft !== undefined && { draft }) };
}

function casesOf({ texts = [], requests = [], answers = [], cases = [] }: TestBody): Case[] {
  const all: z.output<typeof testCase>[] = [
    ...texts.map((text) => ({ text })),
    ...requests.map((request) => ({ request })),
    ...answers.map((answer) => ({ answer })),
    ...cases,
  ];
  return all.map(({ text, request, answer, expect = null }) => ({
    requestId: null,
    of: answer === undefined ? 'request' : 'answer',
    texts: request === undefined ? textAlone(text, answer) : textsIn(request as JsonValue),
    expected: expect,
  }));
}

function textAlone(text: string | undefined, answer = ''): Texts {
  const part = text === undefined ? { kind: 'assistant' as const, text: answer } : { kind: 'user' as const, text };
  return { parts: [{ path: [], ...part }], unread: [] };
}

function judged(tried: TriedText) {
  return { right: isRight(tried), ...(wrongKinds(tried) ?? { missed: [], extra: [] }) };
}

/** Gives `take` the bodies that are kept of requests since then that the operator may see, one after another. */
async function takeStored(
  { ledger, bodies, bodyKeeper }: AdminParts,
  { accounts }: Operator,
  sinceMs: number,
  take: (each: Case) => Promise<void>,
) {
  const query = { accounts, where: {}, sinceMs, untilMs: null, after: null, cursor: null, limit: casesMax };
  const { events, next } = await ledger.list(query);
  const logged = await bodies(events.map(({ requestId }) => requestId));
  let tried = 0;
  for (const { requestId } of events) {
    const body = wholeBody((logged.get(requestId) ?? (await bodyKeeper?.find(requestId)))?.request);
    if (body === null) continue;
    await take({ requestId, of: 'request', texts: textsIn(body), expected: null });
    tried += 1;
  }
  const notes = [
    ...(tried < events.length ? [othersMissing] : []),
    ...(tried > 0 ? ['Kept bodies have no credentials any more, so secrets are missing from them.'] : []),
    ...(next === null ? [] : [`There are more requests than the newest ${casesMax}.`]),
  ];
  return { requests: events.length, tried, note: notes.length === 0 ? null : notes.join(' ') };
}

const othersMissing = `Others have no whole body here: no rule (${culvert} bodies keep) and no telemetry.log.bodies names them, they are older or longer than what is kept, another replica served them, or a guard changed them.`;

function wholeBody(text: string | undefined): JsonObject | null {
  const parsed = text?.startsWith('{') === true ? parseObject(Buffer.from(text)) : null;
  return parsed === null || isFailure(parsed) ? null : parsed.body;
}
