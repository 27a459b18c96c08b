import { z } from 'zod';
import type { BodyRuleRow } from '../../books/auth/account-store.ts';
import type { Operator } from '../../books/auth/operator.ts';
import { aliasFor } from '../../config/alias-pattern.ts';
import { someText } from '../../config/scalars.ts';
import { type Failure, forbidden, invalid } from '../../kernel/failure.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import { type Directory, type KnownKey, livingKeysOf, type Records } from '../directory.ts';
import { futureInstant, timeField } from '../fields.ts';
import { type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { accountOf } from './accounts.ts';
import { entryOperations } from './entry-operations.ts';
import { futureMs } from './key-change.ts';
import { keyOf } from './keys.ts';

/** Rules at once; beyond them none is added. */
const rulesMax = 100;
const lengthMaxMs = 30 * 86_400_000;

const subjects = ['key', 'account', 'model'] as const;

const ruleSchema = z.object({
  id: z.string(),
  of: z.enum(subjects),
  name: z.string().describe('Id of the key or account, or name of the model.'),
  label: z.string().describe('`account/name` of a key; else its name again.'),
  reason: z.string(),
  created_by: z.string().describe('Name of the operator.'),
  created_at: timeField,
  until: timeField,
});

/** For pages that show it. */
export type BodyRuleReply = z.output<typeof ruleSchema>;

const newSchema = z.strictObject({
  of: z.enum(subjects),
  name: someText(256).describe('Id or `account/name` of the key, id of the account, or name of the model.'),
  reason: z.string().trim().min(1, 'expected the reason, for the audit log').max(500).describe('For the audit log.'),
  until: futureInstant('At most 30 days ahead: a date, a time, or a duration from now such as 2h.').prefault('1h'),
});

/** `/body-rules`: whose requests and answers are kept, for a time. */
export function bodyRuleOperations(parts: AdminParts, records: Records): Operation[] {
  const entries = entryOperations({ path: '/body-rules', named: 'id', area: 'requests', reply: ruleSchema });
  return [
    entries.list({
      summary: 'Lists the keys, accounts and models whose requests and answers are kept now, oldest first.',
      async rows(_query, operator) {
        const directory = await records.current(operator.accounts);
        const rows = rulesNow(parts, directory, operator);
        const textOf = ({ createdMs, id }: BodyRuleRow) => `${createdMs}/${id}`;
        return { rows, textOf, shown: (row: BodyRuleRow) => shown(directory, row) };
      },
    }),
    entries.add({
      summary:
        'Keeps requests and answers of a key, an account or a model for a while, in place of an earlier rule for it.',
      body: newSchema,
      run: ({ body, operator }) => addRule(parts, records, body, operator),
    }),
    entries.remove({
      summary: 'Keeps no further requests and answers by this rule. What is kept stays for its retention.',
      async run(id, { operator }) {
        const directory = await records.current(operator.accounts);
        const row = rulesNow(parts, directory, operator).find((rule) => rule.id === id) ?? refuse(noRule(id));
        const { actor, subject } = named(operator, row);
        const audit = { actor, action: 'bodies.stop', subject, before: shown(directory, row), after: null };
        const done = await records.apply([{ kind: 'delete-body-rule', id }], audit);
        return done === 'done' ? shown(directory, row) : refuse(noRule(id));
      },
    }),
  ];
}

/** Rules in force, as far as the operator sees their accounts. All accounts share models. */
function rulesNow({ clock }: AdminParts, directory: Directory, { accounts }: Operator): BodyRuleRow[] {
  const nowMs = clock.wallMs();
  const isSeen = ({ of, name }: BodyRuleRow) =>
    accounts === null ||
    (of === 'account' && accounts.includes(name)) ||
    (of === 'key' && directory.key(name) !== null);
  return directory.stored.bodyRules.filter((rule) => rule.untilMs > nowMs && isSeen(rule));
}

async function addRule(
  parts: AdminParts,
  records: Records,
  { of, name: given, reason, until }: z.output<typeof newSchema>,
  operator: Operator,
): Promise<z.input<typeof ruleSchema>> {
  const directory = await records.current(operator.accounts);
  const name = of === 'key' ? keyNamed(directory, given).id : given;
  if (of === 'account') accountOf(directory, name);
  else if (of === 'model') mayKeepModel(parts, operator, name);
  const createdMs = parts.clock.wallMs();
  const untilMs = futureMs(until, createdMs, 'until') ?? createdMs;
  if (untilMs > createdMs + lengthMaxMs) refuse(invalid('until', 'until: expected at most 30 days ahead'));
  if (directory.stored.bodyRules.filter((rule) => rule.untilMs > createdMs).length >= rulesMax) refuse(tooMany);
  const id = `br_${randomBase62(12)}`;
  const rule: BodyRuleRow = { id, of, name, reason, createdMs, createdBy: operator.name, untilMs };
  await records.apply([{ kind: 'put-body-rule', rule }], {
    ...named(operator, rule),
    action: 'bodies.keep',
    before: null,
    after: shown(directory, rule),
  });
  return shown(directory, rule);
}

/** The key with this id, or the one in use with this `account/name`. */
function keyNamed(directory: Directory, given: string): KnownKey {
  const account = given.replace(/\/.*/s, '');
  const byName = livingKeysOf(directory, account).find(({ name }) => `${account}/${name}` === given);
  return byName ?? keyOf(directory, given);
}

function mayKeepModel({ snapshots }: AdminParts, { name, accounts }: Operator, model: string): void {
  if (accounts !== null) {
    const message = `The operator '${name}' manages only some accounts. All accounts share models, so only operators of all accounts keep bodies by model.`;
    refuse(forbidden(message));
  }
  const { models, config } = snapshots.current;
  if (models.all().some(({ id }) => id === model) || aliasFor(config.models, model) !== null) return;
  refuse(invalid('name', `name: there is no model '${model}'`));
}

const tooMany: Failure = {
  kind: 'conflict',
  message: `The bodies of ${rulesMax} keys, accounts and models are kept already. Stop some of them first.`,
};

const noRule = (id: string): Failure => ({
  kind: 'not-found',
  message: `There is no rule '${id.slice(0, 128)}' in force.`,
});

function named({ name: actor }: Operator, { of, name }: BodyRuleRow) {
  return { actor, subject: `${of}:${name}` };
}

function shown(directory: Directory, { id, of, name, ...row }: BodyRuleRow): z.input<typeof ruleSchema> {
  const key = of === 'key' ? directory.key(name) : null;
  return {
    id,
    of,
    name,
    label: key === null ? name : `${key.account}/${key.name}`,
    reason: row.reason,
    created_by: row.createdBy,
    created_at: new Date(row.createdMs).toISOString(),
    until: new Date(row.untilMs).toISOString(),
  };
}
