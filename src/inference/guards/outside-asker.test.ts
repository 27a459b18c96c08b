import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { webhookCheck } from '../../guards/outside/webhook.ts';
import { createTransport } from '../../upstream/transport/send.ts';
import { createAsker } from './outside-asker.ts';

const transport = createTransport({ proxyOf: () => null });
const calls: string[] = [];
/** The status of each answer; `silence`: none. */
let play: (text: string) => number | 'silence' = () => 200;
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  calls.push(body);
  const status = play(body);
  if (status === 'silence') return;
  response.statusCode = status;
  response.end('{"verdict":"pass"}');
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
after(() => {
  server.closeAllConnections();
  server.close();
  transport.destroy();
});

/** Asks for accounts in turn, and gives who was answered and who reached the service. */
function guarded(deadlineMs = 5_000) {
  const clock = fakeClock();
  const ask = createAsker(transport, clock, {
    check: webhookCheck(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    deadlineMs,
    guard: 'ours',
    facts: null,
    headers: {},
    warn() {},
  });
  const outcomes = async (...tenants: string[]) => {
    let shown = '';
    for (const tenant of tenants) {
      const before = calls.length;
      const question = { id: 'q', on: 'input' as const, model: null, texts: [{ part: 'user', text: tenant }] };
      const verdict = await ask(question, { tenant, rules: [] });
      shown += verdict !== null ? '+' : calls.length > before ? '-' : '.';
    }
    return shown;
  };
  return { clock, outcomes };
}

test('a service that fails three accounts in a row is asked by nobody for five seconds', async () => {
  for (const failure of [500, 503, 'silence'] as const) {
    play = () => failure;
    const { clock, outcomes } = guarded(failure === 'silence' ? 300 : 5_000);
    assert.equal(await outcomes('a', 'b', 'c', 'd', 'e', 'a'), '---...');
    clock.advance(5_000);
    // No account alone decides that it goes on resting.
    assert.equal(await outcomes('a', 'a', 'd', 'e', 'f'), '----.');
    play = () => 200;
    clock.advance(5_000);
    assert.equal(await outcomes('a', 'f', 'g'), '+++');
  }
});

test('neither one account, nor answers between, nor what a question itself may cause makes it rest', async () => {
  play = (body) => (body.includes('odd') ? 500 : 200);
  const { outcomes } = guarded();
  assert.equal(await outcomes('odd', 'odd', 'odd', 'odd', 'odd', 'odd', 'b'), '-----.+');
  assert.equal(await outcomes('odd1', 'b', 'odd2', 'b', 'odd3', 'b', 'odd4', 'b'), '-+-+-+-+');
  for (const status of [400, 413, 429]) {
    play = () => status;
    assert.equal(await guarded().outcomes('a', 'b', 'c', 'd', 'e'), '-----');
  }
});

test('failures that are long ago count no more', async () => {
  play = () => 500;
  const { clock, outcomes } = guarded();
  assert.equal(await outcomes('a', 'b'), '--');
  clock.advance(30_001);
  assert.equal(await outcomes('c', 'd', 'e', 'f'), '---.');
});
