import { constants, gunzipSync } from 'node:zlib';
import { Parser } from 'htmlparser2';

/** Addresses in a sitemap, unchanged: pages, and further sitemaps. */
export interface SitemapText {
  pages: readonly string[];
  sitemaps: readonly string[];
}

const locCharsMax = 2_048;

/**
 * The URLs of a sitemap: XML, an index of sitemaps, or one URL a line, compressed or not. A broken one gives its
 * readable part; a large one the first `bytesMax`, decompressed, and the first `urlsMax`. Blocks: for a separate
 * thread.
 */
export function readSitemap(body: Uint8Array, bytesMax: number, urlsMax: number): SitemapText {
  const text = unpacked(body).toString('utf8', 0, bytesMax);
  return text.trimStart().startsWith('<') ? inXml(text, urlsMax) : inLines(text, urlsMax);
}

/** Bytes of the largest sitemap that sitemaps.org allows. */
const unpackedBytesMax = 50 * 1024 * 1024;

/** The part of a cut file that is there. Nothing of a bomb, and of other bytes that begin like gzip. */
function unpacked(body: Uint8Array): Buffer {
  if (body[0] !== 0x1f || body[1] !== 0x8b) return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  try {
    return gunzipSync(body, { maxOutputLength: unpackedBytesMax, finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    return Buffer.alloc(0);
  }
}

function inXml(text: string, urlsMax: number): SitemapText {
  const pages: string[] = [];
  const sitemaps: string[] = [];
  let within: string[] | null = null;
  let loc: string | null = null;
  let locName = '';
  const parser = new Parser(
    {
      onopentag(name) {
        const plain = withoutPrefix(name);
        if (plain === 'url' || plain === 'sitemap') {
          within = plain === 'url' ? pages : sitemaps;
          // Of the same prefix: `image:loc` is not a page.
          locName = `${name.slice(0, -plain.length)}loc`;
        } else if (name === locName && within !== null) loc = '';
      },
      ontext(chunk) {
        if (loc !== null && loc.length <= locCharsMax) loc += chunk;
      },
      onclosetag(name) {
        if (name === locName && loc !== null) {
          const url = loc.trim();
          if (url !== '' && url.length <= locCharsMax) within?.push(url);
          loc = null;
        } else if (withoutPrefix(name) === 'url' || withoutPrefix(name) === 'sitemap') within = null;
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  for (let at = 0; at < text.length && pages.length + sitemaps.length < urlsMax; at += sliceChars)
    parser.write(text.slice(at, at + sliceChars));
  return { pages: pages.slice(0, urlsMax), sitemaps: sitemaps.slice(0, urlsMax) };
}

const sliceChars = 64 * 1024;

function withoutPrefix(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function inLines(text: string, urlsMax: number): SitemapText {
  const pages = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => /^https?:\/\//.test(line) && line.length <= locCharsMax);
  return { pages: pages.slice(0, urlsMax), sitemaps: [] };
}
