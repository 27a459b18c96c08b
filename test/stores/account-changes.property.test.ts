import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type {
  AccountRow,
  AccountStore,
  Change,
  KeyRow,
  OperatorRow,
  Stored,
} from '../../src/books/auth/account-store.ts';
import { type Declared, hashKey } from '../../src/books/auth/key-directory.ts';
import { createKeyRing, type KeyRing } from '../../src/books/auth/key-ring.ts';
import { isFailure } from '../../src/kernel/failure.ts';
import { fakeClock } from '../fake-clock.ts';
import { drivers } from './drivers.ts';

/* Stores answer what has changed since the last look, and rings take that alone. Both must be as if they were made anew. */

const secrets = Array.from({ length: 8 }, (_, i) => `sk-cv-secret-${i}-0123456789`);
const ids = Array.from({ length: 4 }, (_, i) => `key${i}`);
const accounts = ['ann', 'bob', 'file', 'env'];
const declaredKey = { expiresMs: null, models: null, ips: null, limits: null, guards: [] };
const declared: Declared = {
  accounts: [
    { id: 'file', plan: 'pro', status: 'active', guards: ['g'] },
    { id: 'env', plan: 'free', status: 'active', guards: [], from: 'environment' },
  ],
  keys: [
    { ...declaredKey, hash: hashKey(secrets[0]!), account: 'file', name: 'of the file' },
    { ...declaredKey, hash: hashKey(secrets[1]!), account: 'env', name: 'of a variable', from: 'environment' },
  ],
  adminKey: secrets[2]!,
  defaultPlan: 'free',
  plans: ['free', 'pro'],
};

const pick = <T>(values: readonly T[]) => fc.constantFrom(...values);
const operations = fc.oneof(
  fc.record({ do: fc.constant('account' as const), account: pick(accounts), plan: pick(['free', 'pro', 'gone']) }),
  fc.record({ do: fc.constant('key' as const), id: pick(ids), account: pick(accounts), secret: pick(secrets) }),
  fc.record({
    do: fc.constant('key' as const),
    id: pick(ids),
    account: pick(['ann', 'bob'] as const),
    secret: pick(secrets),
  }),
  fc.record({ do: fc.constant('rotate' as const), id: pick(ids), secret: pick(secrets) }),
  fc.record({ do: fc.constant('guard' as const), id: pick(ids) }),
  fc.record({ do: fc.constant('revoke' as const), id: pick(ids) }),
  fc.record({ do: fc.constant('suspend' as const), account: pick(accounts) }),
  fc.record({ do: fc.constant('operator' as const), id: pick(['o1', 'o2']), secret: pick(secrets) }),
  fc.record({ do: fc.constant('plan' as const), plan: pick(['pro', 'own']) }),
);
type Operation = typeof operations extends fc.Arbitrary<infer T> ? T : never;

let at = 1_750_000_000_000;

function changesOf(operation: Operation, { keys, accounts: rows }: Stored): Change[] {
  at += 1;
  const key =
    'id' in operation ? keys.find(({ id, revokedMs }) => id === operation.id && revokedMs === null) : undefined;
  switch (operation.do) {
    case 'account': {
      const account: AccountRow = {
        id: operation.account,
        name: 'x',
        plan: operation.plan,
        status: 'active',
        guards: [],
        createdMs: at,
      };
      return [{ kind: 'create-account', account }];
    }
    case 'key': {
      const { id, account, secret } = operation;
      const row: KeyRow = {
        id,
        account,
        name: `name of ${id}`,
        tenant: `${account}/${id}`,
        prefix: id,
        kind: 'user',
        secrets: [{ hash: hashKey(secret), untilMs: null }],
        expiresMs: null,
        models: null,
        ips: null,
        limits: null,
        guards: [],
        createdMs: at,
        revokedMs: null,
      };
      return [{ kind: 'create-key', key: row }];
    }
    case 'rotate': {
      const was = key?.secrets.find(({ untilMs }) => untilMs === null)?.hash;
      if (key === undefined || was === undefined) return [];
      const next = [
        { hash: hashKey(operation.secret), untilMs: null },
        { hash: was, untilMs: at + 1e9 },
      ];
      return [{ kind: 'replace-secrets', id: key.id, was, secrets: next }];
    }
    case 'guard': {
      if (key === undefined) return [];
      const { name, expiresMs, models, ips, limits, guards } = key;
      const was = { name, expiresMs, models, ips, limits, guards };
      return [{ kind: 'update-key', id: key.id, set: { guards: guards.length === 0 ? ['pii'] : [] }, was }];
    }
    case 'revoke':
      return key === undefined ? [] : [{ kind: 'revoke-key', id: key.id, atMs: at }];
    case 'suspend': {
      const row = rows.find(({ id }) => id === operation.account);
      return row === undefined
        ? []
        : [
            {
              kind: 'update-account',
              id: row.id,
              set: { status: row.status === 'active' ? 'suspended' : 'active' },
              was: null,
            },
          ];
    }
    case 'operator': {
      const operator: OperatorRow = {
        id: operation.id,
        name: operation.id,
        role: 'admin',
        accounts: null,
        prefix: 'p',
        hash: hashKey(operation.secret),
        issuer: null,
        subject: null,
        origin: null,
        createdMs: at,
      };
      return [{ kind: 'create-operator', operator }];
    }
    case 'plan':
      return [
        { kind: 'put-plan', plan: { name: operation.plan, definition: { rpm: at % 100 }, updatedMs: at }, was: null },
      ];
  }
}

/** Answers of a ring about everybody. */
function answersOf(ring: KeyRing) {
  const nowhere = () => null;
  return {
    secrets: secrets.map((secret) => {
      const caller = ring.authenticate({ authorization: `Bearer ${secret}` }, nowhere);
      const operator = ring.authenticateAdmin({ authorization: `Bearer ${secret}` });
      return [isFailure(caller) ? caller.kind : caller, isFailure(operator) ? operator.kind : operator];
    }),
    ids: ids.map((id) => ring.principalOf(id)),
    plans: accounts.map((account) => ring.planOf(account)),
    facts: [ring.userKeys(), ring.nameGuards()],
  };
}

for (const { name, skip, create } of drivers) {
  test(`${name}: what changed since the last look is as good as everything anew`, { skip }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(operations, fc.boolean()), { minLength: 10, maxLength: 40 }), async (all) => {
        const place = await create();
        const [writer, watcher] = [await place.accounts(), await place.accounts()];
        const clock = fakeClock();
        const ring = createKeyRing(clock, declared);
        const looks = async (): Promise<void> => {
          const anew = await place.accounts();
          const [known, fresh] = [await watcher.load(), await anew.load()];
          await anew.close();
          assert.deepEqual(known, fresh);
          ring.restock(known);
          const made = createKeyRing(clock, declared);
          made.restock(fresh);
          assert.deepEqual(answersOf(ring), answersOf(made));
        };
        try {
          for (const account of ['ann', 'bob']) {
            const made = { do: 'account', account, plan: 'pro' } as const;
            await apply(writer, changesOf(made, await writer.load()));
          }
          for (const [operation, isSeen] of all) {
            await apply(writer, changesOf(operation, await writer.load()));
            if (isSeen) await looks();
          }
          await looks();
        } finally {
          for (const store of [writer, watcher]) await store.close();
          await place.remove();
        }
      }),
      { numRuns: name === 'sqlite' ? 40 : 8 },
    );
  });
}

async function apply(store: AccountStore, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return;
  await store.apply(changes, { atMs: at, actor: 'cli', action: 'a', subject: 's', before: null, after: null });
}
