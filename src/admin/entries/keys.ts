import { z } from 'zod';
import type { KeyRow } from '../../books/auth/account-store.ts';
import { revokeKey, rotateKey, updateKey } from '../../books/auth/change-key.ts';
import { issueKey, noAccount } from '../../books/auth/issue-key.ts';
import { isoOrNull } from '../../books/auth/key-facts.ts';
import type { Operator } from '../../books/auth/operator.ts';
import { guardNames } from '../../config/guard-names.ts';
import { keyTags } from '../../config/key-tags.ts';
import { duration, globs, network, someText } from '../../config/scalars.ts';
import { keyLimitsSchema } from '../../config/schema/schema-plans.ts';
import { type Directory, type KnownKey, keyText, planOf, type Records } from '../directory.ts';
import { anyContains, filter, futureInstant, timeField } from '../fields.ts';
import { idleSettings, warningsField } from '../idle-settings.ts';
import { type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { declaredConflict } from './accounts.ts';
import { keyBlocks } from './blocked-keys.ts';
import { checkContentVersion, contentVersion, contentVersionField, refuseChanged } from './content-version.ts';
import { entryOperations, type FiltersOf } from './entry-operations.ts';
import { futureMs, type KeyChangeBody, keyChangeSchema, settingsIn } from './key-change.ts';
import { refuseUnknownGuards } from './unknown-guards.ts';

const status = z.enum(['active', 'expired', 'suspended', 'revoked']);
/** A leaked secret that is rotated out should not work for longer. */
const graceMax = '90d';

const keyFields = {
  id: z.string().describe('Public, kept through rotation.'),
  prefix: z.string().nullable().describe('What the secret begins with; null for a declared key.'),
  account: z.string(),
  name: z.string(),
  plan: z.string().describe("Its account's."),
  status,
  from: z.enum(['configuration', 'admin api']).describe('Entries of the configuration can be changed only there.'),
  tenant: z.string().describe('Owner of the vector data that the key reaches.'),
  models: z.array(z.string()).nullable().describe('Globs; null: all models of the plan.'),
  ips: z.array(z.string()).nullable().describe('Addresses that may use it; null: all.'),
  limits: z.record(z.string(), z.unknown()).nullable().describe('Limits of the key itself, besides those of its plan.'),
  guards: z.array(z.string()).describe('Guards of its requests, besides those of its account and plan.'),
  tags: z.array(z.string()).describe('What people find it by, and sum its usage by.'),
  expires: timeField.nullable(),
  old_secrets_until: timeField.nullable().describe('The end of the overlap of a rotation; null when there is none.'),
  created_at: timeField.nullable(),
  revoked_at: timeField.nullable(),
  version: contentVersionField,
  warnings: warningsField,
};
const keySchema = z.object(keyFields);

/** For pages that show it. */
export type KeyReply = z.output<typeof keySchema>;
const keyWithSecretSchema = z.object({
  ...keyFields,
  key: z.string().describe('The secret. It is shown only once.').meta({ kind: 'secret' }),
});

const filters = {
  account: filter('Only those of this account.'),
  status: status.optional().describe('Only keys with this status.'),
  tag: filter('Only keys with this tag.'),
  text: filter(
    'Only those whose account/name, id, prefix or tag contains this text. Upper and lower case are the same.',
  ),
};
const newKeySchema = z.strictObject({
  account: someText(64),
  name: someText(64),
  expires: futureInstant('A date, a time, or a duration from now such as 90d.').nullish(),
  models: globs()
    .min(1)
    .nullish()
    .describe('Models it may use; * matches any characters. Default: all models of the plan.'),
  ips: z.array(network()).min(1).max(1_000).nullish().describe('Addresses that may use it. Default: all.'),
  limits: keyLimitsSchema.nullish(),
  guards: guardNames().describe('Guards of its requests, besides those of its account and plan.'),
  tags: keyTags().describe('What it is found by, and its usage is summed by, such as a team or a project.'),
  share_vectors_with: someText(256)
    .nullish()
    .describe('Id of a key of the same account. Both keys own its vector data.'),
});
const rotationSchema = z
  .strictObject({
    grace: z
      .union([z.literal('0').transform(() => 0), duration({ max: graceMax })], {
        error: `expected a duration of at most ${graceMax}, such as 24h, or 0s`,
      })
      .prefault('24h')
      .describe('Grace period: how long the old secrets still work. With 0s they end at once.'),
  })
  .prefault({});

/** `/keys`: secrets of accounts. */
export function keyOperations(parts: AdminParts, records: Records): Operation[] {
  const { clock } = parts;
  const entries = entryOperations({ path: '/keys', named: 'id', area: 'keys', reply: keySchema });
  const blocks = keyBlocks(parts, records, (directory, key) => shown(directory, key, clock.wallMs()));
  const { add, change, rotate, revoke } = keyChanges(parts, records, blocks);
  return [
    entries.list({
      summary: 'Lists the keys of the configuration and the store, by account and name, without secrets.',
      filters,
      async rows(query, operator) {
        const directory = await records.current(operator.accounts);
        const nowMs = clock.wallMs();
        return {
          rows: directory.keys,
          textOf: keyText,
          matches: (key: KnownKey) => matches(directory, key, query, nowMs),
          shown: (key: KnownKey) => shown(directory, key, nowMs),
        };
      },
    }),
    entries.add({
      summary: 'Creates a key. Only this response contains its secret.',
      body: newKeySchema,
      reply: keyWithSecretSchema,
      run: ({ body, operator }) => add(body, operator),
    }),
    entries.show({
      summary: 'Returns one key, without its secret.',
      async run(id, { operator }) {
        const directory = await records.current(operator.accounts);
        return shown(directory, keyOf(directory, id), clock.wallMs());
      },
    }),
    entries.change({
      summary: 'Changes what a key may do. Every server applies it within a second.',
      body: keyChangeSchema,
      run: (id, { body, operator }) => change(id, body, operator),
    }),
    entries.act('rotate', {
      summary: 'Rotates the secret of a key. The old secrets work until the grace period is over.',
      body: rotationSchema,
      reply: keyWithSecretSchema,
      run: (id, { body, operator }) => rotate(id, body.grace, operator),
    }),
    entries.act('revoke', {
      summary:
        'Revokes a key. Within a second every server refuses new calls; running ones finish. A secret of the configuration is blocked.',
      run: (id, { operator }) => revoke(id, operator),
    }),
    entries.act('restore', {
      summary: 'Lifts the block of a key of the configuration. A revoked key of this API stays revoked.',
      run: (id, { operator }) => blocks.restore(id, operator),
    }),
    entries.remove({
      summary: 'Revokes a key, as /revoke does. A revoked key stays in lists, and its name can be used again.',
      run: (id, { operator }) => revoke(id, operator),
    }),
  ];
}

type KeyBlocks = ReturnType<typeof keyBlocks<z.input<typeof keySchema>>>;

function keyChanges(parts: AdminParts, records: Records, blocks: KeyBlocks) {
  const { clock, store, cache, onStoreError } = parts;

  /** Reads nothing: the key is made, and nobody could show its secret again. */
  function withSecret(directory: Directory, row: KeyRow, secret: string): z.input<typeof keyWithSecretSchema> {
    return { ...shown(directory, { ...row, from: 'admin api', row }, clock.wallMs()), key: secret };
  }

  return {
    async add(body: z.output<typeof newKeySchema>, operator: Operator) {
      const directory = await records.current(operator.accounts);
      const { account } = body;
      if (operator.accounts !== null && directory.account(account) === null) refuse(noAccount(account));
      refuseUnknownGuards(body, directory);
      const nowMs = clock.wallMs();
      const requested = {
        account,
        name: body.name,
        expiresMs: futureMs(body.expires, nowMs),
        models: body.models ?? null,
        ips: body.ips ?? null,
        limits: body.limits ?? null,
        guards: body.guards ?? [],
        tags: body.tags ?? [],
        shareVectorsWith: body.share_vectors_with ?? null,
        actor: operator.name,
        nowMs,
      };
      const issued = await records.changing(() => issueKey(store, requested, directory));
      if (issued.kind !== 'issued') return refuse(issued);
      const idle = idleSettings(parts, { models: body.models, keys: [body], planOf: (id) => planOf(directory, id) });
      return { ...withSecret(directory, issued.row, issued.minted.secret), ...idle };
    },
    async change(id: string, body: KeyChangeBody, { accounts, name: actor }: Operator) {
      // Another change may come between the look at the key and its own: without a version it is merged into that one.
      for (let tries = 1; ; tries += 1) {
        const directory = await records.current(accounts);
        const row = storedRow(parts, keyOf(directory, id));
        const nowMs = clock.wallMs();
        const show = () => shown(directory, { ...row, from: 'admin api', row }, nowMs);
        checkContentVersion(body.version, show(), `key '${id}'`);
        refuseUnknownGuards(body, directory);
        const set = settingsIn(body, row, nowMs);
        const done = await records.changing(() => updateKey(store, row, set, { actor, nowMs, known: directory }));
        if (done.kind === 'updated') {
          const keys = 'limits' in set || 'models' in set ? [done.row] : [];
          const idle = idleSettings(parts, { models: set.models, keys, planOf: (id) => planOf(directory, id) });
          return { ...shown(directory, { ...done.row, from: 'admin api', row: done.row }, nowMs), ...idle };
        }
        if (done.kind !== 'changed') return refuse(done);
        if (tries === triesMax) refuseChanged(show(), `key '${id}'`);
      }
    },
    async rotate(id: string, graceMs: number, { accounts, name: actor }: Operator) {
      const directory = await records.current(accounts);
      const row = storedRow(parts, keyOf(directory, id));
      const rotated = await records.changing(() => rotateKey(store, row, { actor, nowMs: clock.wallMs(), graceMs }));
      return rotated.kind === 'rotated' ? withSecret(directory, rotated.row, rotated.minted.secret) : refuse(rotated);
    },
    async revoke(id: string, { accounts, name: actor }: Operator) {
      const directory = await records.current(accounts);
      const { row } = keyOf(directory, id);
      if (row === null) return blocks.block(directory, id, { accounts, name: actor });
      const revoked = await records.changing(() => revokeKey(store, row, { actor, nowMs: clock.wallMs() }));
      // What is left expires: nobody can ask for it.
      await cache.clear({ keyId: id }).catch(onStoreError);
      return shown(directory, { ...revoked, from: 'admin api', row: revoked }, clock.wallMs());
    },
  };
}

/** Tries of a change without a version, while others change the same key. */
const triesMax = 5;

function shown(directory: Directory, key: KnownKey, nowMs: number): z.input<typeof keySchema> {
  const { row } = key;
  const overlaps = (row?.secrets ?? []).flatMap(({ untilMs }) =>
    untilMs !== null && untilMs > nowMs ? [untilMs] : [],
  );
  return {
    id: key.id,
    prefix: row?.prefix ?? null,
    account: key.account,
    name: key.name,
    plan: directory.account(key.account)?.plan ?? directory.config.default_plan,
    status: statusOf(directory, key, nowMs),
    from: key.from,
    tenant: key.tenant,
    models: key.models === null ? null : [...key.models],
    ips: key.ips === null ? null : [...key.ips],
    limits: key.limits,
    guards: [...key.guards],
    tags: [...(key.tags ?? [])],
    expires: isoOrNull(key.expiresMs),
    old_secrets_until: overlaps.length === 0 ? null : isoOrNull(Math.max(...overlaps)),
    created_at: isoOrNull(row?.createdMs ?? null),
    revoked_at: isoOrNull(key.revokedMs),
    version: contentVersion(settingsShown(key)),
  };
}

function settingsShown({ name, models, ips, limits, guards, tags = [], expiresMs }: KnownKey) {
  return { name, models, ips, limits, guards, tags, expiresMs };
}

function matches(
  directory: Directory,
  key: KnownKey,
  { account, status: requestedStatus, tag, text }: FiltersOf<typeof filters>,
  nowMs: number,
): boolean {
  return (
    (account === undefined || key.account === account) &&
    (requestedStatus === undefined || statusOf(directory, key, nowMs) === requestedStatus) &&
    (tag === undefined || key.tags?.includes(tag) === true) &&
    (text === undefined ||
      anyContains(text, `${key.account}/${key.name}`, key.id, key.row?.prefix ?? '', ...(key.tags ?? [])))
  );
}

function statusOf(directory: Directory, key: KnownKey, nowMs: number): z.output<typeof status> {
  if (key.revokedMs !== null) return 'revoked';
  if (key.expiresMs !== null && key.expiresMs <= nowMs) return 'expired';
  return directory.account(key.account)?.status ?? 'active';
}

export function keyOf(directory: Directory, id: string): KnownKey {
  return directory.key(id) ?? refuse({ kind: 'not-found', message: `There is no key '${id.slice(0, 64)}'.` });
}

function storedRow(parts: AdminParts, key: KnownKey): KeyRow {
  return key.row ?? refuse(declaredConflict(parts, 'key', `${key.account}/${key.name}`));
}
