import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sendWhole } from '../../inference/spine/sink.ts';
import { type Exchange, headerOf } from '../exchange.ts';
import { linkFrom } from '../link-base.ts';
import { builtPages, fileAt, filePattern, installation, pageHeaders, plainText } from '../static-files.ts';

const howToBuild = `In a clone, this builds them:

    npm run build:web

Then load this page again.
`;
const notBuilt = `The pages of the dashboard are not built. ${howToBuild}`;
const beingBuilt = `The dashboard is being built. This page shows it in about a minute. Everything else works already.
`;
const lookAgainSeconds = '3';

/** `folder` null: that of this installation. */
export function createPages(folder: string | null): (exchange: Exchange) => Promise<void> {
  /**
   * A name with a hash in it never means another file. A path that is not a file is a place inside the application,
   * which shows it. A missing file must not become a page, which a browser would take for the script that it asked for.
   */
  return async (exchange) => {
    const root = folder ?? builtPages();
    const name = exchange.path.replace(/^\/(dashboard|account)\/?/, '');
    const isAsset = name.startsWith('assets/');
    const accepted = headerOf(exchange, 'accept-encoding') ?? '';
    const found = filePattern.test(name) ? await fileAt(root, name, accepted) : null;
    if (found !== null) {
      const caching = isAsset ? 'public, max-age=31536000, immutable' : 'no-store';
      return sendWhole(exchange.client, [...pageHeaders, ...found.headers, 'cache-control', caching], found.bytes);
    }
    const unkept = [...pageHeaders, 'cache-control', 'no-store'];
    const plain = [...unkept, 'content-type', plainText];
    if (isAsset)
      return sendWhole(exchange.client, plain, 'This file is not there any more. Load the page again.\n', 404);
    const page = await fileAt(root, 'index.html', '');
    if (page === null) {
      const looksAgain = ['retry-after', lookAgainSeconds, 'refresh', lookAgainSeconds];
      return (await isBeingBuilt())
        ? sendWhole(exchange.client, [...plain, ...looksAgain], beingBuilt, 503)
        : sendWhole(exchange.client, plain, notBuilt, 503);
    }
    // Addresses of its scripts are relative to it, and the page is shown at every place of the application.
    const html = page.bytes.toString().replaceAll('="./', `="${linkFrom(exchange.path, '/dashboard/')}`);
    sendWhole(exchange.client, [...unkept, ...page.headers], html);
  };
}

/** Whether `npm start` builds the pages right now: scripts/build-web-meanwhile.mjs writes its process into this file. */
async function isBeingBuilt(): Promise<boolean> {
  const progress = join(installation(), 'node_modules', '.cache', 'culvert', 'dashboard-build.json');
  try {
    const { pid } = JSON.parse(await readFile(progress, 'utf8'));
    return typeof pid === 'number' && process.kill(pid, 0);
  } catch {
    // No build has begun, the last one failed, or its process is gone.
    return false;
  }
}
