import assert from 'node:assert/strict';
import { test } from 'node:test';
import { otherKey, testKey } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask, embedded, inOnly, replaced, startProcesses } from './start-processes.ts';

test('a cancellation of MCP ends the call in whichever worker it runs, and none where two have the id', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const server = await startMcpServer(t, { tools: ['steps'] });
  const gateway = await startProcesses(t, embedded, upstream.url, { mcp: { servers: { one: { url: server.url } } } });
  const [one = 0, other = 0] = gateway.workers();
  const accept = { accept: 'application/json, text/event-stream' };
  const post = (message: object) => ask(gateway.url, '/mcp', { jsonrpc: '2.0', ...message }, testKey, accept);
  const inWorker = <T>(worker: number, work: () => Promise<T>) => inOnly(worker === one ? other : one, work);
  let waiting = 0;
  /** Begins a call in a worker, which waits until it is cancelled. */
  const begin = async (worker: number, id: number) => {
    const calls: ReturnType<typeof ask>[] = [];
    waiting += 1;
    await inWorker(worker, async () => {
      calls.push(post({ id, method: 'tools/call', params: { name: 'one__wait', arguments: {} } }));
      await until('it runs', () => server.waiting() === waiting);
    });
    return calls;
  };
  const cancel = async (worker: number, requestId: number) => {
    const answer = await inWorker(worker, () => post({ method: 'notifications/cancelled', params: { requestId } }));
    assert.equal(answer.status, 202);
  };
  const twins = [...(await begin(one, 2)), ...(await begin(other, 2))];
  const [[away], [here]] = [await begin(other, 1), await begin(one, 3)];
  await cancel(one, 2);
  await cancel(one, 1);
  await cancel(one, 3);
  assert.deepEqual([(await away)?.status, (await here)?.status], [200, 200]);
  await until('both are cancelled there', () => server.waiting() <= 2);
  assert.equal(server.waiting(), 2, 'the twins go on');
  await server.close();
  await Promise.allSettled(twins);
});

test('a worker knows the least level of log messages that a key has set at another, also one that comes later', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const server = await startMcpServer(t, { tools: ['steps'] });
  const keys = [testKey, otherKey].map((key, at) => ({ key, account: `account-${at}`, name: 'test' }));
  const mcp = { servers: { one: { url: server.url } } };
  const gateway = await startProcesses(t, embedded, upstream.url, { mcp, keys });
  const [one = 0, other = 0] = gateway.workers();
  const accept = { accept: 'application/json, text/event-stream' };
  const post = (message: object, key: string) =>
    ask(gateway.url, '/mcp', { jsonrpc: '2.0', id: 1, ...message }, key, accept);
  const setLevel = async (level: string) => {
    const set = await inOnly(other, () => post({ method: 'logging/setLevel', params: { level } }, testKey));
    assert.equal(set.status, 200);
  };
  const params = { name: 'one__steps', arguments: { name: 'it' } };
  const levels = async (key: string) => {
    const { text } = await post({ method: 'tools/call', params }, key);
    assert.match(text, /it: 3 steps/);
    return [...text.matchAll(/"level":"(\w+)"/g)].map(([, level]) => level);
  };
  const every = ['debug', 'warning', 'debug', 'warning', 'debug', 'warning'];
  const warnings = ['warning', 'warning', 'warning'];
  assert.deepEqual(await inOnly(one, () => levels(testKey)), every);
  await setLevel('warning');
  assert.deepEqual(await inOnly(other, () => levels(testKey)), warnings);
  assert.deepEqual(await inOnly(one, () => levels(testKey)), warnings);
  assert.deepEqual(await inOnly(one, () => levels(otherKey)), every);
  await setLevel('error');
  process.kill(other, 'SIGKILL');
  await replaced(gateway, 1);
  assert.deepEqual(await inOnly(one, () => levels(testKey)), []);
});
