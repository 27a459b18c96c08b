import type { Page } from 'playwright-core';
import type { ScreenshotOptions } from '../page-renderer.ts';

/** CSS pixels of a whole page; longer ones are cut there. */
const heightMax = 10_000;
const widthMax = 4_000;
const pictureBytesMax = 5 * 1024 * 1024;

export type Taken = { picture: Buffer; warning: string | null } | { warning: string };

/** PNG. Never rejects: a page without its picture is still a page. */
export async function takeScreenshot(
  page: Page,
  size: { width: number; height: number },
  { fullPage }: ScreenshotOptions,
  timeoutMs: number,
): Promise<Taken> {
  const window = page.viewportSize() ?? { width: 0, height: 0 };
  const whole = {
    x: 0,
    y: 0,
    width: Math.min(widthMax, Math.max(window.width, size.width)),
    height: Math.min(heightMax, Math.max(window.height, size.height)),
  };
  try {
    const clip = fullPage ? { clip: whole } : {};
    const picture = await page.screenshot({ type: 'png', fullPage, ...clip, timeout: timeoutMs });
    if (picture.length > pictureBytesMax) {
      return { warning: `The screenshot is larger than ${pictureBytesMax} bytes, so it is left out.` };
    }
    const cut = fullPage && size.height > heightMax;
    return { picture, warning: cut ? `The screenshot was cut after ${heightMax} pixels.` : null };
  } catch {
    return { warning: 'No screenshot could be taken of the page.' };
  }
}
