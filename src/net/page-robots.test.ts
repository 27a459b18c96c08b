import assert from 'node:assert/strict';
import test from 'node:test';
import { fakeClock } from '../../test/fake-clock.ts';
import type { PageFetched } from './page-robots.ts';
import { createRobotsCache } from './page-robots.ts';

const never = new AbortController().signal;

function answering(answer: () => PageFetched) {
  const clock = fakeClock();
  const requests: string[] = [];
  const robots = createRobotsCache({
    nowMs: clock.wallMs,
    get: async (url) => {
      requests.push(url);
      return answer();
    },
  });
  const allows = async (url: string) => (await robots(new URL(url), never)).allows(new URL(url));
  return { clock, requests, robots, allows };
}

const page = (text: string, status = 200): PageFetched => ({
  ok: true,
  status,
  url: '',
  contentType: 'text/plain',
  body: Buffer.from(text),
  cut: false,
  etag: null,
  lastModified: null,
});
const unreachable: PageFetched = { ok: false, reason: 'unreachable', message: '' };

test('robots.txt decides by path, for us by name before all', async () => {
  const text =
    'User-agent: *\nDisallow: /\n\nUser-agent: Culvert\nDisallow: /private\nAllow: /private/a\nCrawl-delay: 2\nSitemap: https://e.org/s.xml';
  const { allows, robots } = answering(() => page(text));
  assert.equal(await allows('https://e.org/x'), true);
  assert.equal(await allows('https://e.org/private/b'), false);
  assert.equal(await allows('https://e.org/private/a'), true);
  const rules = await robots(new URL('https://e.org/'), never);
  assert.equal(rules.crawlDelayMs, 2_000);
  assert.deepEqual(rules.sitemaps, ['https://e.org/s.xml']);
});

test('no robots.txt allows all, one that cannot be reached forbids all for ten minutes', async () => {
  assert.equal(await answering(() => page('Disallow: /', 404)).allows('https://e.org/x'), true);
  assert.equal(await answering(() => page('', 503)).allows('https://e.org/x'), false);
  let answer: PageFetched = unreachable;
  const { allows, clock, requests } = answering(() => answer);
  assert.equal(await allows('https://e.org/x'), false);
  answer = page('');
  assert.equal(await allows('https://e.org/x'), false);
  clock.advance(10 * 60_000);
  assert.equal(await allows('https://e.org/x'), true);
  assert.equal(requests.length, 2);
});

test('a host that the guard refuses has no robots.txt, and one whose robots.txt leads there forbids all', async () => {
  const refused = { ok: false, reason: 'blocked', message: '' } as const;
  assert.equal(await answering(() => ({ ...refused, isFirst: true })).allows('http://10.0.0.1/x'), true);
  assert.equal(await answering(() => refused).allows('https://e.org/x'), false);
});

test('where too many wait here nothing is known of the host: it is asked for the next time', async () => {
  let answer: PageFetched = { ok: false, reason: 'busy', message: '' };
  const { allows } = answering(() => answer);
  assert.equal(await allows('https://e.org/x'), false);
  answer = page('');
  assert.equal(await allows('https://e.org/x'), true);
});

test('it is asked for once a day, by origin', async () => {
  const { allows, clock, requests } = answering(() => page(''));
  await allows('https://e.org/a');
  await allows('https://e.org/b');
  await allows('https://e.org:8443/b');
  clock.advance(24 * 3_600_000);
  await allows('https://e.org/c');
  assert.deepEqual(requests, ['https://e.org/robots.txt', 'https://e.org:8443/robots.txt', 'https://e.org/robots.txt']);
});

test('F25 a robots.txt of patterns made to be slow loses them and keeps the rest', async () => {
  // It would forbid the page, had it been kept.
  const bomb = `Disallow: /${'*a'.repeat(900)}`;
  const text = ['User-agent: *', 'Disallow: /secret', ...Array.from({ length: 250 }, () => bomb)].join('\n');
  const { allows } = answering(() => page(text));
  assert.equal(await allows(`https://e.org/${'a'.repeat(3_000)}`), true);
  assert.equal(await allows('https://e.org/secret'), false);
});

test('groups of other agents take no room: a long file ends with the group of everybody', async () => {
  const others = Array.from({ length: 3_000 }, (_, at) => `User-agent: bot${at}\nDisallow: /*a${at}\nDisallow: /`);
  const text = [...others, '# Everybody', '', 'User-agent: slow', 'User-agent: *', 'Disallow: /*/secret'].join('\n');
  const { allows } = answering(() => page(text));
  assert.equal(await allows('https://e.org/a1'), true);
  assert.equal(await allows('https://e.org/a/secret'), false);
});
