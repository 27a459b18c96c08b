import { setTimeout as pause } from 'node:timers/promises';
import { type Browser, chromium, type Page } from 'playwright-core';
import { loggedIn } from '../../test/browser-login.ts';
import { startOpenLoop } from '../availability/chat-thread.ts';
import { startMock } from '../availability/processes.ts';
import { percentile } from '../percentile.ts';
import { judged, type Row, told } from '../rows.ts';
import { adminKey, benchKey, type Server } from './server.ts';

const loads = 9;
const interactions = 12;
const dashboards = 10;
const chatRounds = 8;
const chatsPerSecond = 100;
const chatSeconds = 10;

/** Waits of a person who has it open, in a real Chromium. `executablePath` is that Chromium. */
export async function measurePages(server: Server, executablePath: string): Promise<Row[]> {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const paints: number[] = [];
    const shown: number[] = [];
    let bytes = 0;
    for (let load = 0; load < loads; load += 1) {
      const page = await openPage(browser, server);
      const startMs = performance.now();
      await page.goto('/dashboard');
      await page.locator('main canvas').first().waitFor();
      shown.push(performance.now() - startMs);
      const [paint, sent] = await page.evaluate<[number, number]>(paintAndBytes);
      paints.push(paint);
      bytes = sent;
      await page.context().close();
    }
    const logins = [];
    for (let load = 0; load < loads; load += 1) logins.push(await measureLogin(browser, server));
    const { handled, answered } = await interact(await openPage(browser, server));
    return [
      judged('first load of the Overview with its charts, gzip', [bytes / 1_000], {
        atMost: 200,
        unit: ' kB',
        digits: 0,
      }),
      judged('… first contentful paint, p95', [percentile(paints, 0.95)], { atMost: 1_000, unit: ' ms', digits: 0 }),
      told(
        '… charts drawn: p50, p95',
        `${percentile(shown, 0.5).toFixed(0)}, ${percentile(shown, 0.95).toFixed(0)} ms`,
      ),
      judged(`from the login to the charts, on a processor ${slowdown} times slower: p50`, [percentile(logins, 0.5)], {
        atMost: 2_000,
        unit: ' ms',
        digits: 0,
      }),
      told('… p95', `${percentile(logins, 0.95).toFixed(0)} ms`),
      judged('an interaction with the list of requests, to its next paint: p95', [percentile(handled, 0.95)], {
        atMost: 100,
        unit: ' ms',
        digits: 0,
      }),
      told(
        '… until other rows are shown: p50, p95',
        `${percentile(answered, 0.5).toFixed(0)}, ${percentile(answered, 0.95).toFixed(0)} ms`,
      ),
    ];
  } finally {
    await browser.close();
  }
}

async function openPage(browser: Browser, server: Server): Promise<Page> {
  const context = await browser.newContext({ baseURL: server.url, viewport: { width: 1280, height: 800 } });
  const { cookie } = await loggedIn(server, { admin_key: adminKey });
  const [name, value] = cookie.split('=');
  await context.addCookies([{ name: name!, value: value!, url: server.url }]);
  return context.newPage();
}

/** How many times slower Chromium runs than this processor. */
const slowdown = 4;

/** ms from the Enter key at the login to the charts of the Overview, nothing in the cache of the browser. */
async function measureLogin(browser: Browser, server: Server): Promise<number> {
  const context = await browser.newContext({ baseURL: server.url, viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
  await page.goto('/dashboard');
  await page.locator('input[type=password]').fill(adminKey);
  const startMs = performance.now();
  await page.keyboard.press('Enter');
  await page.locator('main canvas').first().waitFor();
  const ms = performance.now() - startMs;
  await context.close();
  return ms;
}

/** Requests before any of the server's data. */
const paintAndBytes = `[
  performance.getEntriesByName('first-contentful-paint')[0].startTime,
  [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .filter(({ name }) => !/\\/(admin|v1)\\//.test(name))
    .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
]`;

const watchInteractions = `
  globalThis.durations = new Map();
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries())
      if (interactionId > 0) durations.set(interactionId, Math.max(durations.get(interactionId) ?? 0, duration));
  }).observe({ type: 'event', durationThreshold: 16, buffered: true });
`;

/** Leafs, filters and opens. ms to the next paint, as browsers count it, and until what was asked for is there. */
async function interact(page: Page): Promise<{ handled: number[]; answered: number[] }> {
  await page.goto('/dashboard/requests');
  const first = page.locator('tbody tr').first();
  await first.waitFor();
  await page.evaluate(watchInteractions);
  const answered: number[] = [];
  for (let nth = 0; nth < interactions; nth += 1) {
    const before = await first.textContent();
    const startMs = performance.now();
    await page.getByRole('button', { name: 'Next page' }).click();
    await first.filter({ hasNotText: before! }).waitFor();
    answered.push(performance.now() - startMs);
  }
  for (const status of ['5xx', '2xx']) {
    const before = page.url();
    await page.getByLabel('Outcome').selectOption(status);
    await page.waitForURL((url) => url.href !== before);
    await first.waitFor();
  }
  await pause(500);
  const handled = await page.evaluate<number[]>('[...durations.values()]');
  await page.context().close();
  return { handled, answered };
}

/** How long chats take with and without ten dashboards that ask what open pages ask, in turns. */
export async function measureChats(server: Server): Promise<Row[]> {
  const calls = {
    url: server.url,
    model: 'chat',
    keys: [benchKey],
    form: 'both' as const,
    count: chatsPerSecond * chatSeconds,
    patienceMs: 10_000,
  };
  const chat = async () => {
    const { seen } = await startOpenLoop(calls, chatsPerSecond);
    const all = await seen;
    if (all.some(({ outcome }) => outcome !== 'answered')) throw new Error('A chat was not answered.');
    return all.map(({ ms }) => ms);
  };
  await chat();
  // All of a kind together: the p99 of one turn hangs on ten chats.
  const [alone, beside]: [number[], number[]] = [[], []];
  for (let round = 0; round < chatRounds; round += 1) {
    alone.push(...(await chat()));
    const closing = new AbortController();
    const open = Array.from({ length: dashboards }, (_, at) => keepOpen(server, at, closing.signal));
    beside.push(...(await chat()));
    closing.abort();
    await Promise.all(open);
  }
  const [without, with10] = [percentile(alone, 0.99), percentile(beside, 0.99)];
  return [
    judged('chat p99 with ten dashboards open ÷ without', [with10 / without], { atMost: 1.1, unit: '×', digits: 2 }),
    told('… p99 without, with', `${without.toFixed(1)}, ${with10.toFixed(1)} ms at ${chatsPerSecond} a second`),
  ];
}

/** Asks as the pages do: Overview every ten seconds, the newest requests every two. */
async function keepOpen(server: Server, at: number, closing: AbortSignal): Promise<void> {
  const until = (ms: number) => pause(ms, undefined, { signal: closing }).catch(() => {});
  await until(at * 150);
  for (let second = 0; !closing.aborted; second += 2) {
    if (at % 2 === 0) await server.get('/requests?limit=50');
    else if (second % 10 === 0) await server.get('/overview?range=24h');
    await until(2_000);
  }
}

/** Started with the upstream that its model `chat` asks. */
export async function chatUpstream(): Promise<{ config: Record<string, unknown>; stop(): void }> {
  const mock = await startMock();
  return {
    config: {
      providers: { up: { type: 'openai', base_url: `http://127.0.0.1:${mock.port}/v1`, api_key: 'upstream-secret' } },
      models: { chat: { targets: [{ provider: 'up', model: 'mock/ok' }] } },
      keys: [{ key: benchKey, account: 'team-0', name: 'bench' }],
    },
    stop: () => mock.stop(),
  };
}
