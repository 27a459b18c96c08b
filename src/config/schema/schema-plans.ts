import { z } from 'zod';
import { guardNames } from '../guard-names.ts';
import {
  costUnitsMax,
  globs,
  httpUrl,
  milliMultiple,
  name,
  orOff,
  parseInstantMs,
  positiveInt,
  size,
  timeZone,
  webhookSecret,
  webhookUrl,
} from '../scalars.ts';
import { dataRuleSchema } from './schema-data.ts';

/**
 * The bounds keep every amount a whole number of milli-units, tokens or nano-USD that JavaScript and Lua hold exactly,
 * with room for requests that run above a limit.
 */
const unitsMax = 1_000_000_000_000;
const tokensMax = 1_000_000_000_000;
export const budgetUsdMax = 5_000_000;
/** Parts of a request to which an account may give budgets. */
const amounts = {
  units: () => orOff(milliMultiple(z.number().min(0).max(unitsMax)), 'a number'),
  tokens: () => orOff(z.int().min(0).max(tokensMax), 'a whole number'),
  usd: () => orOff(z.number().min(0).max(budgetUsdMax), 'a number'),
};

const windows = (measure: keyof typeof amounts, what: string, omitted: string) => {
  const amount = (span: string) => amounts[measure]().optional().describe(`${what} in any ${span}. ${omitted}`);
  return { '5h': amount('5 hours'), week: amount('7 days'), month: amount('30 days') };
};

type WindowAmounts = Partial<Record<'5h' | 'week' | 'month', number | 'off' | undefined>>;

/** Refuses a shorter window that allows more than a longer one: it could never be used. */
function inOrder<T extends z.ZodType<WindowAmounts>>(schema: T): T {
  return schema.superRefine((value, context) => {
    for (const { shorter, longer } of windowPairs) {
      const [short, long] = [value[shorter], value[longer]];
      if (typeof short === 'number' && typeof long === 'number' && short > long) {
        context.addIssue({ code: 'custom', path: [shorter], message: contradiction(longer) });
      }
    }
  });
}

export const windowPairs = [
  { shorter: '5h', longer: 'week' },
  { shorter: '5h', longer: 'month' },
  { shorter: 'week', longer: 'month' },
] as const;

export function contradiction(longer: string): string {
  return `is more than ${longer} allows: a shorter window cannot allow more than a longer one`;
}

const unlimited = 'Omitted or off: unlimited.';

const perMinute = (what: string) => orOff(positiveInt(), 'a whole number of at least 1').describe(what);

const tierLimit = (omitted: string) =>
  orOff(
    inOrder(
      z.strictObject({
        rpm: perMinute(`Requests in any 60 seconds. ${omitted}`).optional(),
        ...windows('units', 'Units', omitted),
      }),
    ),
    'an object with rpm, 5h, week, month',
  );

const inCalendar = (period: string) => amounts.usd().optional().describe(`USD in a calendar ${period}. ${unlimited}`);

const calendarBudget = z
  .strictObject({
    time_zone: timeZone().default('UTC').describe('Where days, weeks and months begin, such as Europe/Berlin.'),
    day: inCalendar('day'),
    week: inCalendar('week, which begins on Monday'),
    month: inCalendar('month'),
  })
  .superRefine((value, context) => {
    for (const [shorter, longer] of [
      ['day', 'week'],
      ['day', 'month'],
      ['week', 'month'],
    ] as const) {
      const [short, long] = [value[shorter], value[longer]];
      if (typeof short === 'number' && typeof long === 'number' && short > long) {
        context.addIssue({ code: 'custom', path: [shorter], message: contradiction(longer) });
      }
    }
  });

const spent = {
  tokens: orOff(inOrder(z.strictObject(windows('tokens', 'Tokens', unlimited))), 'an object with 5h, week, month')
    .optional()
    .describe('Tokens in rolling windows.'),
  budget: orOff(inOrder(z.strictObject(windows('usd', 'USD', unlimited))), 'an object with 5h, week, month')
    .optional()
    .describe('USD in rolling windows.'),
  calendar_budget: orOff(calendarBudget, 'an object with time_zone, day, week, month')
    .optional()
    .describe('USD by day, week and month of the calendar, in a time zone.'),
};

const softLimits = z
  .strictObject(spent)
  .describe(
    'Amounts that warn. A request beyond one passes, with the header x-culvert-soft-limit, and the webhook of the plan gets a notice.',
  );

export const planSchema = z.strictObject({
  windows: orOff(inOrder(z.strictObject(windows('units', 'Units', unlimited))), 'an object with 5h, week, month')
    .optional()
    .describe('Units (a request is one) in rolling windows. Omitted or off: unlimited.'),
  rpm: perMinute('Requests in any 60 seconds. Omitted: 60; only off disables it.').default(60),
  tpm: perMinute('Tokens in any 60 seconds. Omitted or off: unlimited.').optional(),
  concurrency: perMinute('Concurrent requests. Omitted or off: unlimited.').optional(),
  models: orOff(globs().min(1, 'expected at least one model; off allows all'), 'a list of model names')
    .optional()
    .describe('Models it may use; * matches any characters. Omitted or off: all.'),
  mcp: orOff(globs(), 'a list of names of MCP servers or tools')
    .optional()
    .describe(
      'MCP servers (`NAME`) and their tools and prompts (`NAME__TOOL`) it may use; * matches any characters. Omitted or off: all.',
    ),
  agents: orOff(globs(), 'a list of names of agents')
    .optional()
    .describe('Agents it may call; * matches any characters. Omitted or off: all.'),
  data: dataRuleSchema,
  guards: guardNames().describe('Guards of the requests of its accounts, and of their answers.'),
  tier_limits: orOff(
    z.record(name('a tier'), tierLimit("Omitted: the tier's own; off: none.")),
    'an object of limits by tier',
  )
    .optional()
    .describe('Limits by tier. An omitted tier has the limits of tiers; only off disables them.'),
  ...spent,
  soft: softLimits.optional(),
  storage: orOff(z.union([positiveInt(Number.MAX_SAFE_INTEGER), size()]), 'a size such as 10gb')
    .prefault('10gb')
    .describe(
      'Bytes that an account may keep here: vectors, pages, crawls, pictures, kept replies and uploads together. Omitted: 10gb; only off disables it.',
    ),
  scope: z.enum(['account', 'key']).default('account').describe('Whether all keys of an account share these limits.'),
  abandoned: z
    .enum(['free', 'tokens', 'full'])
    .optional()
    .describe(
      'What a caller pays who leaves before the first content of an answer that a provider was asked for: nothing; the input tokens; units and tokens as for an answer. Omitted: tokens.',
    ),
  notify: z
    .strictObject({
      at: z
        .array(z.number().gt(0).max(1))
        .min(1)
        .max(20)
        .refine((shares) => new Set(shares).size === shares.length, 'holds a share twice')
        .default([0.8, 0.95, 1])
        .describe('Shares of a window at which a notice is sent.'),
      webhook: webhookUrl().describe('Where notices are posted.'),
      secret: webhookSecret().describe(
        'Signs the notices (Standard Webhooks), ≥ 32 bytes; `whsec_` and base64 is decoded.',
      ),
    })
    .optional()
    .describe('Signed notices when a window fills up.'),
});

/** USD that an account or a key may spend in addition to its budgets. */
/** Amounts that are allowed in addition for a while. */
export function extraBudget<Until extends z.ZodType>(until: Until) {
  const more = (what: string) => positiveInt().optional().describe(`${what} that it may use more, in each window.`);
  return z
    .strictObject({
      usd: z.number().gt(0).max(budgetUsdMax).optional().describe('USD that it may spend more.'),
      tokens: more('Tokens'),
      requests: more('Requests'),
      until,
    })
    .refine(({ usd, tokens, requests }) => (usd ?? tokens ?? requests) !== undefined, {
      path: ['usd'],
      error: 'expected usd, tokens or requests',
    });
}

/** A key's own limits in addition to its plan's (admin API): each counts for this key alone, omitted ones do not exist. */
export const keyLimitsSchema = z
  .strictObject({
    ...planSchema.pick({
      windows: true,
      tpm: true,
      concurrency: true,
      tokens: true,
      budget: true,
      calendar_budget: true,
      soft: true,
    }).shape,
    rpm: perMinute('Requests in any 60 seconds.').optional(),
    extra_budget: extraBudget(
      z
        .string()
        .refine(
          (text) => parseInstantMs(text) !== undefined,
          'expected a date such as 2027-01-01 or a time such as 2027-01-01T12:00:00Z',
        )
        .describe('A date (its first instant, UTC) or a time.'),
    )
      .optional()
      .describe('Adds amounts to each limit of the key of that kind until then.'),
    mcp: globs()
      .optional()
      .describe(
        'MCP servers (`NAME`) and their tools and prompts (`NAME__TOOL`) it may use. Default: all of the plan.',
      ),
    agents: globs().optional().describe('Agents it may call. Default: all of the plan.'),
    data: dataRuleSchema,
  })
  .describe("Tighter limits of one key, in addition to its plan's.");

type PlanWritten = z.output<typeof planSchema>;

/** The plan `default` while nobody has written any plan: trying Culvert out meets no limit. */
const planBeforeAny: PlanWritten = { rpm: 'off', storage: 'off', scope: 'account' };

/** The plan `default` in addition to written plans, while it is not among them. */
const planBesideOthers: PlanWritten = {
  windows: { '5h': 1_000, week: 10_000, month: 40_000 },
  rpm: 60,
  storage: 10 * 1024 ** 3,
  scope: 'account',
};

/** Whether a plan is the `default` that exists without being written. */
export function isBuiltInPlan(plan: unknown): boolean {
  return plan === planBeforeAny || plan === planBesideOthers;
}

/** The plans of the file in addition to `others` of the store: limits begin with the first plan, wherever it is. */
export function filePlans(
  plans: Readonly<Record<string, PlanWritten>>,
  others: number,
): Readonly<Record<string, PlanWritten>> {
  return plans.default === planBeforeAny && others > 0 ? { default: planBesideOthers } : plans;
}

/** Written plans and, where none is called so, the `default` that exists without being written. */
export function withBuiltInPlan(plans: Readonly<Record<string, PlanWritten>>): Record<string, PlanWritten> {
  return { default: Object.keys(plans).length === 0 ? planBeforeAny : planBesideOthers, ...plans };
}

/** Plans of a configuration as they were written: the other way of `withBuiltInPlan`, for another process. */
export function writtenPlans(plans: Readonly<Record<string, PlanWritten>>): Record<string, PlanWritten> {
  return Object.fromEntries(Object.entries(plans).filter(([, plan]) => !isBuiltInPlan(plan)));
}

export const plansSchema = z
  .record(name("a plan's name"), planSchema)
  .default({})
  // `default` always exists, so that no account is ever without a plan.
  .transform(withBuiltInPlan)
  .describe(
    'Limits by name. The plan `default` always exists: without limits as long as no plan is written, else with 60 requests a minute, 1,000 units in 5 hours, 10,000 in 7 days, 40,000 in 30 days.',
  );

export const tiersSchema = z
  .record(name('a tier'), tierLimit(unlimited))
  .default({})
  .describe('Limits of groups of models, for every plan that does not set its own.');

const cost = (units: number, what: string) =>
  milliMultiple(z.number().min(0).max(costUnitsMax)).default(units).describe(`Units ${what} costs.`);

export const costsSchema = z
  .strictObject({
    chat: cost(1, 'a chat completion'),
    messages: cost(1, 'a call of /v1/messages'),
    responses: cost(1, 'a call of /v1/responses'),
    embeddings: cost(1, 'an embedding call'),
    speech: cost(1, 'a speech call'),
    transcription: cost(1, 'a transcription'),
    realtime: cost(1, 'a response in a realtime session'),
    image: cost(1, 'an image'),
    video: cost(1, 'a second of video'),
    vectors: cost(0.05, 'a vector call'),
    search: cost(1, 'a web search'),
    scrape: cost(1, 'a scraped page'),
    crawl_page: cost(1, 'a crawled page'),
    mcp: cost(1, 'a call of an MCP server'),
    a2a: cost(1, 'a message to an agent'),
    cached: cost(0, "an answer from a model's cache"),
  })
  .describe('A call costs so many units of quota, by its kind.');

export const limitsSchema = z
  .strictObject({ speech_chars: positiveInt(1_000_000).default(4_096).describe('Most characters of one speech call.') })
  .describe('These keys bound single requests.');

/** Where prices come from that no `price` states. */
export const pricesSchema = z
  .strictObject({
    update: z
      .boolean()
      .default(false)
      .describe(
        'true: takes over the newest price list once a day. false: prices are those of this version of Culvert.',
      ),
    url: httpUrl()
      .optional()
      .describe(
        "Where the newest list is. Default: the address that the price list's publisher gives. The format is genai-prices' data.json.",
      ),
  })
  .describe('The price list, of which a `price` of a target is the exception.');
