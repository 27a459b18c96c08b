import type { BrowserType } from 'playwright-core';

/** The package that drives Chromium: an optional peer, of which nothing is loaded before the first page. */
const name = 'playwright-core';

/** Whether it could be loaded; looks for files alone. */
export function playwrightInstalled(): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

export async function loadPlaywright(): Promise<BrowserType> {
  const { chromium } = (await import(name)) as typeof import('playwright-core');
  return chromium;
}
