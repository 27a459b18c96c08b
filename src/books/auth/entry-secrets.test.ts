import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSealer } from '../../kernel/seal.ts';
import type { CredentialRow, EntryRow } from './account-store.ts';
import { openDefinition, openEntries, sealCredential, sealDefinition } from './entry-secrets.ts';

const ours = createSealer(['the secret of this server, 32 bytes'], 'credentials');
const others = createSealer(['the secret of somebody else, 32 bytes'], 'credentials');
const rotated = createSealer(
  ['a newer secret of this server, 32 b', 'the secret of this server, 32 bytes'],
  'credentials',
);

const definition = {
  type: 'openai',
  base_url: 'http://10.0.0.1/v1',
  headers: { 'x-team': 'hidden-header' },
  proxy: 'http://user:hidden-proxy@10.0.0.2',
};
const identity = { kind: 'provider', name: 'acme' } as const;
const row: EntryRow = {
  ...identity,
  ...sealDefinition(ours, identity, definition),
  version: 1,
  createdMs: 1,
  updatedMs: 1,
  updatedBy: 'admin',
};
const credential = (id: string, sealer = ours): CredentialRow => ({
  provider: 'acme',
  id,
  sealed: sealCredential(sealer, { provider: 'acme', id }, `secret-${id}`),
  hint: '…',
  weight: 1,
  rpm: null,
  createdMs: 1,
  createdBy: 'admin',
});

test('what is kept shows no secret, and opens to what was written, under an earlier secret too', () => {
  const text = JSON.stringify([row, credential('k1')]);
  for (const hidden of ['hidden-header', 'hidden-proxy', 'secret-k1']) assert.ok(!text.includes(hidden), hidden);
  assert.deepEqual(openDefinition(ours, row), definition);
  const { fragments, troubles } = openEntries(rotated, { entries: [row], credentials: [credential('k1')] });
  assert.equal(troubles.size, 0);
  assert.deepEqual(fragments[0]?.definition, {
    ...definition,
    credentials: [{ id: 'k1', api_key: 'secret-k1', weight: 1 }],
  });
});

test('a credential that another secret sealed is named; the others of its provider are used', () => {
  const plain = { ...row, definition: { type: 'openai' }, sealed: null };
  const one = openEntries(ours, { entries: [plain], credentials: [credential('k1'), credential('k2', others)] });
  assert.match(
    one.troubles.get('provider acme') ?? '',
    /^credential k2 cannot be opened here.*: add it to storage\.earlier_secrets$/,
  );
  assert.deepEqual(one.fragments[0]?.definition.credentials, [{ id: 'k1', api_key: 'secret-k1', weight: 1 }]);
  const none = openEntries(ours, { entries: [plain], credentials: [credential('k2', others)] });
  assert.deepEqual(none.fragments, [], 'it must not be asked without a key');
  assert.match(openEntries(others, { entries: [row], credentials: [] }).troubles.get('provider acme') ?? '', /headers/);
});

test('sealed bytes open in their own row alone', () => {
  const plain = { ...row, definition: { type: 'openai' }, sealed: null };
  const moved = { ...credential('k1'), id: 'k2' };
  assert.match(openEntries(ours, { entries: [plain], credentials: [moved] }).troubles.get('provider acme') ?? '', /k2/);
});
