import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { after, test } from 'node:test';
import { WebSocket } from 'ws';
import { startGateway, testKey } from '../start-gateway.ts';
import { startRealtime } from '../upstream-formats/start-realtime.ts';

/* No guard reads the texts of a session that a provider holds. */

const upstream = await startRealtime({ after });
const model = (guards: string[]) => ({ targets: ['up/gpt-realtime'], ...(guards.length > 0 && { guards }) });
const guard = { check: 'personal-data', kinds: ['email'], action: 'mask' };
const gateway = await startGateway(
  { after: after as never },
  {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    guards: {
      strict: guard,
      outward: { ...guard, on: ['output'] },
      lenient: { ...guard, on_error: 'allow' },
      watching: { ...guard, mode: 'observe' },
      sized: { check: 'sizes', limits: { chars: 100 }, action: 'block' },
      shaped: { check: 'json-schema', schema: { type: 'object' }, action: 'block' },
      far: { check: 'webhook', url: upstream.url, action: 'block' },
    },
    models: {
      free: model([]),
      strict: model(['strict']),
      outward: model(['lenient', 'outward']),
      lenient: model(['lenient', 'watching']),
      sized: model(['sized']),
      shaped: model(['shaped']),
      far: model(['far']),
    },
  },
);

function open(name: string): WebSocket {
  const headers = { authorization: `Bearer ${testKey}` };
  return new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=${name}`, { headers });
}

for (const name of ['strict', 'outward', 'sized', 'shaped', 'far']) {
  test(`a guard that must read everything refuses a realtime session: ${name}`, async () => {
    const socket = open(name);
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    assert.equal(response.statusCode, 400);
    const text = Buffer.concat(await response.toArray()).toString();
    assert.match(text, new RegExp(`The guard '${name}' cannot read a request of this kind`));
  });
}

for (const name of ['free', 'lenient']) {
  test(`a session begins where no guard must read it: ${name}`, async () => {
    const socket = open(name);
    await once(socket, 'open');
    socket.terminate();
  });
}
