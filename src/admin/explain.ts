import { z } from 'zod';
import { type Principal, unrestricted } from '../books/auth/principal.ts';
import { limitsLeft } from '../books/metering/limits/limits-left.ts';
import { aliasFor } from '../config/alias-pattern.ts';
import { isBinding } from '../config/data-rules.ts';
import { someText } from '../config/scalars.ts';
import { dataRuleSchema } from '../config/schema/schema-data.ts';
import { cleanTag } from '../formats/neutral/tag.ts';
import { explainChat } from '../inference/families/chat/explain-chat.ts';
import { explainEmbeddings } from '../inference/families/embeddings/explain-embeddings.ts';
import type { ExplainedRequest, Question } from '../inference/spine/explained.ts';
import { factsOf } from '../kernel/failure-facts.ts';
import { defaultPreferences } from '../routing/route.ts';
import { partWithin } from './account-scope.ts';
import type { Directory, Records } from './directory.ts';
import { jsonOperation, type Operation, refuse } from './operation.ts';
import type { AdminParts } from './parts.ts';

const dialectOfEndpoint = {
  chat: 'openai-chat',
  messages: 'anthropic-messages',
  responses: 'openai-responses',
} as const;

const explainReply = z.object({
  sent: z.boolean().describe('Whether the request would be sent to a provider.'),
  error: z
    .object({ message: z.string(), type: z.string(), code: z.int(), param: z.string().nullable() })
    .nullable()
    .describe('The error that the caller would get before any target is considered.'),
  model: z.string().nullable(),
  rules: z
    .object({
      applied: z.array(z.string()).describe('Names of the rules that apply.'),
      passed: z
        .array(z.object({ rule: z.string(), because: z.string() }))
        .describe(
          'Rules before the last of them that do not, each with the first part of its condition that is not true.',
        ),
      passed_more: z.int().optional().describe('Number of further ones, which are not in `passed`.'),
    })
    .nullable()
    .describe('What rules for routes do with the request. Null: there are none.'),
  barred: z
    .array(z.object({ target: z.string(), verdict: z.string() }))
    .describe('Targets of the model that may not answer this caller or this request.'),
  variant: z.string().nullable().describe('The variant of this caller; null: the model has none.'),
  endpoint: z.string(),
  stream: z.boolean(),
  cost: z.number().describe('Units.'),
  attempts_max: z.int(),
  hedged_when: z.array(z.string()).describe('When another target would also be asked while the first one runs.'),
  input_tokens_estimate: z.int(),
  upstream_requests: z.int(),
  candidates: z
    .array(
      z.object({
        target: z.string(),
        rank: z.int().describe('0: its own; 1…: of its fallbacks.'),
        priority: z.int(),
        weight: z.number(),
        verdict: z.string().describe('Why the target would be asked, and when; or why it would not be asked.'),
        simulated: z.boolean(),
        sent: z
          .object({
            answer: z.enum(['pass-through', 'converted']),
            dialect: z.string(),
            calls: z.int(),
            bytes: z.int(),
            dropped: z.string().nullable().describe('Fields that would be left out or changed.'),
          })
          .nullable(),
        why: z.string().nullable().describe('Why nothing can be sent there.'),
      }),
    )
    .describe('Targets in the order in which they would be asked. Those that cannot be asked come last.'),
  cache: z
    .object({
      outcome: z.enum(['hit', 'miss', 'bypass']).describe('bypass: the request goes around the cache.'),
      age_s: z.int().nullable().describe('Seconds since the kept answer came.'),
      differs: z
        .array(z.string())
        .nullable()
        .describe('Fields in which the nearest kept request differs, as this process remembers.'),
    })
    .nullable()
    .describe("What the model's cache would do. Null: it has none."),
  unmet: z.array(z.string()).describe('What no target can do, if that is why nothing would be sent.'),
});

export type Explained = z.output<typeof explainReply>;

/** `/explain`: `culvert explain` with the breakers and cooldowns of the server that answers. */
export function explainOperations(parts: AdminParts, records: Records): Operation[] {
  return [
    jsonOperation({
      route: 'POST /explain',
      area: 'models',
      access: 'read',
      summary: 'Explains where a request would go right now, and why. It sends nothing and charges nothing.',
      body: z.strictObject({
        endpoint: z.enum(['chat', 'messages', 'responses', 'embeddings']).default('chat'),
        key: someText(256).optional().describe('Id of the key to ask as. Default: a caller who may use everything.'),
        headers: z
          .record(z.string().max(256), z.string().max(8_192))
          .default({})
          .describe('Headers of the caller that rules for routes look at.'),
        body: z.record(z.string(), z.unknown()).describe('The body that the caller would send.'),
      }),
      reply: explainReply,
      async run({ body: { endpoint, key, headers, body }, operator }) {
        const principal = principalOf(await records.current(operator.accounts), key);
        const question = {
          snapshot: parts.snapshots.current,
          principal,
          raw: Buffer.from(JSON.stringify(body)),
          preferences: defaultPreferences,
          health: parts.health,
          nowMs: parts.clock.monotonicMs(),
          ruled: ruledAs(parts, headers),
        } as const;
        const explained =
          endpoint === 'embeddings'
            ? await explainEmbeddings(question)
            : await explainChat(parts.planning, { ...question, endpoint, dialect: dialectOfEndpoint[endpoint] });
        if (explained.kind !== 'explained') {
          const { status, type, message, param } = factsOf(explained, parts.clock.wallMs());
          const { model = null } = 'model' in explained ? explained : {};
          const hit = status === 404 && model !== null ? aliasFor(question.snapshot.config.models, model) : null;
          const isOfOthers = hit?.model.only !== undefined;
          const why = isOfOthers ? ` It exists for other accounts: see models.${hit?.alias}.only.` : '';
          return { ...nothing, endpoint, error: { message: message + why, type, code: status, param } };
        }
        const { candidates, unmet, cache } = explained;
        return {
          sent: unmet.length === 0 && candidates.some(({ sent }) => sent !== null),
          error: null,
          model: explained.alias,
          ...partWithin(ruledOf(explained), operator.accounts),
          variant: explained.variant ?? null,
          endpoint,
          stream: explained.stream,
          cost: explained.cost,
          attempts_max: explained.attemptsMax,
          hedged_when: [...explained.hedgedWhen],
          input_tokens_estimate: explained.inputTokensEstimate,
          upstream_requests: explained.upstreamRequests,
          candidates: [...candidates],
          cache:
            cache === null
              ? null
              : { outcome: cache.outcome, age_s: cache.ageS, differs: cache.differs && [...cache.differs] },
          unmet: [...unmet],
        };
      },
    }),
  ];
}

function ruledOf({ rules, barred }: ExplainedRequest) {
  if (rules === undefined) return { rules: null, barred: [...barred] };
  const { applied, passed, passedMore: passed_more } = rules;
  const more = passed_more !== undefined && { passed_more };
  return { rules: { applied: [...applied], passed: [...passed], ...more }, barred: [...barred] };
}

const nothing = {
  sent: false,
  model: null,
  rules: null,
  barred: [],
  variant: null,
  stream: false,
  cost: 0,
  attempts_max: 0,
  hedged_when: [],
  input_tokens_estimate: 0,
  upstream_requests: 0,
  candidates: [],
  cache: null,
  unmet: [],
};

function ruledAs(
  { plans, counters, clock }: AdminParts,
  headers: Readonly<Record<string, string>>,
): NonNullable<Question['ruled']> {
  const callerHeaders = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const { 'x-culvert-tag': tag } = callerHeaders;
  return {
    tag: cleanTag(tag),
    callerHeaders,
    atMs: clock.wallMs(),
    left: counters === null ? null : (principal, within) => limitsLeft(counters, plans(), principal, within),
  };
}

function principalOf(directory: Directory, id: string | undefined): Principal {
  if (id === undefined) return unrestricted(directory.config.default_plan);
  const key = directory.key(id);
  if (key === null || key.revokedMs !== null)
    return refuse({ kind: 'not-found', message: `There is no active key '${id.slice(0, 64)}'.` });
  const data = directory.account(key.account)?.data;
  const keyRule = dataRuleSchema.parse(key.limits?.data ?? undefined);
  return {
    keyId: key.id,
    keyName: key.name,
    tenant: key.tenant,
    account: key.account,
    plan: directory.account(key.account)?.plan ?? directory.config.default_plan,
    allowedModels: key.models,
    ...(isBinding(data) && { data }),
    // They decide whether it may ask, not where it goes.
    limits: keyRule === undefined ? null : { data: keyRule },
    guards: key.guards,
  };
}
