import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slowness } from '../machine-load.ts';
import { adminKey, testKey } from '../start-gateway.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { mainThreadMs, noThreadTimes } from './main-thread.ts';

/** CPU time that one request may take of the main thread, ms; the best of some rounds counts. */
const loopMsMax = 20;
const roundsMax = 8;
/** A head has 16 kB. */
const headChars = 14_000;

const filled = (piece: string) => piece.repeat(Math.floor(headChars / piece.length));
const queries = [
  `filter=${filled('[')}`,
  `limit=${filled('9')}`,
  filled('limit=1&'),
  filled('a&'),
  Array.from({ length: 2_000 }, (_, at) => `a${at}=`).join('&'),
  `x${filled('[')}=1`,
  `cursor=${filled('%5B')}`,
  `after=${filled('%00')}`,
];
const paths = ['/v1/models', '/v1/usage', '/v1/files', '/v1/responses/x/input_items', '/collections', '/v1beta/models'];
const adminPaths = ['/admin/v1/requests', '/admin/v1/usage', '/admin/v1/audit', '/admin/v1/accounts'];

test('S35 queries, paths and headers that fill a head hold the loop for 20 ms at most', {
  skip: noThreadTimes,
  timeout: 300_000,
}, async (t) => {
  const { url, process: gateway } = await startGatewayProcess(t, {});
  const slow: string[] = [];
  const look = async (path: string, headers: Record<string, string>) => {
    let ms = Number.POSITIVE_INFINITY;
    let status = 0;
    for (let round = 0; round < roundsMax && ms > loopMsMax; round++) {
      const beforeMs = mainThreadMs(gateway.pid!);
      const response = await fetch(url + path, { headers });
      await response.arrayBuffer();
      status = response.status;
      ms = Math.min(ms, mainThreadMs(gateway.pid!) - beforeMs);
    }
    if (status >= 500 || ms > loopMsMax * slowness()) slow.push(`${ms.toFixed(1)} ms, ${status}: ${path.slice(0, 60)}`);
  };
  const caller = { authorization: `Bearer ${testKey}` };
  for (const query of queries) {
    for (const path of paths) await look(`${path}?${query}`, caller);
    for (const path of adminPaths) await look(`${path}?${query}`, { authorization: `Bearer ${adminKey}` });
  }
  for (const part of ['a/', '%2f', '../', '%E0%A4%A', ':']) await look(`/v1/${filled(part)}`, caller);
  for (const name of ['x-culvert-tag', 'x-culvert-session', 'x-culvert-timeout', 'cookie', 'accept', 'traceparent'])
    await look('/v1/models', { ...caller, [name]: filled('[') });
  assert.deepEqual(slow, []);
});
