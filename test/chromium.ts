import { findChromium } from '../src/tools/render/find-chromium.ts';
import { playwrightInstalled } from '../src/tools/render/load-playwright.ts';

/** Why pages cannot be rendered here: a test's `skip`. */
export const chromiumMissing: string | false =
  findChromium(undefined) === null
    ? 'Chromium is not installed (npm run setup:test-tools)'
    : playwrightInstalled()
      ? false
      : 'playwright-core is not installed';
