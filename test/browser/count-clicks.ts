import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

const counts = new WeakMap<Page, { clicks: number }>();

/** Of one task after its page is open. */
const clicksMax = 4;

/** Counts from now on how often somebody presses a button of the mouse, whatever they press. */
export async function countClicks(page: Page): Promise<void> {
  const counted = counts.get(page);
  if (counted !== undefined) {
    counted.clicks = 0;
    return;
  }
  const count = { clicks: 0 };
  counts.set(page, count);
  await page.exposeFunction('pressed', () => {
    count.clicks += 1;
  });
  const listen = "document.addEventListener('pointerdown', () => void pressed(), true)";
  await page.addInitScript(listen);
  await page.evaluate(listen);
}

/** Fails when what was done since `countClicks` took more clicks than a task may take, or none was counted. */
export function assertFewClicks(page: Page): void {
  const { clicks = 0 } = counts.get(page) ?? {};
  assert.ok(clicks > 0 && clicks <= clicksMax, `${clicks} clicks`);
}
