import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { test } from 'node:test';
import { adminKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { ask, chat, embedded, inOnly, overBoth, startProcesses } from './start-processes.ts';

overBoth('bodies that one worker has in memory are shown by every worker', async (t, over) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startProcesses(t, over, upstream.url, { telemetry: { log: { bodies: ['dev/test'] } } });
  const asked: string[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    const question = `Question ${turn}`;
    const messages = [{ role: 'user', content: question }];
    const { status, text } = await ask(gateway.url, '/v1/chat/completions', { ...chat, messages });
    assert.equal(status, 200, text);
    asked.push(question);
  }
  const admin = async (path: string, body?: object) => {
    const { status, text } = await ask(gateway.url, `/admin/v1${path}`, body, adminKey);
    assert.equal(status, 200, text);
    return JSON.parse(text);
  };
  const { data } = (await admin('/requests')) as { data: { id: string }[] };
  assert.equal(data.length, asked.length);
  // Connections go to the workers in turn, so each is asked for bodies of both.
  const shown = new Set<string>();
  for (const { id } of data) {
    for (let turn = 0; turn < 2; turn += 1) {
      const { bodies, bodies_note: note } = (await admin(`/requests/${id}`)) as {
        bodies: { request: string } | null;
        bodies_note: string | null;
      };
      assert.ok(bodies !== null, String(note));
      shown.add(JSON.parse(bodies.request).messages[0].content);
    }
  }
  assert.deepEqual([...shown].sort(), asked);
});

test('a refused request is found by its id at every worker, whichever refused it', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startProcesses(t, embedded, upstream.url);
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json', connection: 'close' };
  // Mistakes of operators are in no ledger.
  const refused = await fetch(`${gateway.url}/admin/v1/keys`, { method: 'POST', headers, body: '{}' });
  assert.equal(refused.status, 400);
  const id = refused.headers.get('x-culvert-request-id');
  const [one = 0, other = 0] = gateway.workers();
  for (const away of [one, other]) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => agent.destroy());
    const at = (path: string) => ask(gateway.url, path, undefined, adminKey, {}, agent);
    // A connection stays with its worker, which may ask the other one.
    await inOnly(away, () => at('/healthz'));
    const { status, text } = await at(`/admin/v1/requests/${id}`);
    assert.equal(status, 200, text);
    const { route } = JSON.parse(text) as { route: { refused: { message: string } } };
    assert.match(JSON.stringify(route), /account/);
  }
});
