import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { pour } from './behaviour.ts';
import type { BadSite } from './serve.ts';

/** A site that makes whoever crawls it go on for ever, or keeps them from beginning. `/` is its first page. */
export interface BadWhole {
  /** Answers everything but what no part of it knows. */
  answer(response: ServerResponse, path: string, site: BadSite): void;
  /** Pages that the crawl must have, at least and at most. */
  pages: { min: number; max: number };
  /** Pages to ask for; by default `limit`. */
  limit?: number;
}

/** Of each crawl. */
export const limit = 30;

/** A page that is like no other, with these links. */
function page(response: ServerResponse, path: string, links: readonly string[] = []): void {
  const list = links.map((link) => `<li><a href="${link}">${link}</a></li>`).join('');
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
  response.end(
    `<title>${path}</title><main><h1>Page ${path}</h1><p>What stands at ${path}.</p><ul>${list}</ul></main>`,
  );
}

type Answer = BadWhole['answer'];

const two = ['/one', '/two'];
const plainPages: Answer = (response, path) => page(response, path, path === '/' ? two : []);

/** `file` misbehaves, the pages do not. */
function withFile(file: string, answer: Answer, also: Answer = plainPages): Answer {
  return (response, path, site) => {
    if (path === file) answer(response, path, site);
    else if (path === '/robots.txt' || path === '/sitemap.xml') response.writeHead(404).end();
    else also(response, path, site);
  };
}

const robots = (answer: Answer) => withFile('/robots.txt', answer);
const sitemap = (answer: Answer) => withFile('/sitemap.xml', answer);
/** The pages alone misbehave. */
const pages = (answer: Answer) => withFile('/none', plainPages, answer);
const text = (body: string | Buffer, type = 'text/plain') => {
  return (response: ServerResponse) => void response.writeHead(200, { 'content-type': type }).end(body);
};
const all = { min: 3, max: 3 };
const none = { min: 0, max: 0 };
const some = { min: 1, max: limit };
const urlset = (locs: string) => `<?xml version="1.0"?><urlset>${locs}</urlset>`;
const numberIn = (path: string) => Number(/\d+/.exec(path)?.[0] ?? 0);

export const sites: Readonly<Record<string, BadWhole>> = {
  'has a robots.txt without an end': {
    answer: robots((response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      pour(response, response, 'Disallow: /secret\n');
    }),
    pages: all,
  },
  'has a robots.txt of wildcards': {
    answer: robots(text(`User-agent: *\n${`Disallow: ${'/*a'.repeat(60)}$\n`.repeat(20_000)}`)),
    pages: all,
  },
  'has a robots.txt in one line of a megabyte': {
    answer: robots(text(`User-agent: *\nDisallow: /${'*'.repeat(1_000_000)}x`)),
    pages: all,
  },
  'has a page of HTML for its robots.txt': { answer: robots(text('<html><p>Disallow: /', 'text/html')), pages: all },
  'has bytes for its robots.txt': { answer: robots(text(Buffer.alloc(10_000, 0xfe))), pages: all },
  'refuses its robots.txt': { answer: robots((response) => void response.writeHead(403).end()), pages: all },
  'breaks over its robots.txt': { answer: robots((response) => void response.writeHead(500).end()), pages: none },
  'resets over its robots.txt': { answer: robots((response) => void response.socket?.resetAndDestroy()), pages: none },
  'redirects its robots.txt to itself': {
    answer: robots((response) => void response.writeHead(301, { location: '/robots.txt' }).end()),
    pages: { min: 0, max: 3 },
  },
  'redirects its robots.txt to a private place': {
    answer: robots((response) => void response.writeHead(301, { location: 'http://169.254.169.254/' }).end()),
    pages: { min: 0, max: 3 },
  },

  'has a sitemap without an end': {
    answer: sitemap((response) => {
      response.writeHead(200, { 'content-type': 'application/xml' });
      response.write('<urlset>');
      pour(response, response, '<url><loc>https://elsewhere.example/</loc></url>');
    }),
    pages: all,
  },
  'has a sitemap that is a bomb': {
    answer: sitemap(text(gzipSync(Buffer.alloc(50_000_000, ' ')), 'application/gzip')),
    pages: all,
  },
  'has a sitemap that laughs and reads files': {
    answer: sitemap(
      text(
        `<!DOCTYPE u [<!ENTITY f SYSTEM "file:///etc/passwd"><!ENTITY a "b"><!ENTITY c "&a;&a;&a;">]>${urlset('<url><loc>&f;&c;</loc></url>')}`,
        'application/xml',
      ),
    ),
    pages: all,
  },
  'has a sitemap nested 100,000 deep': { answer: sitemap(text('<url>'.repeat(100_000), 'text/xml')), pages: all },
  'has a sitemap that names itself': {
    answer: sitemap((response, _, { url }) =>
      text(`<sitemapindex>${`<sitemap><loc>${url}/sitemap.xml</loc></sitemap>`.repeat(100)}</sitemapindex>`)(response),
    ),
    pages: all,
  },
  'has ever further sitemaps': {
    answer: (response, path, { url }) => {
      if (path === '/robots.txt') return void response.writeHead(404).end();
      if (!path.startsWith('/sitemap')) return plainPages(response, path, { url, place: '', asked: [] });
      const at = numberIn(path);
      const next = [at * 2 + 1, at * 2 + 2].map((to) => `<sitemap><loc>${url}/sitemap-${to}.xml</loc></sitemap>`);
      text(`<sitemapindex>${next.join('')}</sitemapindex>`, 'text/xml')(response);
    },
    pages: all,
  },
  'has a sitemap of other places': {
    answer: sitemap(text(urlset('<url><loc>http://169.254.169.254/</loc></url><url><loc>file:///etc</loc></url>'))),
    pages: all,
  },
  'has a sitemap of a hundred thousand pages that are not': {
    answer: withFile(
      '/sitemap.xml',
      (response, _, { url }) =>
        text(urlset(Array.from({ length: 100_000 }, (_, at) => `<url><loc>${url}/x${at}</loc></url>`).join('')))(
          response,
        ),
      (response, path) =>
        path.startsWith('/x') ? void response.writeHead(404).end() : plainPages(response, path, {} as BadSite),
    ),
    pages: some,
  },

  'has a calendar': {
    answer: pages((response, path) => {
      const months = numberIn(path.replace('/calendar/', '')) * 12 + Number(/-(\d+)$/.exec(path)?.[1] ?? 1);
      const at = (by: number) => `/calendar/${Math.floor((months + by) / 12) || 2024}-${((months + by) % 12) + 1}`;
      page(response, path, path === '/' ? ['/calendar/2024-1'] : [at(1), at(-2)]);
    }),
    pages: some,
  },
  'has a list with countless views': {
    answer: pages((response, path) => {
      const at = path.length;
      page(
        response,
        path,
        [1, 2, 3].map((by) => `/?a=${at}&b=${by}&c=${at * by}&d=${path.length}`),
      );
    }),
    pages: some,
  },
  'grows its paths': {
    answer: pages((response, path) => page(response, path, [`${path.replace(/\/$/, '')}/a`, 'b/', 'c'])),
    pages: some,
  },
  'gives every visitor a session': {
    answer: pages((response, path, { asked }) => page(response, path, [`/s?session=${asked.length}`, '/one'])),
    pages: some,
  },
  'redirects every page to a new one': {
    answer: pages((response, path) => {
      if (path === '/') return page(response, path, ['/r/1']);
      response.writeHead(302, { location: `/r/${numberIn(path) + 1}` }).end();
    }),
    pages: { min: 1, max: 1 },
  },
  'shows one text at every address': {
    answer: pages((response, path) =>
      text(
        `<nav><a href="/${path.length}${path}x">On</a></nav><main><h1>Same</h1><p>The same text as everywhere.</p></main>`,
        'text/html',
      )(response),
    ),
    pages: { min: 1, max: 1 },
  },
  'has 2,000 links on every page': {
    answer: pages((response, path) =>
      page(
        response,
        path,
        Array.from({ length: 2_000 }, (_, at) => `/${path.length}-${at}`),
      ),
    ),
    // Reading so many links takes half a second of a processor.
    limit: 6,
    pages: { min: 6, max: 6 },
  },
  'redirects its first page away': {
    answer: pages((response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end()),
    pages: none,
  },
};
