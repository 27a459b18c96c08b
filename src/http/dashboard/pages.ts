import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sendWhole } from '../../inference/spine/sink.ts';
import { type Exchange, headerOf } from '../exchange.ts';

/** No script or style but our own files: what others wrote can run nothing, wherever a page shows it. */
const contentSecurityPolicy = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ');

/** Of everything below /dashboard and /account. */
export const pageHeaders: readonly string[] = [
  'content-security-policy',
  contentSecurityPolicy,
  'x-content-type-options',
  'nosniff',
  'referrer-policy',
  'no-referrer',
  'x-frame-options',
  'DENY',
  'cross-origin-opener-policy',
  'same-origin',
];

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
  json: 'application/json',
  webmanifest: 'application/manifest+json',
  txt: 'text/plain; charset=utf-8',
};

/** The best first; a file is served as it is where none of its forms is accepted. */
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** Files of a page: letters, digits and `._-`, no part of which begins with a dot. */
const filePattern = /^\w[\w.-]{0,99}(\/\w[\w.-]{0,99}){0,9}$/;

const notBuilt = `The pages of the dashboard are not built. In a clone, this builds them:

    npm run build

Then load this page again.
`;

/** `folder` null: that of this installation. */
export function createPages(folder: string | null): (exchange: Exchange) => Promise<void> {
  /**
   * A name with a hash in it never means another file. Whatever is no file is a place inside of the application, which
   * shows it; but a file that is gone must not become a page, which a browser would take for the script that it asked for.
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

async function fileAt(
  root: string,
  name: string,
  exchange: Exchange,
): Promise<{ headers: string[]; bytes: Buffer } | null> {
  const type = types[name.slice(name.lastIndexOf('.') + 1)];
  if (type === undefined) return null;
  const accepted = headerOf(exchange, 'accept-encoding') ?? '';
  const headers = ['content-type', type, 'vary', 'accept-encoding'];
  for (const [encoding, ending] of encodings) {
    if (!accepts(accepted, encoding)) continue;
    const bytes = await readIfThere(join(root, name + ending));
    if (bytes !== null) return { headers: [...headers, 'content-encoding', encoding], bytes };
  }
  const bytes = await readIfThere(join(root, name));
  return bytes === null ? null : { headers, bytes };
}

/** As browsers write it; who weighs forms against each other gets a file as it is. */
function accepts(accepted: string, encoding: string): boolean {
  return accepted.split(',').some((one) => one.trim() === encoding);
}

async function readIfThere(file: string): Promise<Buffer | null> {
  try {
    return await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return null;
    throw error;
  }
}

/** `web/dist` in a clone, `dist/web` in the package. */
function builtPages(): string {
  let root = import.meta.dirname;
  while (!existsSync(join(root, 'package.json')) && dirname(root) !== root) root = dirname(root);
  const inClone = join(root, 'web', 'dist');
  return existsSync(join(inClone, 'index.html')) ? inClone : join(root, 'dist', 'web');
}
