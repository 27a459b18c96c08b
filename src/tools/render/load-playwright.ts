import type { BrowserType } from 'playwright-core';
import { isInstalled } from '../../kernel/optional-package.ts';

/** The package that drives Chromium: an optional peer, of which nothing is loaded before the first page. */
const name = 'playwright-core';

/** Whether it could be loaded. Only looks for files. */
export function playwrightInstalled(): boolean {
  return isInstalled(name);
}

export async function loadPlaywright(): Promise<BrowserType> {
  const { chromium } = (await import(name)) as typeof import('playwright-core');
  return chromium;
}
