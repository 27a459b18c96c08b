import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import type { McpGrantStore } from '../../books/auth/mcp-grant-store.ts';
import { FailureError } from '../../kernel/failure.ts';
import { createSealer } from '../../kernel/seal.ts';
import { createMcpGrants, type Grant } from './grants.ts';

test('while the store is out of reach, what it said last goes on, and changes do not', async () => {
  const clock = fakeClock();
  const grant = { url: 'https://tools.example/mcp', tokens: null } as unknown as Grant;
  let reach: 'up' | 'down' = 'up';
  const store: Partial<McpGrantStore> = {
    async find() {
      if (reach === 'down') throw new FailureError({ kind: 'quota-unavailable', message: 'it is away' });
      return null;
    },
    put: async () => true,
  };
  const sealer = createSealer(['0123456789012345678901234567890123456789'], 'test');
  const grants = createMcpGrants({ open: async () => store as McpGrantStore, sealer: () => sealer, clock });
  await grants.save('own', grant, 'admin');
  reach = 'down';
  clock.advance(60_000);
  assert.deepEqual((await grants.recent('own'))?.grant, grant);
  await assert.rejects(grants.recent('other'), FailureError);
  await assert.rejects(grants.find('own'), FailureError);
});
