import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { adminKey, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import {
  apart,
  ask,
  chat,
  inOnly,
  overBoth,
  replaced,
  type StartedProcesses,
  startProcesses,
} from './start-processes.ts';

const mb = 1024 * 1024;

async function start(
  t: TestContext,
  over: Parameters<typeof startProcesses>[1],
  server: Record<string, unknown>,
  more: Record<string, unknown> = {},
) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startProcesses(t, over, upstream.url, { ...more, server });
  const [one, other] = gateway.workers();
  assert(one !== undefined && other !== undefined);
  return { gateway, one, other };
}

/** A connection on which `head` was sent, and what a worker answered first. */
async function connected(t: TestContext, { url }: StartedProcesses, head: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
  t.after(() => socket.destroy());
  socket.write(head);
  const [answer] = await once(socket, 'data');
  return { socket, answer: String(answer) };
}

overBoth('connections of an address count over all workers, also those that start later or die', async (t, over) => {
  const { gateway, one, other } = await start(t, over, { connections_per_address: 8 });
  let open = 0;
  let first: Socket | null = null;
  /** Tries to open one that stays. */
  const isRefused = async () => {
    const { socket, answer } = await connected(t, gateway, 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
    if (answer.includes(' 200 OK')) {
      open += 1;
      first ??= socket;
    } else {
      assert.match(answer, /as many as one address may have .server\.connections_per_address/);
      socket.destroy();
    }
    return !answer.includes(' 200 OK');
  };
  /** A worker that goes on may accept one before it hears what the other said. */
  const refusesSoon = async (what: string) => {
    const before = open;
    await until(what, isRefused);
    assert(open - before <= 2, `${what}: ${open - before} were let in`);
  };
  /** A scrape goes through the primary, behind what the worker of `first` has said before. */
  const primaryKnows = async () => {
    assert(first !== null);
    first.write(`GET /metrics HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${adminKey}\r\n\r\n`);
    assert.match(String(await once(first, 'data')), / 200 OK/);
  };
  await inOnly(one, () => until('a worker refuses more', isRefused));
  await primaryKnows();
  await inOnly(other, () => refusesSoon('the other worker refuses more'));

  process.kill(one, 'SIGKILL');
  await until('only those that are open here count', async () => (await isRefused()) && open >= 8);
  await replaced(gateway, 1);
  await primaryKnows();
  await inOnly(other, () => refusesSoon('a worker that starts later refuses more'));

  process.kill(other, 'SIGKILL');
  await until('what a dead worker had is free', async () => !(await isRefused()));
});

overBoth('bodies of an account count over all workers', async (t, over) => {
  const { gateway, one, other } = await start(t, over, { body_limit: '4mb', body_memory: '8mb' });
  const body = { ...chat, messages: [{ role: 'user', content: 'x'.repeat(mb) }] };
  const asked = async () => (await ask(gateway.url, '/v1/chat/completions', body)).status;
  /** Most of a body, which stays. Null where one that was asked in between took its room. */
  const mostOfOne = async () => {
    const { socket } = await connected(
      t,
      gateway,
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${testKey}\r\ncontent-type: application/json\r\ncontent-length: ${4 * mb}\r\nexpect: 100-continue\r\n\r\n`,
    );
    let isRefused = false;
    socket.on('data', () => {
      isRefused = true;
    });
    socket.write(Buffer.alloc(3.5 * mb, ' '));
    await until('it has come, or is refused', async () => (await asked()) === 503 || isRefused);
    if (!isRefused) return socket;
    socket.destroy();
    return null;
  };
  const half = await inOnly(one, async () => {
    for (;;) {
      const socket = await mostOfOne();
      if (socket !== null) return socket;
    }
  });
  await inOnly(other, () => until('the other worker has no room', async () => (await asked()) === 503));
  half.destroy();
  await until('the server has room', async () => (await asked()) === 200);
  await inOnly(other, () => until('the other worker has room', async () => (await asked()) === 200));
});

overBoth('what an account keeps counts over all workers', async (t, over) => {
  const plans = { default: { windows: 'off', rpm: 'off', storage: '1mb' } };
  const { gateway, one, other } = await start(t, over, {}, { plans });
  const field = (more: string, value: string) => `--b\r\ncontent-disposition: form-data; ${more}\r\n\r\n${value}\r\n`;
  const form = `${field('name="purpose"', 'batch')}${field('name="file"; filename="a.jsonl"', 'x'.repeat(700_000))}--b--`;
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'multipart/form-data; boundary=b' };
  const upload = () =>
    new Promise<number>((resolve, reject) => {
      const call = request(`${gateway.url}/v1/files`, { method: 'POST', headers, agent: apart }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      call.on('error', reject).end(form);
    });
  const kept = async () => {
    const usage = JSON.parse((await ask(gateway.url, '/v1/usage')).text) as { storage: { used_bytes: number } };
    return usage.storage.used_bytes;
  };
  for (const stopped of [one, other]) assert.equal(await inOnly(stopped, kept), 0);
  await inOnly(one, async () => {
    assert.equal(await upload(), 200);
    // A worker that answers has told the others what it stored for earlier answers.
    assert.equal(await kept(), 700_000);
  });
  await inOnly(other, () => until('the other worker counts it', async () => (await kept()) === 700_000));
  assert.equal(await inOnly(other, upload), 429);
});
