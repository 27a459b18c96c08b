import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testKey } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask, embedded, inOnly, startProcesses } from './start-processes.ts';

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
