import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findChromium } from '../../src/tools/render/find-chromium.ts';
import { logIn } from '../browser-login.ts';
import { adminKey, type TestGateway } from '../start-gateway.ts';

const shots = process.env.CULVERT_SCREENSHOTS ?? join(tmpdir(), 'culvert-screenshots');
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Chromium without a window, closed after the tests of the file. */
export async function openBrowser(t: Pick<TestContext, 'after'>): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: findChromium(undefined)!,
    args: [
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
      '--autoplay-policy=no-user-gesture-required',
    ],
  });
  t.after(() => browser.close());
  return browser;
}

export const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;

interface Opening {
  /** Null: nobody is logged in. */
  login?: { admin_key: string } | { key: string } | null;
  size?: keyof typeof sizes;
  scheme?: 'light' | 'dark';
  /** What is done is recorded beside the screenshots, under this name: `playwright show-trace FILE`. */
  record?: string;
}

/**
 * A page of the dashboard in a browser of its own, logged in. What its scripts throw, and what its
 * Content-Security-Policy refuses, fails the test.
 */
export async function openPage(
  t: Pick<TestContext, 'after'>,
  browser: Browser,
  gateway: Pick<TestGateway, 'url'>,
  path: string,
  { login = { admin_key: adminKey }, size = 'desktop', scheme = 'light', record }: Opening = {},
): Promise<Page> {
  const context = await browser.newContext({
    viewport: sizes[size],
    colorScheme: scheme,
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write', 'microphone'],
  });
  if (login !== null) {
    const response = await logIn(gateway, login);
    assert.equal(response.status, 200);
    const [name, value] = response.headers.getSetCookie()[0]!.split(';')[0]!.split('=');
    await context.addCookies([{ name: name!, value: value!, url: gateway.url }]);
  }
  if (record !== undefined) await context.tracing.start({ screenshots: true, snapshots: true });
  const page = await context.newPage();
  const wrong: string[] = [];
  page.on('pageerror', ({ message }) => wrong.push(message));
  page.on('console', (message) => {
    if (/Content Security Policy|Warning: /.test(message.text())) wrong.push(message.text());
  });
  t.after(async () => {
    if (record !== undefined) await context.tracing.stop({ path: join(shots, `${record}.zip`) });
    await context.close();
    assert.deepEqual(wrong, []);
  });
  await page.goto(gateway.url + path);
  return page;
}

/** Everything that axe calls serious or critical on what is shown. */
export async function assertAccessible(page: Page): Promise<void> {
  // Not by a script element, which the page's Content-Security-Policy would refuse.
  await page.evaluate(readFileSync(axe, 'utf8'));
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: AxeViolation[] }> } };
    return (await axe.run()).violations;
  });
  const serious = found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`);
  assert.deepEqual(serious, []);
}

interface AxeViolation {
  id: string;
  impact: string;
  nodes: { html: string }[];
}

/** For people to look at, in `CULVERT_SCREENSHOTS` or the system's temporary folder. */
export async function shoot(page: Page, name: string): Promise<void> {
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}
