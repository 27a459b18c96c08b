import { sendWhole } from '../../inference/spine/sink.ts';
import type { Exchange } from '../exchange.ts';
import { builtPages, fileAt, filePattern, pageHeaders, types } from '../static-files.ts';

const notBuilt = `The pages of the dashboard are not built. In a clone, this builds them:

    npm run build:web

Then load this page again.
`;

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
    const found = filePattern.test(name) ? await fileAt(root, name, exchange) : null;
    if (found !== null) {
      const caching = isAsset ? 'public, max-age=31536000, immutable' : 'no-store';
      return sendWhole(exchange.client, [...pageHeaders, ...found.headers, 'cache-control', caching], found.bytes);
    }
    const unkept = [...pageHeaders, 'cache-control', 'no-store'];
    const plain = [...unkept, 'content-type', types.txt!];
    if (isAsset)
      return sendWhole(exchange.client, plain, 'This file is not there any more. Load the page again.\n', 404);
    const page = await fileAt(root, 'index.html', exchange);
    if (page === null) return sendWhole(exchange.client, plain, notBuilt, 503);
    sendWhole(exchange.client, [...unkept, ...page.headers], page.bytes);
  };
}
