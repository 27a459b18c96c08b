import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { findChromium } from '../../src/tools/render/find-chromium.ts';
import { adminKey } from '../start-gateway.ts';

export const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;
export type Size = keyof typeof sizes;
export type Scheme = 'light' | 'dark';

/** Outside of the repository: where pictures of every page are put. */
export const screenshotFolder = process.env.CULVERT_SCREENSHOTS ?? join(tmpdir(), 'culvert-screenshots');

const root = fileURLToPath(new URL('../../', import.meta.url));
const axeSource = () => readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export interface OpenPage {
  page: Page;
  context: BrowserContext;
  /** Errors of the console and of scripts so far, refusals of the Content-Security-Policy among them. */
  faults: string[];
}

export interface TestBrowser {
  /** A browser of its own kind, logged in by the admin key unless `as` says otherwise. */
  open(options?: {
    size?: Size;
    scheme?: Scheme;
    as?: { admin_key: string } | { key: string } | 'nobody';
  }): Promise<OpenPage>;
  close(): Promise<void>;
}

/** Chromium over a gateway; the dashboard is built first where it is not as its sources are. */
export async function openBrowser(gatewayUrl: string): Promise<TestBrowser> {
  const { chromium } = await import('playwright-core');
  const browser: Browser = await chromium.launch({ executablePath: findChromium(undefined)!, args: ['--no-sandbox'] });
  return {
    async open({ size = 'desktop', scheme = 'light', as = { admin_key: adminKey } } = {}) {
      const context = await browser.newContext({
        baseURL: gatewayUrl,
        viewport: sizes[size],
        colorScheme: scheme,
        hasTouch: size === 'phone',
        reducedMotion: 'reduce',
        locale: 'en-GB',
        timezoneId: 'UTC',
      });
      if (as !== 'nobody') {
        const answer = await context.request.post('/dashboard/session', { data: as, headers: { origin: gatewayUrl } });
        assert.equal(answer.status(), 200, await answer.text());
      }
      const page = await context.newPage();
      const faults: string[] = [];
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('console', (message) => {
        if (message.type() === 'error') faults.push(message.text());
      });
      return { page, context, faults };
    },
    close: () => browser.close(),
  };
}

/** Builds web/dist unless it is there as its sources are; several test files may ask at once. */
export function buildDashboard(): void {
  const build = spawnSync(process.execPath, [join(root, 'scripts/build-web.mjs')], { cwd: root, encoding: 'utf8' });
  assert.equal(build.status, 0, build.stderr);
}

/** The value of an expression in the page, awaited. Past its Content-Security-Policy, which refuses Playwright's own way. */
export async function inPage(page: Page, expression: string): Promise<unknown> {
  const session = await page.context().newCDPSession(page);
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  assert.equal(exceptionDetails, undefined, exceptionDetails?.exception?.description);
  return result.value;
}

/** What axe finds of serious or critical impact, a line each. */
export async function axeFindings(page: Page): Promise<string[]> {
  const run = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => JSON.stringify(violations))`;
  const found = await inPage(page, `${axeSource()};${run}`);
  interface Violation {
    id: string;
    impact: string;
    nodes: { html: string; any: { message: string }[] }[];
  }
  const violations = JSON.parse(String(found)) as Violation[];
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, any }) => `${id}: ${any[0]?.message ?? ''} ${html.slice(0, 160)}`));
}

/** A picture in `screenshotFolder`. */
export async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(screenshotFolder, { recursive: true });
  await page.screenshot({ path: join(screenshotFolder, `${name}.png`) });
}

/** Waits until the page is there and nothing of it is loading any more. */
export async function settled(page: Page): Promise<void> {
  await page.locator('main h1').waitFor();
  const loading = page.getByLabel('Loading', { exact: true });
  while ((await loading.count()) > 0) await loading.first().waitFor({ state: 'detached' });
  await inPage(page, 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}
