import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { sendWhole } from '../inference/spine/sink.ts';
import { type Exchange, headerOf } from './exchange.ts';
import { linkPathOf } from './link-base.ts';
import { builtPages, fileAt, filePattern, installation, pageHeaders, plainText } from './static-files.ts';

/** Beginnings of addresses in the site, which is built for `/docs/`. */
const placesOfOurs = /["'`(](?=\/docs\/)/g;
const pagePattern = /^(?:decisions\/)?[a-z0-9-]{1,80}$/;

/** The built site, `docs/` of the built pages. Where it is not built, pages come as their Markdown. */
export function createDocsPages(
  folder: string | null,
  server: () => Config['server'],
): (exchange: Exchange) => Promise<void> {
  return async (exchange) => {
    const { client, path, request } = exchange;
    const base = linkPathOf(request, server());
    const accepted = base === '' ? (headerOf(exchange, 'accept-encoding') ?? '') : '';
    const root = join(folder ?? builtPages(), 'docs');
    const name = path.replace(/^\/docs\/?/, '') || 'index';
    const isAsset = name.startsWith('assets/');
    const send = ({ headers, bytes }: { headers: string[]; bytes: Buffer }, status: number) => {
      const isText = base !== '' && /^text\//.test(headers[1] ?? '');
      const shown = isText ? bytes.toString().replace(placesOfOurs, (start) => start + base) : bytes;
      // A base that a header names is of its sender: no cache of several people may keep it.
      const whose = isText && server().public_url === undefined ? 'private' : 'public';
      const caching = isAsset && status === 200 ? `${whose}, max-age=31536000, immutable` : 'no-cache';
      sendWhole(client, [...pageHeaders, ...headers, 'cache-control', caching], shown, status);
    };

    const fileName = pagePattern.test(name) ? `${name}.html` : name;
    const found = filePattern.test(fileName) ? await fileAt(root, fileName, accepted) : null;
    if (found !== null) return send(found, 200);
    const missing = await fileAt(root, '404.html', accepted);
    const source = missing === null ? await sourceOf(name) : null;
    if (source !== null) return send({ headers: ['content-type', plainText], bytes: source }, 200);
    const lost = { headers: ['content-type', plainText], bytes: Buffer.from('There is no such page.\n') };
    send(isAsset ? lost : (missing ?? lost), 404);
  };
}

async function sourceOf(name: string): Promise<Buffer | null> {
  const file = name === 'index' ? 'README' : name;
  return pagePattern.test(name) ? readFile(join(installation(), 'docs', `${file}.md`)).catch(() => null) : null;
}
