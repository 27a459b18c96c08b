import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Message } from '@a2a-js/sdk';
import { type JsonObject, objectIn } from '../../src/kernel/json.ts';
import { startAgent } from '../start-agent.ts';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { until } from '../until.ts';
import { agentClient, agentRows, rpc, sending, textOf } from './a2a-client.ts';

/* Agents elsewhere, by the official client of A2A (docs/a2a.md). */

const narrowKey = 'sk-cv-test-key-narrow';

const agent = await startAgent({ after });
const extended = await startAgent(
  { after },
  {
    extended: {
      description: 'Works for those it knows, at http://127.0.0.1/within, with the word of-the-extended.',
      skills: [
        {
          ...{ id: 'secret', name: 'Secret', description: 'Does more.', tags: [], examples: [] },
          ...{ inputModes: [], outputModes: [], securityRequirements: [] },
        },
      ],
    },
  },
);
const earlier = await startAgent({ after }, { versions: ['0.3'] });
const gateway = await startGateway(
  { after: after as never },
  {
    agents: {
      worker: { url: agent.url, headers: { authorization: 'Bearer of-the-worker' }, cost: 2 },
      extended: { url: extended.url, headers: { authorization: 'Bearer of-the-extended' } },
      earlier: { url: `${earlier.url}/.well-known/agent-card.json` },
    },
    costs: { a2a: 0.5 },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: otherKey, account: 'dev', name: 'other' },
      { key: narrowKey, account: 'narrow', name: 'test', limits: { agents: ['ear*'] } },
    ],
  },
);

test('the first list already has what each agent says of itself', async () => {
  const { data } = (await (await gateway.fetch('/a2a')).json()) as { data: { description: string; status: string }[] };
  assert.deepEqual(
    data.map(({ description, status }) => [description !== null, status]),
    [
      [true, 'up'],
      [true, 'up'],
      [true, 'up'],
    ],
  );
});

test('the card names this server and its keys, and nothing of where the agent is', async () => {
  const response = await gateway.fetch('/a2a/worker/.well-known/agent-card.json', {
    headers: { 'a2a-version': '1.0' },
  });
  const card = (await response.json()) as Record<string, unknown>;
  assert.deepEqual(card.supportedInterfaces, [
    { url: `${gateway.url}/a2a/worker`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: `${gateway.url}/a2a/worker`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
  ]);
  assert.deepEqual(Object.keys(card.securitySchemes as object), ['culvert']);
  assert.deepEqual([card.name, card.version], ['Worker', '2.1.0']);
  assert.equal((card.capabilities as { pushNotifications: boolean }).pushNotifications, false);
  assert.doesNotMatch(JSON.stringify(card), /0\.0\.0\.0|of-the-worker/);
  assert.equal(agent.heard()[0]?.authorization, 'Bearer of-the-worker');
});

test('a client that does not say its version gets a card of both, as agents of the SDK for Python answer', async () => {
  const cardFor = async (headers: Record<string, string>) =>
    (await (await gateway.fetch('/a2a/worker/.well-known/agent-card.json', { headers })).json()) as JsonObject;
  const both = await cardFor({});
  const [present, earlier] = [await cardFor({ 'a2a-version': '1.0' }), await cardFor({ 'a2a-version': '0.3' })];
  assert.deepEqual(both.supportedInterfaces, present.supportedInterfaces);
  const schemes = [both, earlier, present].map(({ securitySchemes: schemes }) => objectIn(objectIn(schemes).culvert));
  assert.deepEqual(schemes[0], { ...schemes[1], ...schemes[2] });
  assert.deepEqual({ ...both, securitySchemes: null }, { ...earlier, ...present, securitySchemes: null });
  assert.deepEqual([earlier.url, earlier.protocolVersion], [`${gateway.url}/a2a/worker`, '0.3.0']);
  assert.deepEqual([earlier.supportedInterfaces, present.url], [undefined, undefined]);
});

for (const speaks of ['present', 'earlier'] as const) {
  test(`a client gets the extended card where there is one, with this address alone (${speaks} version)`, async () => {
    const client = await agentClient(gateway, 'extended', { speaks });
    const card = await client.getAgentCard();
    assert.match(card.description, /^Works for those it knows.*the word \[redacted\]/);
    assert.deepEqual(
      card.skills.map(({ id }) => id),
      ['secret'],
    );
    assert.ok(card.supportedInterfaces.length > 0);
    for (const { url } of card.supportedInterfaces) assert.equal(url, `${gateway.url}/a2a/extended`);
    const plain = await (await agentClient(gateway, 'worker', { speaks })).getAgentCard();
    assert.equal(plain.capabilities?.extendedAgentCard ?? false, false);
  });
}

test('a message is answered, charged by the cost of its agent, and in the ledger', async () => {
  const client = await agentClient(gateway, 'worker');
  const answer = (await client.sendMessage(sending('hello'))) as Message;
  assert.equal(textOf(answer), 'You said: hello');
  assert.equal(agent.heard().at(-1)?.authorization, 'Bearer of-the-worker', 'not the key of the caller');
  await until('it is in the ledger', async () => (await agentRows(gateway)).length > 0);
  const [row] = await agentRows(gateway);
  assert.deepEqual(
    [row?.endpoint, row?.model, row?.status, row?.class, row?.units],
    ['a2a-call', 'a2a/worker', 200, 'ok', 2],
  );
  const { bytes, ...called } = row?.route.agent ?? { bytes: 0 };
  assert.deepEqual(called, { agent: 'worker', method: 'SendMessage', task: null, outcome: 'ok' });
  assert.ok(bytes > 100);
});

test('a client of A2A 0.3 talks to an agent that speaks no other version', async () => {
  const client = await agentClient(gateway, 'earlier', { speaks: 'earlier' });
  const answer = (await client.sendMessage(sending('hello'))) as Message;
  assert.equal(textOf(answer), 'You said: hello');
  const refused = await rpc(gateway, 'earlier', {
    jsonrpc: '2.0',
    id: 'x',
    method: 'SendMessage',
    params: sending('hello'),
  });
  assert.deepEqual([refused.status, refused.id, refused.error?.code], [200, 'x', -32009]);
  assert.match(refused.error?.message ?? '', /speaks A2A 0\.3/);
});

test('a key sees and calls the agents that its limits name, and no others', async () => {
  const listed = async (key: string) => {
    const response = await gateway.fetch('/a2a', { headers: { authorization: `Bearer ${key}` } });
    const { data } = (await response.json()) as { data: { name: string; url: string; status: string }[] };
    return data.map(({ name, status }) => `${name} ${status}`);
  };
  assert.deepEqual(await listed(testKey), ['worker up', 'extended up', 'earlier up']);
  assert.deepEqual(await listed(narrowKey), ['earlier up']);
  const message = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: sending('hello') };
  const refused = await rpc(gateway, 'worker', message, narrowKey);
  assert.deepEqual([refused.status, refused.id, refused.error?.code], [404, 1, -32000]);
  const card = await gateway.fetch('/a2a/worker/.well-known/agent-card.json', {
    headers: { authorization: `Bearer ${narrowKey}` },
  });
  assert.equal(card.status, 404);
});
