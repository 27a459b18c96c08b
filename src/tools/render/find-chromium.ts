import { existsSync } from 'node:fs';

/** Paths of packages: Debian, Ubuntu, Fedora, Alpine, Chrome's own, macOS. */
const usualPlaces = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/opt/google/chrome/chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The browser to drive; null when there is none. `named`: `tools.scrape.chromium`, which excludes all others. */
export function findChromium(named: string | undefined): string | null {
  return (named === undefined ? usualPlaces : [named]).find((path) => existsSync(path)) ?? null;
}
