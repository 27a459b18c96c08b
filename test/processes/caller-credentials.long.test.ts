import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import WebSocket from 'ws';
import { otherKey, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { overBoth, startProcesses } from './start-processes.ts';

/* Subscriptions of callers over several processes (docs/subscriptions.md). */

const people = {
  anne: { token: 'sk-ant-oat01-of-anne', key: testKey, used: '0.25' },
  berta: { token: 'sk-ant-oat01-of-berta', key: otherKey, used: '0.75' },
};
type Person = (typeof people)[keyof typeof people];
const usedHeader = 'anthropic-ratelimit-unified-5h-utilization';
/** Workers get new connections in turn. */
const apart = new Agent({ keepAlive: false });

async function ask(url: string, { token, key }: Person) {
  const headers = {
    ...{ authorization: `Bearer ${token}`, 'x-culvert-key': key },
    ...{ 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
  };
  const call = request(`${url}/v1/messages`, { method: 'POST', headers, agent: apart });
  call.end(JSON.stringify({ model: 'claude', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }));
  const [response] = await once(call, 'response');
  response.resume();
  await once(response, 'end');
  return { status: response.statusCode, used: response.headers[usedHeader] };
}

/** A response over a new WebSocket: its events. */
async function overSocket(url: string, token: string): Promise<Record<string, unknown>[]> {
  const headers = { authorization: `Bearer ${token}`, 'x-culvert-key': testKey };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers });
  const events: Record<string, unknown>[] = [];
  const over = new Promise<void>((resolve) => {
    socket.on('message', (data) => {
      const event = JSON.parse(String(data)) as Record<string, unknown>;
      events.push(event);
      if (event.type === 'response.completed' || event.type === 'error') resolve();
    });
  });
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'response.create', model: 'gpt', input: 'Hi', store: false }));
  await over;
  socket.close();
  return events;
}

overBoth('each worker asks with the credential of the request, and tells its limits to its caller', async (t, over) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const provider = { base_url: `${upstream.url}/v1`, caller_credential: true };
  const gateway = await startProcesses(t, over, upstream.url, {
    providers: {
      plans: { type: 'anthropic', ...provider },
      chatgpt: { type: 'openai', dialects: ['openai-responses'], ...provider },
    },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: otherKey, account: 'other', name: 'test' },
    ],
    models: { claude: { targets: ['plans/mock/ok'] }, gpt: { targets: ['chatgpt/mock/ok'] } },
  });
  for (const { token, used } of Object.values(people)) {
    upstream.script(`/v1/messages ${token}`, [`always header.${usedHeader}=${used}`]);
  }
  const told = await Promise.all(
    [...Array(16).keys()].map(async (at) => {
      const person = at % 2 === 0 ? people.anne : people.berta;
      return { person, ...(await ask(gateway.url, person)) };
    }),
  );
  for (const { person, status, used } of told) assert.deepEqual([status, used], [200, person.used]);
  const sent = upstream.requests().filter(({ method }) => method === 'POST');
  for (const { token } of Object.values(people)) {
    assert.equal(sent.filter(({ headers }) => headers.authorization === `Bearer ${token}`).length, 8);
  }
  // The limit that one has reached stops nobody else, whichever worker heard of it.
  upstream.script(`/v1/messages ${people.berta.token}`, ['always status=429;code=rate_limit_error']);
  for (let at = 0; at < 6; at += 1) assert.equal((await ask(gateway.url, people.berta)).status, 429);
  for (let at = 0; at < 6; at += 1) assert.equal((await ask(gateway.url, people.anne)).status, 200);

  upstream.script('/v1/responses', ['always header.x-codex-primary-used-percent=12.5']);
  for (let at = 0; at < 4; at += 1) {
    const events = await overSocket(gateway.url, `login-of-${at}`);
    assert.equal(events[0]?.type, 'codex.rate_limits', JSON.stringify(events));
    assert.equal(events.at(-1)?.type, 'response.completed');
  }
  const logins = upstream.requests().filter(({ path }) => path === '/v1/responses');
  assert.deepEqual(
    logins.map(({ headers }) => headers.authorization),
    [0, 1, 2, 3].map((at) => `Bearer login-of-${at}`),
  );
});
