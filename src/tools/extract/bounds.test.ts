// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExtractOptions, ExtractOrder } from './extract-order.ts';
import { extractPage } from './extract-page.ts';

/* A bound never makes a text worse in silence: either nothing is lost, or a warning says what is. */

async function read(page: string, order: Partial<ExtractOrder> = {}, options: Partial<ExtractOptions> = {}) {
  const main = { onlyMainContent: true, includeTags: null, excludeTags: null, rawHtml: false };
  const reply = await extractPage({
    ...{ id: 1, kind: 'html', url: 'https://example.org/a', contentType: 'text/html', way: 'document', ...order },
    ...{ body: new Uint8Array(Buffer.from(page)), options: { ...main, ...options } },
  });
  assert.ok('extracted' in reply, JSON.stringify(reply).slice(0, 200));
  return reply.extracted;
}

const sentence = (at: number) =>
  `Sentence ${at} tells of rivers, boats and the people who live beside them, with a comma.`;
const articleOf = (paragraphs: number) =>
  Array.from({ length: paragraphs }, (_, at) => `<p>${`${sentence(at)} `.repeat(4)}</p>`).join('');
const pageOf = (paragraphs: number, inside: string, outside: string, before = '') =>
  `<!doctype html><html><head><title>T</title></head><body><nav><a href="/x">Elsewhere</a></nav>${before}
  <article><h1>Rivers</h1>${articleOf(paragraphs)}${inside}</article>${outside}</body></html>`;
const missing = (text: string, paragraphs: number) =>
  Array.from({ length: paragraphs }, (_, at) => sentence(at)).filter((one) => !text.includes(one));

const tex = String.raw`x^{2}, \alpha_{1} + y, `.repeat(600_000 / 23).trim();
const formulas = {
  MathML: `<p><math><semantics><mi>x</mi><annotation encoding="application/x-tex">${tex}</annotation></semantics></math></p>`,
  KaTeX: `<p><span class="katex"><span class="katex-mathml"><math><semantics><mi>x</mi><annotation encoding="application/x-tex">${tex}</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">x</span></span></p>`,
  'the script of MathJax': `<script type="math/tex">${tex}</script>`,
  'an alternative text': `<p><math alttext="${tex}"><mi>x</mi></math></p>`,
  'a picture': `<p><img class="latex" src="/a.png" alt="${tex}"></p>`,
};

for (const [where, formula] of Object.entries(formulas)) {
  test(`a formula of 600 KB in ${where} neither costs a page its article nor is lost`, async () => {
    const within = await read(pageOf(6, formula, ''));
    assert.deepEqual(missing(within.markdown, 6), []);
    assert.ok(within.markdown.includes(`$${tex}$`), within.markdown.slice(0, 200));
    assert.ok(within.text.includes(`$${tex}$`));
    const beside = await read(pageOf(2, '', '', `<div>${formula}</div>`));
    assert.deepEqual(missing(beside.markdown, 2), []);
    assert.deepEqual([within.warnings, beside.warnings], [[], []]);
  });
}

test('text in the place of a number of ours stays what it is', async () => {
  const page = pageOf(6, `${formulas.MathML}<p>An icon \ue0000 of a font and \\(\ue0000\\), katex.</p>`, '');
  const { markdown } = await read(page);
  assert.ok(markdown.includes('An icon'));
  assert.equal(markdown.split(tex).length, 2, 'the formula once');
});

const dump = 'a1, b2, c3 '.repeat(20_000);

for (const [what, block] of Object.entries({ code: `<pre>${dump}</pre>`, 'one paragraph': `<p>${dump}</p>` })) {
  test(`200 KB of data in ${what} beside an article: the article is there, or a warning says that text is left out`, async () => {
    for (const paragraphs of [2, 5, 8]) {
      for (const page of [
        pageOf(paragraphs, '', `<div>${block}</div>`),
        pageOf(paragraphs, '', '', `<div>${block}</div>`),
      ]) {
        const { markdown, warnings } = await read(page);
        const lost = missing(markdown, paragraphs);
        if (lost.length > 0) assert.match(warnings.join(), /^Nearly all of the main content is one long text/);
        if (paragraphs >= 8) assert.deepEqual(lost, [], `${paragraphs} paragraphs`);
      }
    }
  });
}

test('what is longer than an answer is cut with a warning, in each kind of page', async () => {
  const cut = ['Only the first 2000000 characters are given.'];
  const long = 'word '.repeat(400_001);
  assert.deepEqual((await read(long, { kind: 'text' })).warnings, cut);
  assert.deepEqual((await read(`<p>${long}`, { way: 'plain' })).warnings, cut);
  const json = await read(JSON.stringify(long), { kind: 'json' });
  assert.match(json.warnings[0]!, /^Only the first 19999\d\d characters/);
  assert.match(json.markdown, /\n```$/);
  // Each sign is two in markdown.
  assert.deepEqual((await read(`<p>${'*'.repeat(1_400_000)}`, {}, { onlyMainContent: false })).warnings, cut);
  assert.deepEqual((await read('short', { kind: 'text' })).warnings, []);
});

test('lists that are cut come with a warning: links, pictures, values, entries of a feed', async () => {
  const all = { onlyMainContent: false };
  const links = Array.from({ length: 20_001 }, (_, at) => `<a href="/${at}" title="a">x</a>`).join('');
  const srcsets = [0, 5_000, 10_000, 15_000, 20_000].map((from) => {
    const addresses = Array.from({ length: from === 20_000 ? 1 : 5_000 }, (_, at) => `/${from + at} 1x`);
    return `<img srcset="${addresses.join(', ')}">`;
  });
  const attributes = [{ selector: 'a', attribute: 'title' }];
  const cut = await read(links + srcsets.join(''), {}, { ...all, images: true, attributes });
  assert.deepEqual(
    [cut.links.length, cut.images?.length, cut.attributes?.[0]?.values.length],
    [20_000, 20_000, 20_000],
  );
  assert.deepEqual(
    cut.warnings,
    ['links', 'images', "values of 'title'"].map((what) => `Only the first 20000 ${what} are given.`),
  );
  const plain = await read(links, { way: 'plain' });
  assert.deepEqual([plain.links.length, plain.warnings], [20_000, ['Only the first 20000 links are given.']]);
  const wide = await read(`<a title="${'a'.repeat(10_001)}">x</a>`, {}, { ...all, attributes });
  assert.deepEqual(wide.warnings, ["Only the first 10000 characters of a value of 'title' are given."]);
  const set = await read(`<img srcset="/a 1x,${' '.repeat(100_000)}/b 2x">`, {}, { ...all, images: true });
  assert.deepEqual(set.warnings, ['Only the first 100000 characters of a srcset are given.']);
  const entries = Array.from({ length: 1_001 }, (_, at) => `<item><title>${at}</title></item>`);
  const feed = await read(`<rss><channel>${entries.join('')}</channel></rss>`, { kind: 'xml' });
  assert.deepEqual(feed.warnings, ['Only the first 1000 entries are given.']);
});
