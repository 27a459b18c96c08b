import assert from 'node:assert/strict';
import test from 'node:test';
import { DefuddleClass } from 'defuddle/node';
import { mainContentOf } from './main-content.ts';
import { documentOf } from './page-document.ts';
import { writeText } from './read-html.ts';

const words = 'river barge harbour bridge market tower ledger spring water path boat quay museum keeper bell'.split(
  ' ',
);
const sentence = (seed: number) =>
  `The ${Array.from({ length: 12 }, (_, at) => words[(seed * 7 + at * 4 + ((seed * at) % 5)) % words.length]).join(' ')}.`;
const paragraph = (seed: number) => `<p>${[0, 1, 2, 3].map((at) => sentence(seed * 4 + at)).join(' ')}</p>`;
const prose = (count: number) => Array.from({ length: count }, (_, at) => paragraph(at)).join('');

function textOf(html: string): string {
  const root = mainContentOf(documentOf(html), html.length, 'https://example.org/a');
  return root === null ? '' : writeText(root);
}

test('of a thread each answer is given', () => {
  const answers = Array.from(
    { length: 15 },
    (_, at) =>
      `<div class="reply"><div class="author">user${at}</div><div class="words">${sentence(at)} Number ${at}.</div></div>`,
  );
  const text = textOf(
    `<html><body><div class="thread"><h1>How deep is it?</h1>${answers.join('')}</div></body></html>`,
  );
  for (let at = 0; at < 15; at++) assert.match(text, new RegExp(`Number ${at}\\.`));
});

test('a page that hides its text until a script shows it is given, not its word of waiting', () => {
  const text = textOf(`<html><body><div><p>Please wait a moment.</p></div>
    <div id="content" style="display:none"><article>${prose(6)}</article></div></body></html>`);
  assert.match(text, new RegExp(sentence(0).slice(0, 40)));
});

test('a paragraph that one extractor missed stays, a short line beside the text does not', () => {
  const text =
    textOf(`<html><body><div id="page"><div class="trail"><span>You are here</span> <a href="/">Town</a></div>
    <article>${prose(6)}<div class="promo-text">${paragraph(99)}</div></article></div></body></html>`);
  assert.match(text, new RegExp(sentence(99 * 4).slice(0, 40)));
  assert.doesNotMatch(text, /You are here/);
});

test('headings, code and cells stay however short they are', () => {
  const text = textOf(`<html><body><article><h1>Title</h1>${prose(3)}<h2>Go</h2><pre><code>x()</code></pre>
    <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>${prose(2)}</article></body></html>`);
  for (const part of ['Go', 'x()', '1 2']) assert.ok(text.includes(part), part);
});

test('a page without a letter has no main content', () =>
  assert.equal(textOf('<html><body><p>…</p></body></html>'), ''));

test('a first paragraph above the article stays with it, its comments and the caption of a picture do not', () => {
  const text =
    textOf(`<html><body><header class="page-head"><h1>Title</h1><p>${sentence(40)} ${sentence(41)}</p></header>
    <div class="article-body">${prose(5)}<figure><img src="/a.jpg"><figcaption>The quay, seen from the tower</figcaption></figure></div>
    <div id="comments"><h3>3 comments</h3>${[50, 51, 52].map((seed) => `<div class="comment"><b>user${seed}</b><p>${sentence(seed)} I saw it ${seed} times.</p></div>`).join('')}</div></body></html>`);
  assert.match(text, new RegExp(sentence(40).slice(0, 40)));
  assert.doesNotMatch(text, /I saw it|seen from the tower/);
});

test('a part with most of the text stays, however it is called', () => {
  const text = textOf(`<html><body><div class="sidebar-layout widget"><div class="modal">${prose(6)}</div></div>
    <div class="sidebar">${[70, 71].map((seed) => `<p><a href="/${seed}">Read about ${seed}</a></p>`).join('')}</div></body></html>`);
  assert.match(text, new RegExp(sentence(0).slice(0, 40)));
  assert.doesNotMatch(text, /Read about/);
});

test('a page with an element between its head and its body is read', () =>
  assert.match(
    textOf(`<html><head><title>t</title></head><div id="top"></div><body><article>${prose(6)}</article></body></html>`),
    new RegExp(sentence(0).slice(0, 40)),
  ));

test('F80 the choice between two readings depends on the page alone', () => {
  const html = `<html><body><nav><a href="/a">Elsewhere</a></nav><article>${prose(6)}</article></body></html>`;
  const first = textOf(html);
  const { now } = Date;
  const performanceNow = performance.now;
  try {
    // A machine on which each look at the clock is an hour later.
    let lateMs = 0;
    const laterMs = () => {
      lateMs += 3_600_000;
      return lateMs;
    };
    Date.now = () => now() + laterMs();
    performance.now = () => performanceNow.call(performance) + laterMs();
    assert.equal(textOf(html), first);
  } finally {
    Date.now = now;
    performance.now = performanceNow;
  }
  assert.doesNotMatch(first, /Elsewhere/);
});

test('a lead that is called a teaser stays, a teaser that leads elsewhere does not', () => {
  const text =
    textOf(`<html><body><div class="article"><h1>Title</h1><div class="teaser-text"><p>At first ${sentence(40)}</p></div>
    <div class="news-text">${prose(5)}</div><div class="teaser"><p>Elsewhere ${sentence(60)} <a href="/a">More</a></p></div></div></body></html>`);
  assert.match(text, /At first/);
  assert.doesNotMatch(text, /Elsewhere/);
});

test('a long page of links is not read by Defuddle, whose time grows with their square, and all of it is given', (t) => {
  const parse = t.mock.method(DefuddleClass.prototype, 'parse');
  const links = Array.from({ length: 3_000 }, (_, at) => `<div><a href="/articles/of/${at}">All about ${at}</a></div>`);
  const page = (some: readonly string[]) => `<html><body><h1>Links</h1>${some.join('')}</body></html>`;
  const text = textOf(page(links));
  assert.equal(parse.mock.callCount(), 0);
  for (const at of [0, 1_500, 2_999]) assert.match(text, new RegExp(`All about ${at}$`, 'm'));
  textOf(page(links.slice(0, 50)));
  assert.equal(parse.mock.callCount(), 1, 'a short one is');
});
