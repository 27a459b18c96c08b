import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../../books/auth/principal.ts';
import { estimatedTokens } from '../../../formats/neutral/usage.ts';
import { offLoopBodyBytes } from '../../../kernel/limits.ts';
import { countTokens } from './count-tokens.ts';
import type { CountServices } from './services.ts';

test('without the thread that counts in time the tokens are estimated by length, and said to be nobody’s count', async () => {
  const body = Buffer.from(JSON.stringify({ model: 'm', messages: ['x'.repeat(offLoopBodyBytes)] }));
  const services = {
    snapshots: { current: {} },
    tokenCounter: { count: async () => null },
    bodies: { readObject: async () => ({ body: {} }) },
  } as unknown as CountServices;
  const principal = { tenant: 'a' } as Principal;
  const counted = await countTokens(services, {
    dialect: 'anthropic-messages',
    principal,
    body,
    callerHeaders: {},
    ruled: null,
  });
  assert.deepEqual(counted, { kind: 'counted', inputTokens: estimatedTokens(body.length), by: null });
});
