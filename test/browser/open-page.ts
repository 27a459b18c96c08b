import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { findChromium } from '../../src/tools/render/find-chromium.ts';
import { chromiumMissing } from '../chromium.ts';
import { adminKey, type TestGateway } from '../start-gateway.ts';

/** Folder of the pictures for people to look at; undefined: none are made, which takes a quarter of the time of these tests. */
const pictures = process.env.CULVERT_SCREENSHOTS;
/** Outside the repository. */
const recordings = pictures ?? join(tmpdir(), 'culvert-screenshots');
const axeSource = () => readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// Every gateway of these tests serves web/dist: it is built before the first one starts.
if (chromiumMissing === false) {
  const build = (await import(String(new URL('../../scripts/build-web.mjs', import.meta.url)))) as {
    ensureWeb(): Promise<unknown>;
  };
  await build.ensureWeb();
}

/** A name of this machine that browsers trust no more over plain http than that of any other. */
export const otherMachine = 'culvert.test';

let launched: Promise<Browser> | undefined;
after(async () => (await launched)?.close());

/** Chromium without a window: one for all tests of the process, closed after them. */
function browser(): Promise<Browser> {
  launched ??= chromium.launch({
    executablePath: findChromium(undefined)!,
    args: [
      '--no-sandbox',
      '--process-per-site',
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
      '--autoplay-policy=no-user-gesture-required',
      `--host-resolver-rules=MAP ${otherMachine} 127.0.0.1`,
    ],
  });
  return launched;
}

export const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;

interface Opening {
  /** Null: nobody is logged in. */
  login?: { admin_key: string } | { key: string } | null;
  size?: keyof typeof sizes;
  scheme?: 'light' | 'dark';
  /** Whether an answer of 4xx or 5xx, or none, fails the test as an error of a script does. */
  refusals?: 'expected' | 'faults';
  /** The actions are recorded beside the pictures, under this name: `playwright show-trace FILE`. */
  record?: string;
}

/**
 * A page of the dashboard, logged in, with cookies and storage of its own. Errors of its scripts, and what its
 * Content-Security-Policy refuses, fail the test at its end.
 */
export async function openPage(
  t: Pick<TestContext, 'after'>,
  gateway: Pick<TestGateway, 'url'>,
  path: string,
  { login = { admin_key: adminKey }, size = 'desktop', scheme = 'light', refusals = 'expected', record }: Opening = {},
): Promise<Page> {
  const context = free.get(`${gateway.url} ${size}`)?.pop() ?? (await newContext(gateway.url, size));
  const faults: string[] = [];
  const page = await context.newPage();
  t.after(async () => {
    if (record !== undefined) await context.tracing.stop({ path: join(recordings, `${record}.zip`) });
    await leave(page, gateway.url, size);
    assert.deepEqual(faults, []);
  });
  if (login !== null) {
    const answer = await context.request.post('/dashboard/session', { data: login, headers: { origin: gateway.url } });
    assert.equal(answer.status(), 200, await answer.text());
  }
  if (record !== undefined) await context.tracing.start({ screenshots: true, snapshots: true });
  page.on('pageerror', (error) => faults.push(`${page.url()}: ${error}`));
  page.on('console', (message) => {
    // Over plain http from another machine a browser passes over a header that is sent in any case.
    if (message.text().includes("the URL's origin was untrustworthy")) return;
    const refusal = message.text().startsWith('Failed to load resource');
    const isFault = message.type() === 'error' && (refusals === 'faults' || !refusal);
    if (isFault) faults.push(`${page.url()}: ${message.text()}`);
  });
  if (scheme === 'dark') await page.emulateMedia({ colorScheme: scheme });
  await page.goto(path);
  return page;
}

/**
 * Emptied contexts, by gateway and size. Another page in one costs less than half of one in a new context, whose
 * process compiles every script anew.
 */
const free = new Map<string, BrowserContext[]>();

async function newContext(baseURL: string, size: keyof typeof sizes): Promise<BrowserContext> {
  const context = await (await browser()).newContext({
    baseURL,
    viewport: sizes[size],
    colorScheme: 'light',
    hasTouch: size === 'phone',
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
    permissions: ['clipboard-read', 'clipboard-write', 'microphone'],
  });
  // The process ends with its last page.
  const parked = await context.newPage();
  await parked.goto('/healthz');
  return context;
}

/** Closes the page, and leaves its context as a new one is. */
async function leave(page: Page, origin: string, size: keyof typeof sizes): Promise<void> {
  const context = page.context();
  await page.close();
  await context.setOffline(false);
  await context.clearCookies();
  const session = await context.newCDPSession(context.pages()[0]!);
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'local_storage' });
  await session.detach();
  const place = `${origin} ${size}`;
  free.set(place, [...(free.get(place) ?? []), context]);
}

/** Goes to another page as a link does, without loading the scripts again. */
export async function followTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`new Promise((done) => {
    const stop = __TSR_ROUTER__.subscribe('onRendered', () => { stop(); done(); });
    __TSR_ROUTER__.history.push(${JSON.stringify(path)});
  })`);
  await settled(page);
}

/** Waits until the page is there and has finished loading. */
export async function settled(page: Page): Promise<void> {
  await page.locator('main h1').waitFor();
  // A table that waits for newer rows is paler than a page at rest.
  const loading = page.getByLabel('Loading', { exact: true }).or(page.locator('main section[aria-busy=true]'));
  while ((await loading.count()) > 0) await loading.first().waitFor({ state: 'detached' });
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

/** Lines in which a form shows changes of others meanwhile: field, theirs, yours. */
export async function changes(page: Page): Promise<string[]> {
  const rows = page.getByRole('table', { name: 'What was changed' }).locator('tbody tr');
  return (await rows.allInnerTexts()).map((line) => line.replaceAll(/\s+/g, ' '));
}

interface AxeViolation {
  id: string;
  nodes: { html: string; any: { message: string }[] }[];
}

/** Fails when axe finds anything on the page. */
export async function assertAccessible(page: Page, what = page.url()): Promise<void> {
  // Not by a script element, which the page's Content-Security-Policy would refuse; once for each document.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axeSource());
  const found = await page.evaluate<AxeViolation[]>(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  );
  const said = found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, any }) => `${id}: ${any[0]?.message ?? ''} ${html.slice(0, 200)}`),
  );
  assert.deepEqual(said, [], `axe, ${what}`);
}

/** Fails where something is wider than the window, or a page of the dashboard scrolls as a whole. */
export async function assertFits(page: Page, what = page.url()): Promise<void> {
  const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  assert.ok(excess <= 0, `${what} is ${excess} px wider than the window`);
  const below = await page.evaluate<number>(
    "document.getElementById('page') === null ? 0 : document.documentElement.scrollHeight - innerHeight",
  );
  assert.ok(below <= 0, `${what} is ${below} px longer than the window, besides its own scrolling`);
}

/** Fails where a table must be scrolled sideways, or its menu covers the head of a column. */
export async function assertTablesFit(page: Page, what = page.url()): Promise<void> {
  const cut = await page.evaluate<string[]>(
    `[...document.querySelectorAll('main section:has(> table)')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map((table) => table.ariaLabel + ' by ' + (table.scrollWidth - table.clientWidth) + ' px')`,
  );
  assert.deepEqual(cut, [], `${what} has tables that one must scroll sideways`);
  const covered = await page.evaluate<string[]>(
    `[...document.querySelectorAll('main section:has(> table)')].flatMap((section) => {
      const menu = section.parentElement.querySelector('button[aria-haspopup=menu]')?.getBoundingClientRect();
      return [...section.querySelectorAll('th')].filter((head) => {
        const range = document.createRange();
        range.selectNodeContents(head);
        const { left, right, width } = range.getBoundingClientRect();
        // What only a screen reader has is a pixel wide.
        return menu !== undefined && width > 2 && head.querySelector('.sr-only')?.offsetWidth !== 1 && right > menu.left && left < menu.right;
      }).map((head) => section.ariaLabel + ': ' + head.textContent);
    })`,
  );
  assert.deepEqual(covered, [], `${what} has heads of columns below the menu of the table`);
  const shifted = await page.evaluate<string[]>(
    `[...document.querySelectorAll('main section > table')].flatMap((table) =>
      [...table.querySelectorAll('th')].filter((head, at) => {
        const style = getComputedStyle(head);
        const cell = table.querySelector('tbody tr')?.children[at];
        if (cell === undefined || style.display === 'none' || style.textAlign !== 'right') return false;
        return head.querySelector('.sr-only') === null && getComputedStyle(cell).paddingRight !== style.paddingRight;
      }).map((head) => table.parentElement.ariaLabel + ': ' + head.textContent))`,
  );
  assert.deepEqual(shifted, [], `${what} has figures that do not end below the end of their head`);
}

/** A picture for people to look at, where `CULVERT_SCREENSHOTS` names a folder for it. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

/**
 * Shows what a page shows on a desktop, light, and on a phone, dark, without loading it again: it fits, and people with
 * impairments can use it. Where somebody wants pictures, `shoot` takes one of each size in each scheme.
 */
export async function assertLooksRight(page: Page, name: string): Promise<void> {
  for (const [size, scheme] of pictures === undefined ? looks : [...looks, ...otherLooks]) {
    await page.setViewportSize(sizes[size]);
    await page.emulateMedia({ colorScheme: scheme });
    await settled(page);
    await assertFits(page, name);
    await assertTablesFit(page, name);
    await assertAccessible(page, `${name}, ${size}, ${scheme}`);
    await shoot(page, `${name}-${size}-${scheme}`);
  }
}

/** Colours differ by scheme; order, labels and widths by size: two of the four are enough for all of them. */
const looks = [
  ['desktop', 'light'],
  ['phone', 'dark'],
] as const;
const otherLooks = [
  ['phone', 'light'],
  ['desktop', 'dark'],
] as const;
