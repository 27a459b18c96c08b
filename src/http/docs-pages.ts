import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sendWhole } from '../inference/spine/sink.ts';
import type { Exchange } from './exchange.ts';
import { builtPages, fileAt, filePattern, installation, pageHeaders, plainText } from './static-files.ts';

const pagePattern = /^(?:decisions\/)?[a-z0-9-]{1,80}$/;

/** The built site, `docs/` of the built pages. Where it is not built, pages come as their Markdown. */
export function createDocsPages(folder: string | null): (exchange: Exchange) => Promise<void> {
  return async (exchange) => {
    const { client, path } = exchange;
    const root = join(folder ?? builtPages(), 'docs');
    const name = path.replace(/^\/docs\/?/, '') || 'index';
    const isAsset = name.startsWith('assets/');
    const send = ({ headers, bytes }: { headers: string[]; bytes: Buffer }, status: number) => {
      const caching = isAsset && status === 200 ? 'public, max-age=31536000, immutable' : 'no-cache';
      sendWhole(client, [...pageHeaders, ...headers, 'cache-control', caching], bytes, status);
    };

    const fileName = pagePattern.test(name) ? `${name}.html` : name;
    const found = filePattern.test(fileName) ? await fileAt(root, fileName, exchange) : null;
    if (found !== null) return send(found, 200);
    const missing = await fileAt(root, '404.html', exchange);
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
