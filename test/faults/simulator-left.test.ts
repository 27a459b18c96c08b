import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { until } from '../until.ts';

/* Alone in its process, whose servers it counts. */

const servers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap').length;

test('changes at once that need the simulator start one, and it ends with the gateway', async (t) => {
  const gateway = await startGateway(t, { simulator: 'off' });
  const without = servers();
  await Promise.all([gateway.reload({ simulator: 'on' }), gateway.useLocals([]), gateway.useLocals([])]);
  assert.equal(servers(), without + 1);
  await gateway.close(0);
  await until('no server is left', () => servers() === 0);
});
