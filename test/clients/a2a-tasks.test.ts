import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import { startAgent } from '../start-agent.ts';
import { adminKey, otherKey, startGateway, testKey } from '../start-gateway.ts';
import { until } from '../until.ts';
import { type AgentRow, agentClient, agentRows, rpc, sending, textOf } from './a2a-client.ts';

/* Tasks of agents and their streams, by the official client of A2A (docs/a2a.md). */

const agent = await startAgent({ after });
const gateway = await startGateway(
  { after: after as never },
  {
    agents: { worker: { url: agent.url, timeout: '20s' } },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: otherKey, account: 'dev', name: 'other' },
    ],
  },
);

function namesOf(events: readonly StreamResponse[]): string[] {
  return events.map(({ payload }) => payload?.$case ?? 'nothing');
}

async function all(events: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const found: StreamResponse[] = [];
  for await (const event of events) found.push(event);
  return found;
}

function idsOf({ payload }: StreamResponse): [task: string, context: string] {
  if (payload?.$case === 'task') return [payload.value.id, payload.value.contextId];
  return payload === undefined ? ['', ''] : [payload.value.taskId, payload.value.contextId];
}

/** Begins a task that waits, and reads its events until it works. */
async function waitingTask(key = testKey) {
  const client = await agentClient(gateway, 'worker', { key });
  const leaving = new AbortController();
  const events = client.sendMessageStream(sending('wait'), { signal: leaving.signal });
  const { value: first } = await events.next();
  await events.next();
  const [id, contextId] = idsOf(first as StreamResponse);
  return { client, events, id, contextId, leave: () => leaving.abort() };
}

for (const speaks of ['present', 'earlier'] as const) {
  test(`a task comes as events with the same ids, and is asked for later (client of the ${speaks} version)`, async () => {
    const client = await agentClient(gateway, 'worker', { speaks });
    const events = await all(client.sendMessageStream(sending('work')));
    assert.deepEqual(namesOf(events), ['task', 'statusUpdate', 'artifactUpdate', 'statusUpdate']);
    const [[id, context] = ['', ''], ...others] = events.map(idsOf);
    for (const ids of others) assert.deepEqual(ids, [id, context]);
    const task = await client.getTask({ tenant: '', id, historyLength: undefined });
    assert.deepEqual([task.id, task.contextId], [id, context]);
    assert.equal(task.status?.state, TaskState.TASK_STATE_COMPLETED);
    assert.deepEqual([task.history[0]?.taskId, task.artifacts.map(textOf)], [id, ['done: work']]);
    await until('its stream is in the ledger', async () => (await agentRows(gateway)).some(({ stream }) => stream));
  });
}

test('a stream is charged and in the ledger as any message, and a question about a task is free', async () => {
  const before = (await agentRows(gateway)).length;
  const client = await agentClient(gateway, 'worker');
  const events = await all(client.sendMessageStream(sending('work')));
  const [id] = idsOf(events[0]!);
  await client.getTask({ tenant: '', id, historyLength: undefined });
  await until('both are in the ledger', async () => (await agentRows(gateway)).length === before + 2);
  const [asked, streamed] = await agentRows(gateway);
  assert.deepEqual([streamed?.status, streamed?.class, streamed?.units, streamed?.stream], [200, 'ok', 1, true]);
  assert.equal(streamed?.route.agent?.method, 'SendStreamingMessage');
  assert.deepEqual([asked?.class, asked?.units, asked?.route.agent?.method], ['ok', 0, 'GetTask']);
  const task = id.slice(0, id.indexOf('.'));
  assert.deepEqual([asked?.route.agent?.task, streamed?.route.agent?.task], [task, task], "the agent's id, unsigned");
});

test('the log of requests is filtered by agent', async () => {
  const client = await agentClient(gateway, 'worker');
  await client.sendMessage(sending('hello'));
  const of = async (query: string) => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const response = await gateway.fetch(`/admin/v1/requests?${query}`, { headers });
    const body = (await response.json()) as { data?: AgentRow[]; error?: { message: string } };
    return { status: response.status, models: body.data?.map(({ model }) => model), error: body.error?.message };
  };
  await until('it is in the ledger', async () => (await of('agent=worker')).models?.includes('a2a/worker') === true);
  assert.deepEqual([...new Set((await of('agent=worker')).models)], ['a2a/worker']);
  assert.deepEqual((await of('agent=work')).models, []);
  const both = await of('agent=worker&model=mock');
  assert.equal(both.status, 400);
  assert.match(both.error ?? '', /agent: give either agent or model/);
});

test('a key can neither read, cancel, follow nor continue a task of another key of its account', async () => {
  const { id, contextId, client, leave } = await waitingTask();
  const of = { jsonrpc: '2.0', id: 'n' };
  const message = { ...sending('more').message, taskId: id };
  const attempts: [method: string, params: object][] = [
    ['GetTask', { id }],
    ['CancelTask', { id }],
    ['SubscribeToTask', { id }],
    ['SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'more' }], taskId: id } }],
    ['tasks/get', { id }],
    ['tasks/cancel', { id }],
    ['message/send', { message: { kind: 'message', messageId: 'm', role: 'user', parts: message.parts, taskId: id } }],
  ];
  for (const [method, params] of attempts) {
    const { status, error, id: answered } = await rpc(gateway, 'worker', { ...of, method, params }, otherKey);
    assert.deepEqual([method, status, answered, error?.code], [method, 200, 'n', -32001]);
    // The agent's own id is worth nothing either.
    const bare = JSON.parse(JSON.stringify(params).replaceAll(id, id.split('.')[0]!)) as object;
    assert.equal((await rpc(gateway, 'worker', { ...of, method, params: bare }, otherKey)).error?.code, -32001);
    assert.equal((await rpc(gateway, 'worker', { ...of, method, params: bare })).error?.code, -32001);
  }
  const listed = await rpc(gateway, 'worker', { ...of, method: 'ListTasks', params: { contextId } }, otherKey);
  assert.deepEqual(listed.result?.tasks, []);
  const task = await client.cancelTask({ tenant: '', id, metadata: undefined });
  assert.equal(task.status?.state, TaskState.TASK_STATE_CANCELED, 'its own key may');
  leave();
});

test('a key lists the tasks of its contexts, and has to name one', async () => {
  const client = await agentClient(gateway, 'worker');
  const task = (await client.sendMessage(sending('work'))) as Task;
  const of = { jsonrpc: '2.0', id: 1, method: 'ListTasks' };
  const listed = await rpc(gateway, 'worker', { ...of, params: { contextId: task.contextId } });
  assert.deepEqual(
    (listed.result as unknown as { tasks: Task[] }).tasks.map(({ id, contextId }) => [id, contextId]),
    [[task.id, task.contextId]],
  );
  const all = await rpc(gateway, 'worker', { ...of, params: {} });
  assert.deepEqual([all.status, all.error?.code], [200, -32004]);
});

test('a context belongs to the key that has it, whoever chose its name', async () => {
  const [mine, other] = [await agentClient(gateway, 'worker'), await agentClient(gateway, 'worker', { key: otherKey })];
  const seen = async (client: typeof mine, contextId: string) => {
    const answer = (await client.sendMessage(sending('hello', { contextId }))) as { contextId: string };
    return [agent.messages().at(-1)?.contextId, answer.contextId];
  };
  const [first, shown] = await seen(mine, '');
  assert.notEqual(first, shown);
  assert.deepEqual(await seen(mine, shown ?? ''), [first, shown], 'it goes on');
  assert.notEqual((await seen(other, shown ?? ''))[0], first);
  const [ofMine, backMine] = await seen(mine, 'conversation-7');
  const [ofOther, backOther] = await seen(other, 'conversation-7');
  assert.notEqual(ofMine, ofOther);
  assert.deepEqual([backMine, backOther], ['conversation-7', 'conversation-7']);
});

test('a caller who leaves ends the stream, and follows the task again to its end', async () => {
  const before = (await agentRows(gateway)).length;
  const { client, events, id, leave } = await waitingTask();
  leave();
  await assert.rejects(events.next());
  await until('it is in the ledger', async () => (await agentRows(gateway)).length > before);
  const [row] = await agentRows(gateway);
  assert.deepEqual([row?.class, row?.route.agent?.outcome], ['aborted', null]);
  const followed = client.resubscribeTask({ tenant: '', id });
  const { value: first } = await followed.next();
  assert.deepEqual(namesOf([first as StreamResponse]), ['task']);
  agent.goOn();
  const rest = await all(followed);
  assert.deepEqual(namesOf(rest), ['artifactUpdate', 'statusUpdate']);
  assert.deepEqual(idsOf(rest[0]!)[0], id);
});

test('push notifications are refused with the reason, wherever they are asked for', async () => {
  const config = { url: 'https://hook.example.org/', token: 'secret' };
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] };
  const attempts: [method: string, params: object][] = [
    ['CreateTaskPushNotificationConfig', { taskId: 'x', ...config }],
    ['tasks/pushNotificationConfig/set', { taskId: 'x', pushNotificationConfig: config }],
    ['tasks/pushNotificationConfig/list', { id: 'x' }],
    ['SendMessage', { message, configuration: { taskPushNotificationConfig: config } }],
    ['message/send', { message, configuration: { pushNotificationConfig: config } }],
  ];
  const before = agent.messages().length;
  for (const [method, params] of attempts) {
    const { status, error } = await rpc(gateway, 'worker', { jsonrpc: '2.0', id: 3, method, params });
    assert.deepEqual([method, status, error?.code], [method, 200, -32003]);
    assert.match(error?.message ?? '', /agent would call addresses/);
  }
  assert.equal(agent.messages().length, before);
});
