import { z } from 'zod';
import { guardNames } from '../guard-names.ts';
import { keyNameForm, keyTags } from '../key-tags.ts';
import { globs, instant, name, network, secret, someText, timeZone } from '../scalars.ts';
import { dataRuleSchema } from './schema-data.ts';
import { budgetUsdMax, extraBudget, keyLimitsSchema } from './schema-plans.ts';

const accountNameMax = 200;
/** Line breaks, and characters that turn the direction of a text: they make another name of it, or of what follows it. */
const disguises = /[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;

/** The name that people see of an account. */
export const accountName = () =>
  someText(accountNameMax).refine(
    (text) => text.search(disguises) < 0,
    'expected a text without line breaks and control characters',
  );

/** The name of an account that another system calls so; empty when nothing of it may be shown. */
export function accountNameFrom(text: string): string {
  return text.replaceAll(disguises, ' ').trim().slice(0, accountNameMax);
}

const partKinds = ['user', 'tag', 'model'] as const;

/** The budget of one end user, tag or model of an account, or of each. */
const partBudget = z
  .strictObject({
    by: z.enum(partKinds).optional().describe('Each end user, tag or model has this budget.'),
    user: partName('The end user that has this budget.'),
    tag: partName('The tag that has this budget.'),
    model: partName('The model that has this budget; * matches any characters, and all of those share it.'),
    usd: z.number().min(0).max(budgetUsdMax).describe('USD that may be spent.'),
    window: z.enum(['5h', 'week', 'month']).optional().describe('In any 5 hours, 7 days or 30 days.'),
    calendar: z.enum(['day', 'week', 'month']).optional().describe('In a day, week or month of the calendar.'),
    time_zone: timeZone().optional().describe('Of calendar. Default: UTC.'),
  })
  .superRefine((value, context) => {
    const named = (['by', ...partKinds] as const).filter((name) => value[name] !== undefined);
    const refuse = (name: string, message: string) =>
      context.addIssue({ code: 'custom', path: name in value ? [name] : [], message });
    if (named.length !== 1) refuse(named[1] ?? '', 'expected one of by, user, tag and model');
    if ((value.window === undefined) === (value.calendar === undefined)) {
      refuse('calendar', 'expected either window or calendar');
    }
    if (value.time_zone !== undefined && value.calendar === undefined) refuse('time_zone', 'is of calendar alone');
  });

function partName(what: string) {
  return someText(256).optional().describe(what);
}

/** Budgets within an account. */
export const partBudgets = () =>
  z
    .array(partBudget)
    .max(20)
    .superRefine((budgets, context) => {
      const named = budgets.map(({ usd: _, ...budget }) => JSON.stringify(Object.entries(budget).sort()));
      const twice = named.findIndex((name, at) => named.indexOf(name) < at);
      if (twice !== -1) context.addIssue({ code: 'custom', path: [twice], message: 'is there twice' });
    })
    .describe("USD by end user, tag and model, in addition to the plan's budgets.");

export const accountsSchema = z
  .record(
    name("an account's name"),
    z.strictObject({
      plan: name("a plan's name").optional().describe('Its plan. Default: default_plan.'),
      status: z.enum(['active', 'suspended']).default('active').describe('A suspended account gets 403.'),
      name: accountName().optional().describe('What people call it.'),
      guards: guardNames().describe('Guards of the requests of its keys, and of their answers.'),
      extra_budget: extraBudget(instant().describe('A date (its first instant, UTC) or a time.'))
        .optional()
        .describe('It may use so much more than each limit of its plan of that kind allows, until then.'),
      budgets: partBudgets().optional(),
      data: dataRuleSchema,
    }),
  )
  .default({})
  .describe('Who pays. Accounts that only keys name need not be listed.');

const declaredKeyFields = z.strictObject({
  key: secret()
    .regex(/^sk-cv-[A-Za-z0-9_-]{8,200}$/, 'expected sk-cv- followed by 8 to 200 letters, digits, _ or -')
    .refine((text) => !text.startsWith('sk-cv-admin-'), 'sk-cv-admin- is for the admin key (admin.key)')
    .optional()
    .describe('The secret: `sk-cv-` and 8 to 200 letters, digits, _ or -.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'expected 64 small hex digits, the SHA-256 of the secret')
    .optional()
    .describe(
      'SHA-256 of the secret in hex, in the place of `key`. The secret may then begin with anything, such as one that another gateway gave out.',
    ),
  account: name("an account's name").default('default').describe('Who pays.'),
  name: z
    .string({ error: "expected a key's name" })
    .regex(keyNameForm, "a key's name has 1 to 64 letters, digits, spaces or ._@/-, beginning with a letter or digit")
    .default('default')
    .describe('With the account, its identity: it owns vector data, whatever the secret.'),
  plan: name("a plan's name").optional().describe("Shorthand for the account's plan."),
  expires: instant().optional().describe('When it stops working: a date (its first instant, UTC) or a time.'),
  models: globs().optional().describe('Models it may use; * matches any characters. Default: all of the plan.'),
  ips: z.array(network()).max(1_000).default([]).describe('Addresses it may be used from. Empty: any.'),
  limits: keyLimitsSchema.optional(),
  guards: guardNames().describe('Guards of its requests and of their answers.'),
  tags: keyTags().describe('What keys are found by, and their usage is summed by, such as a team or a project.'),
});

const declaredKeySchema = declaredKeyFields
  .superRefine(({ key, sha256 }, context) => {
    if ((key === undefined) !== (sha256 === undefined)) return;
    const [path, message] = key === undefined ? ['key', 'is required'] : ['sha256', 'key is its secret already'];
    context.addIssue({ code: 'custom', path: [path], message });
  })
  .meta({ oneOf: [{ required: ['key'] }, { required: ['sha256'] }] });

export const keysSchema = z
  .array(declaredKeySchema)
  .max(10_000)
  .default([])
  .describe('Declared keys, for tests and GitOps.');
