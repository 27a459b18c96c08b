import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { offLoopBodyBytes } from '../../src/kernel/limits.ts';
import { assertWithin, slowness } from '../machine-load.ts';
import { overUpstreams, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { chatOnce, startGatewayProcess } from './gateway-process.ts';
import { mainThreadMs, noThreadTimes, workerThreadsMs } from './main-thread.ts';

const has = (command: string) => spawnSync('which', [command]).status === 0;
const isLinux = process.platform === 'linux';

test('F20 slow headers get 408 at 10 s and a close; meanwhile everyone else is served', async (t) => {
  const { url } = await startGatewayProcess(t, await overOne(t));
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1');
  });
  socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n');
  const drip = setInterval(() => socket.write('x-slow: 1\r\n'), 500);
  t.after(() => clearInterval(drip));
  const startedMs = performance.now();
  const others: number[] = [];
  const closed = once(socket, 'close');
  let open = true;
  void closed.then(() => {
    open = false;
  });
  while (open) {
    const { status, ms } = await chatOnce(url);
    assert.equal(status, 200);
    others.push(ms);
    await Promise.race([closed, after(100)]);
  }
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs > 9_000, `${tookMs} ms`);
  assertWithin(tookMs, 14_000);
  assert.match(received, /^HTTP\/1\.1 408 /);
  others.sort((a, b) => a - b);
  assertWithin(others[Math.floor(others.length * 0.9)]!, 100, 'p90 of the others');
});

for (const [mode, name] of [
  ['-H', 'headers'],
  ['-B', 'a body'],
  ['-R', 'ranges'],
] as const) {
  test(`F20 slowhttptest ${mode} (slow ${name}): others are served all the time`, {
    skip: has('slowhttptest') ? false : 'slowhttptest is not installed (npm run setup:test-tools)',
  }, async (t) => {
    const { url, lives } = await startGatewayProcess(t, await overOne(t));
    await chatOnce(url);
    const args = [mode, '-c', '300', '-r', '300', '-i', '1', '-l', '4', '-u', `${url}/v1/chat/completions`];
    const attack = spawn('slowhttptest', args, { stdio: 'ignore' });
    const ended = once(attack, 'exit');
    let attacking = true;
    void ended.then(() => {
      attacking = false;
    });
    const others: number[] = [];
    while (attacking) {
      const { status, ms } = await chatOnce(url);
      assert.equal(status, 200);
      others.push(ms);
      await after(20);
    }
    others.sort((a, b) => a - b);
    assert.ok(others.length > 20);
    assertWithin(others[Math.floor(others.length * 0.95)]!, 150, 'p95 of the others');
    assert.ok(lives());
  });
}

test('F22 out of file descriptors: no crash, and it serves again as soon as there are some', {
  skip: isLinux && has('prlimit') ? false : 'prlimit is not there',
}, async (t) => {
  const { url, lives } = await startGatewayProcess(t, await overOne(t), { under: ['prlimit', '--nofile=128:128'] });
  assert.equal((await chatOnce(url)).status, 200);
  const sockets: Socket[] = [];
  for (let opened = 0; opened < 300; opened++) {
    sockets.push(connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined));
  }
  await after(500);
  assert.ok(lives());
  for (const socket of sockets) socket.destroy();
  await until('it serves again', async () => (await chatOnce(url).catch(() => null))?.status === 200);
  assert.ok(lives());
});

/** CPU that the main thread may take for one large body, over that of a plain proxy, which only passes its bytes on. */
const timesPlainMax = 5;
/** What it may take in any case, ms. */
const loopMsMin = 90;
/** A thread that reads a body takes at least this share of the CPU time of `JSON.parse`. */
const parsedShareMin = 0.5;
/** CPU time grows where cores share caches: the best of some rounds is the body's own. */
const roundsMax = 6;
/** Requests of others in a calm moment, whose CPU time is the measure for those that come meanwhile. */
const calmPings = 100;

/** CPU time of the main thread for one of the others' requests while nothing else happens, ms. */
async function calmPingCpuMs(url: string, pid: number): Promise<number> {
  const beforeMs = mainThreadMs(pid);
  for (let ping = 0; ping < calmPings; ping++) await pingMs(url);
  return (mainThreadMs(pid) - beforeMs) / calmPings;
}

/**
 * Sends a body from a process of its own, so that the measurement covers the gateway, and others' requests meanwhile.
 */
async function whileSending(url: string, payload: Buffer): Promise<{ pings: number[]; printed: string }> {
  const sender = spawn(process.execPath, ['-e', sendStdin, `${url}/v1/chat/completions`, testKey], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  sender.stdin.end(payload);
  let printed = '';
  sender.stdout.on('data', (bytes) => {
    printed += bytes;
  });
  let sending = true;
  const ended = once(sender, 'exit').then(() => {
    sending = false;
  });
  const pings: number[] = [];
  while (sending) {
    pings.push(await pingMs(url));
    await after(20);
  }
  await ended;
  return { pings, printed };
}

for (const [number, what, body] of [
  ['F23', 'a body of 30 MB', () => JSON.stringify({ model: 'chat', messages: many(300, 'x'.repeat(100_000)) })],
  [
    'F23',
    'a body of 20 MB in 200,000 messages',
    () => JSON.stringify({ model: 'chat', messages: many(200_000, 'x'.repeat(60)) }),
  ],
  ['F24', 'a body of a million brackets', () => `{"model":"chat","messages":${'['.repeat(1_000_000)}`],
  ['F24', 'a body of 900 KB, as deep as it can be', () => `{"model":"chat","messages":${'[{"a":'.repeat(150_000)}`],
] as const) {
  test(`${number} ${what}: answered or refused, and nobody else waits for it`, { skip: noThreadTimes }, async (t) => {
    // Nothing of it runs in this process, whose pings are the measure.
    const upstream = spawn(process.execPath, ['-e', discardAndAnswer], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => upstream.kill('SIGKILL'));
    const [port] = await once(upstream.stdout, 'data');
    const {
      url,
      lives,
      process: gateway,
    } = await startGatewayProcess(t, {
      ...overUpstreams(`http://127.0.0.1:${Number(String(port))}`),
      // The one whose threads are measured.
      server: { processes: 1 },
    });
    for (let round = 0; round < 20; round++) await chatOnce(url);
    const pingCpuMs = await calmPingCpuMs(url, gateway.pid!);
    const payload = Buffer.from(body());
    const plain = spawn(process.execPath, ['-e', passOn, String(Number(String(port)))], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => plain.kill('SIGKILL'));
    const plainUrl = `http://127.0.0.1:${Number(String((await once(plain.stdout, 'data'))[0]))}`;
    const plainMs: number[] = [];
    const loopMs: number[] = [];
    const workerMs: number[] = [];
    const isMuch = () => Math.min(...loopMs) > Math.max(loopMsMin * slowness(), timesPlainMax * Math.min(...plainMs));
    do {
      let beforeMs = mainThreadMs(plain.pid!);
      await whileSending(plainUrl, payload);
      plainMs.push(mainThreadMs(plain.pid!) - beforeMs);
      beforeMs = mainThreadMs(gateway.pid!);
      const workersBefore = workerThreadsMs(gateway.pid!);
      const { pings, printed } = await whileSending(url, payload);
      assert.match(printed, /^(200|400|413)$/);
      loopMs.push(mainThreadMs(gateway.pid!) - beforeMs - pings.length * pingCpuMs);
      const workers = [...workerThreadsMs(gateway.pid!)];
      workerMs.push(Math.max(...workers.map(([id, ms]) => ms - (workersBefore.get(id) ?? 0))));
      t.diagnostic(
        `${pings.length} others, the slowest ${Math.round(Math.max(...pings))} ms; ${Math.round(loopMs.at(-1)!)} ms of the main thread, ${Math.round(plainMs.at(-1)!)} of a plain proxy, ${Math.round(workerMs.at(-1)!)} of a worker; answered ${printed}`,
      );
    } while (isMuch() && loopMs.length < roundsMax);
    // Every other request waits for what is done on the loop: the main thread passes the bytes on, a worker reads them.
    assert.ok(!isMuch(), `${loopMs} ms of the main thread, where a plain proxy takes ${plainMs}`);
    if (payload.length > offLoopBodyBytes) {
      const { user, system } = process.threadCpuUsage();
      JSON.parse(payload.toString());
      const after = process.threadCpuUsage({ user, system });
      const parseMs = (after.user + after.system) / 1_000;
      assert.ok(
        Math.max(...workerMs) > parsedShareMin * parseMs,
        `a worker took ${workerMs} ms, where JSON.parse takes ${parseMs}`,
      );
    }
    assert.ok(lives());
  });
}

test('F31 the disk of the log is full: requests are served', {
  skip: existsSync('/dev/full') ? false : 'there is no /dev/full',
}, async (t) => {
  const { url, lives } = await startGatewayProcess(t, await overOne(t), { log: '/dev/full' });
  for (let request = 0; request < 200; request++) assert.equal((await chatOnce(url)).status, 200);
  // Longer than a batch of lines waits for its write.
  await after(1_200);
  assert.equal((await chatOnce(url)).status, 200);
  assert.ok(lives());
});

test('F2 a stopped upstream process, and one whose queue is full: the next provider answers', async (t) => {
  const healthy = await startUpstream();
  t.after(() => healthy.close());
  const stopped = spawn(process.execPath, ['-e', listenAndPrint], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => stopped.kill('SIGKILL'));
  const [line] = await once(stopped.stdout, 'data');
  process.kill(stopped.pid!, 'SIGSTOP');
  const config = overUpstreams(`http://127.0.0.1:${Number(String(line))}`, healthy.url) as {
    providers: Record<string, { timeouts?: object }>;
  };
  config.providers.up1!.timeouts = { connect: '200ms', first_token: '300ms', total: '300ms' };
  const { url } = await startGatewayProcess(t, config);
  const answers = await Promise.all(Array.from({ length: 12 }, () => chatOnce(url)));
  for (const { status, ms } of answers) {
    assert.equal(status, 200);
    assertWithin(ms, 2_000);
  }
});

test('F8 an upstream that vanishes in mid-stream without a word: an error at the idle timeout, and its socket is gone', {
  skip: networkNamespaces() ? false : 'network namespaces need root and ip(8)',
}, async (t) => {
  const [space, ours, theirs] = [`cv${process.pid}`, `cvh${process.pid % 10_000}`, `cvp${process.pid % 10_000}`];
  const ip = (...args: string[]) => execFileSync('ip', args, { stdio: 'pipe' });
  t.after(() => {
    spawnSync('ip', ['link', 'del', ours]);
    spawnSync('ip', ['netns', 'del', space]);
  });
  // Never the network of another run: a link outlives its namespace by a while.
  const network = `10.213.${process.pid % 250}`;
  const upstreamUrl = `http://${network}.2:8080`;
  ip('netns', 'add', space);
  ip('link', 'add', ours, 'type', 'veth', 'peer', 'name', theirs, 'netns', space);
  ip('addr', 'add', `${network}.1/30`, 'dev', ours);
  ip('link', 'set', ours, 'up');
  ip('-n', space, 'addr', 'add', `${network}.2/30`, 'dev', theirs);
  ip('-n', space, 'link', 'set', theirs, 'up');
  const upstream = spawn('ip', ['netns', 'exec', space, process.execPath, '-e', speakThenWait, `${network}.2`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => upstream.kill('SIGKILL'));
  await once(upstream.stdout, 'data');
  // A new link takes a moment to carry anything.
  while ((await fetch(upstreamUrl, { signal: AbortSignal.timeout(500) }).catch(() => null)) === null);
  const config = overUpstreams(upstreamUrl) as { providers: Record<string, { timeouts?: object }> };
  config.providers.up1!.timeouts = { connect: '1s', first_token: '2s', idle: '500ms' };
  const { url, process: gateway } = await startGatewayProcess(t, config);
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  const reader = response.body!.getReader();
  await reader.read();
  ip('-n', space, 'link', 'set', theirs, 'down');
  let body = '';
  for (let part = await reader.read(); !part.done; part = await reader.read())
    body += Buffer.from(part.value).toString();
  assert.match(body, /"error".*went silent/);
  assert.doesNotMatch(body, /\[DONE\]/);
  const sockets = execFileSync('ss', ['-tnpH', 'dst', `${network}.2`]).toString();
  assert.doesNotMatch(sockets, new RegExp(`pid=${gateway.pid},`));
});

async function overOne(t: TestContext): Promise<Record<string, unknown>> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  return overUpstreams(upstream.url);
}

function many(count: number, content: string): { role: string; content: string }[] {
  return Array.from({ length: count }, () => ({ role: 'user', content }));
}

async function pingMs(url: string): Promise<number> {
  const startedMs = performance.now();
  await (await fetch(`${url}/healthz`)).arrayBuffer();
  return performance.now() - startedMs;
}

function networkNamespaces(): boolean {
  if (!isLinux || process.getuid?.() !== 0 || !has('ip') || !has('ss')) return false;
  const probe = `cvprobe${process.pid}`;
  const made = spawnSync('ip', ['netns', 'add', probe]).status === 0;
  if (made) spawnSync('ip', ['netns', 'del', probe]);
  return made;
}

const sendStdin = `
const chunks = [];
process.stdin.on('data', (chunk) => chunks.push(chunk)).on('end', async () => {
  const headers = { authorization: 'Bearer ' + process.argv[2], 'content-type': 'application/json' };
  const response = await fetch(process.argv[1], { method: 'POST', headers, body: Buffer.concat(chunks) });
  await response.arrayBuffer();
  process.stdout.write(String(response.status));
});`;

const discardAndAnswer = `
const answer = JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }] });
require('node:http').createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(request.method === 'GET' ? 404 : 200).end(answer));
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;

const passOn = `
const { createServer, request } = require('node:http');
createServer((incoming, response) => {
  const parts = [];
  incoming.on('data', (part) => parts.push(part)).on('end', () => {
    const body = Buffer.concat(parts);
    const to = { port: process.argv[1], host: '127.0.0.1', method: incoming.method, headers: { 'content-length': body.length } };
    request(to, (answer) => answer.pipe(response)).end(body);
  });
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;

const listenAndPrint = `
require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
  console.log(this.address().port);
});`;

const speakThenWait = `
const chunk = (delta) => 'data: ' + JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] }) + '\\n\\n';
require('node:http').createServer((request, response) => {
  if (request.method === 'GET') return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunk({ role: 'assistant', content: 'Hi' }));
}).listen(8080, process.argv[1], () => console.log('ready'));`;
