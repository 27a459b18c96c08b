import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { chromiumMissing } from '../../../test/chromium.ts';
import type { Rendered } from '../page-renderer.ts';
import { createChromiumRenderer } from './chromium-renderer.ts';
import { findChromium } from './find-chromium.ts';
import { createRenderThread } from './render-thread.ts';

/** Threads that this process began, the last one last. */
const begun: Worker[] = [];
process.on('worker', (worker: Worker) => begun.push(worker));

const noProc = existsSync('/proc/self/stat') ? false : 'needs /proc';

/** Where browsers write while the test runs. */
function ownTemporaryFolder(t: TestContext): string {
  const before = process.env.TMPDIR;
  // The path of a socket has 107 bytes at most, and Chromium adds some sixty to this one.
  const folder = mkdtempSync('/tmp/cv-');
  process.env.TMPDIR = folder;
  t.after(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** A page of the site is rendered; `listener` answers for the site. */
async function open(t: TestContext, listener: RequestListener, chromium: () => string | undefined = () => undefined) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const troubles: string[] = [];
  const renderer = createChromiumRenderer({
    rules: () => ({ ports: [], allow_private: [place] }),
    resolve: () => Promise.reject(new Error('ENOTFOUND')),
    chromium,
    userAgent: () => 'Culvert/0',
    dataDir: `/data/${process.pid}`,
    nowMs: () => performance.now(),
    onTrouble: (message) => troubles.push(message),
  });
  t.after(() => renderer.close());
  const render = (mayFollow: ((url: URL) => Promise<boolean>) | null = null, path = '/') => {
    const usual = { headers: {}, mobile: false, waitForMs: 0, screenshot: null, bytesMax: 100_000, timeoutMs: 60_000 };
    const signal = new AbortController().signal;
    return renderer.render({ ...usual, tenant: 'a', url: `http://${place}${path}`, mayFollow, signal });
  };
  return { renderer, render, troubles };
}

const html: RequestListener = (_request, response) =>
  void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>words</p>');

function textOf(rendered: Rendered): string {
  return rendered.ok ? rendered.body.toString() : JSON.stringify(rendered);
}

test('a browser that dies, and a thread that is lost, cost the page under way a second try', {
  skip: chromiumMissing || noProc,
}, async (t) => {
  let kill: (() => unknown) | null = null;
  const { render, troubles } = await open(t, (request, response) => {
    kill?.();
    kill = null;
    html(request, response);
  });
  assert.match(textOf(await render()), /words/);
  const [first] = browsers();
  kill = () => process.kill(first!, 'SIGKILL');
  assert.match(textOf(await render()), /words/);
  const [second] = browsers();
  assert.notEqual(second, first);
  kill = () => {
    // So that it does not end by itself.
    process.kill(second!, 'SIGSTOP');
    return begun.at(-1)!.terminate();
  };
  assert.match(textOf(await render()), /words/);
  assert.notEqual(browsers()[0], second);
  // The browser of the lost thread ends with it.
  while (browsers().length > 1) await pause(20);
  assert.deepEqual(
    troubles.filter((trouble) => !/without its sandbox/.test(trouble)),
    [],
  );
});

test('another Chromium that the configuration names is started for the next page, and the one before ends', {
  skip: chromiumMissing || noProc,
}, async (t) => {
  const other = join(ownTemporaryFolder(t), 'chromium');
  symlinkSync(findChromium(undefined)!, other);
  let named: string | undefined;
  const { render } = await open(t, html, () => named);
  const browserOf = async () => {
    assert.match(textOf(await render()), /words/);
    const [browser, ...more] = browsers();
    assert.deepEqual(more, []);
    return browser;
  };
  const first = await browserOf();
  assert.equal(await browserOf(), first);
  named = other;
  const second = await browserOf();
  assert.notEqual(second, first);
  assert.equal(await browserOf(), second);
});

test('nothing is left of the browser when the server has closed, nor of one that was starting', {
  skip: chromiumMissing || noProc,
}, async (t) => {
  const folder = ownTemporaryFolder(t);
  const homes = () => readdirSync(folder).filter((name) => name.startsWith('cv-chromium-'));
  const one = await open(t, html);
  assert.match(textOf(await one.render()), /words/);
  assert.deepEqual([browsers().length, homes().length], [1, 1]);
  await one.renderer.close();
  assert.deepEqual([browsers(), homes()], [[], []]);
  const other = await open(t, html);
  const rendering = other.render();
  while (browsers().length === 0) await pause(5);
  await other.renderer.close();
  assert.equal((await rendering).ok, false);
  while (browsers().length > 0) await pause(20);
  assert.deepEqual(homes(), []);
});

test('a page is held before it goes where it may not, by redirect or script, and asked for where it may', {
  skip: chromiumMissing,
}, async (t) => {
  const requests: string[] = [];
  const { render } = await open(t, (request, response) => {
    requests.push(request.url!);
    if (request.url === '/moves') return void response.writeHead(302, { location: '/on' }).end();
    if (request.url === '/on') return void response.writeHead(302, { location: '/forbidden' }).end();
    if (request.url!.startsWith('/wanders')) {
      return void response.writeHead(302, { location: `/wanders${requests.length}` }).end();
    }
    response.writeHead(200, { 'content-type': 'text/html' });
    // A frame is no place where the page itself goes.
    if (request.url === '/leads')
      response.end('<iframe src="/frame"></iframe><script>location = "/forbidden"</script>');
    else response.end('<p>words</p>');
  });
  for (const path of ['/moves', '/leads']) {
    const logged: string[] = [];
    const rendered = await render(async ({ pathname }) => {
      logged.push(pathname);
      return pathname !== '/forbidden';
    }, path);
    assert.equal(rendered.ok || rendered.reason, 'redirects', path);
    assert.deepEqual(logged, path === '/moves' ? ['/on', '/forbidden'] : ['/forbidden']);
  }
  assert.ok(requests.includes('/on') && !requests.includes('/forbidden'), requests.join());
  assert.match(textOf(await render(async () => true, '/moves')), /words/);
  assert.ok(requests.includes('/forbidden'));
  let questions = 0;
  const wandering = await render(async () => ++questions > 0, '/wanders');
  assert.deepEqual([wandering.ok || wandering.reason, questions], ['redirects', 10], 'nor asks robots.txt without end');
});

/** A thread with `script` in Chromium's place. */
function openThread(t: TestContext, script: string, times: { leaveMaxMs?: number; idleMs?: number }) {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
  const chromium = join(folder, 'chromium');
  writeFileSync(chromium, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const thread = createRenderThread({
    homes: { fresh: async () => folder, remove: async () => undefined },
    resolve: () => Promise.reject(new Error('ENOTFOUND')),
    onTrouble: () => undefined,
    ...times,
  });
  t.after(async () => {
    await thread.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const usual = { headers: {}, mobile: false, waitForMs: 0, screenshot: null, bytesMax: 100, timeoutMs: 60_000 };
  const page = { ...usual, chromium, userAgent: 'x', rules: { ports: [], allow_private: [] } };
  return (signal: AbortSignal) => thread.visit({ ...page, url: 'http://127.0.0.1:9/' }, { mayFollow: null, signal });
}

test('a thread that does not let go of a page is ended, and the next page gets another', async (t) => {
  const visit = openThread(t, 'exec sleep 10', { leaveMaxMs: 1 });
  const threads = begun.length;
  for (const more of [1, 2]) {
    const leaving = new AbortController();
    const ended = visit(leaving.signal);
    while (begun.length < threads + more) await pause(5);
    leaving.abort();
    assert.equal(await ended, 'died');
  }
});

test('a thread that has had no page for a while ends', async (t) => {
  const visit = openThread(t, 'exit 1', { idleMs: 1 });
  const ended = await visit(new AbortController().signal);
  assert.ok(ended !== 'died' && !ended.ok && ended.reason === 'unfit');
  await once(begun.at(-1)!, 'exit');
});

/** Pids of the Chromiums that this process started. */
function browsers(): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const [, name, state, ppid] = /^\d+ \((.*)\) (\S) (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))!;
      return /chrom/.test(name!) && state !== 'Z' && Number(ppid) === process.pid ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}
