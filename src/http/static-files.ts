import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

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

/** Headers of everything below /dashboard, /account and /docs. */
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

export const plainText = 'text/plain; charset=utf-8';

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  webp: 'image/webp',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
  json: 'application/json',
  webmanifest: 'application/manifest+json',
  txt: plainText,
};

/** The best encoding first. A file is served as it is when the client accepts none of them. */
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** Files of a page: letters, digits and `._-`, no part of which begins with a dot. VitePress's index begins with `@`. */
export const filePattern = /^\w[\w.-]{0,99}(\/[\w@][\w.-]{0,99}){0,9}$/;

/** A file below `root` in the best of `accepted` encodings (Accept-Encoding), with its headers; null: there is none. */
export async function fileAt(
  root: string,
  name: string,
  accepted: string,
): Promise<{ headers: string[]; bytes: Buffer } | null> {
  const type = types[name.slice(name.lastIndexOf('.') + 1)];
  if (type === undefined) return null;
  const headers = ['content-type', type, 'vary', 'accept-encoding'];
  for (const [encoding, ending] of encodings) {
    if (!accepts(accepted, encoding)) continue;
    const bytes = await readIfThere(join(root, name + ending));
    if (bytes !== null) return { headers: [...headers, 'content-encoding', encoding], bytes };
  }
  const bytes = await readIfThere(join(root, name));
  return bytes === null ? null : { headers, bytes };
}

/** Whether the header, in browsers' form, accepts an encoding. One that weighs encodings gets the file as it is. */
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

/** The folder of the installation. */
export function installation(): string {
  let root = import.meta.dirname;
  while (!existsSync(join(root, 'package.json')) && dirname(root) !== root) root = dirname(root);
  return root;
}

/** `web/dist` in a clone, `dist/web` in the package. */
export function builtPages(): string {
  const root = installation();
  const inClone = join(root, 'web', 'dist');
  return existsSync(join(inClone, 'index.html')) ? inClone : join(root, 'dist', 'web');
}
