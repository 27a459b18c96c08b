// node bench/run.mjs pages FOLDER: how well the main content of pages is found that people have labelled
import { byDefuddle, byReadability } from '../../src/tools/extract/content-readings.ts';
import { mainContentOf } from '../../src/tools/extract/main-content.ts';
import { documentOf, type PageElement } from '../../src/tools/extract/page-document.ts';
import { readHtml } from '../../src/tools/extract/read-html.ts';
import { writeText } from '../../src/tools/extract/write-text.ts';
import { type LabelledPage, readPages } from './read-pages.ts';
import { type Match, matchOf, scoreOf } from './shingles.ts';

const wishes = { onlyMainContent: true, includeTags: null, excludeTags: null, rawHtml: false };
const ofRoot = (root: PageElement | null | undefined) => (root == null ? '' : writeText(root));

/** From the page to the text, with its parsing, for each. */
const readers: Record<string, (page: LabelledPage) => string> = {
  defuddle: ({ html, url }) => ofRoot(byDefuddle(documentOf(html), html.length, url)?.root),
  readability: ({ html }) => ofRoot(byReadability(documentOf(html))?.root),
  'the choice': ({ html, url }) => ofRoot(mainContentOf(documentOf(html), html.length, url)),
  'as given (with the heading of the page)': ({ html, url }) => readHtml(html, url, wishes).text,
};

const folder = process.argv[2];
if (folder === undefined) {
  console.error('Which pages? node bench/run.mjs pages FOLDER, with ground-truth.json and html/*.html.gz in it.');
  process.exit(2);
}
// Libraries say there what they think of broken pages.
console.error = () => {};
console.warn = () => {};

const pages = [...readPages(folder)];
const matches = new Map<string, { half: string; match: Match }[]>();
const times = new Map<string, number[]>();
for (const page of pages) {
  for (const [name, read] of Object.entries(readers)) {
    const beganMs = performance.now();
    const text = read(page);
    push(times, name, performance.now() - beganMs);
    push(matches, name, { half: page.half, match: matchOf(page.text, text) });
  }
}
console.log(`${pages.length} pages; precision, recall and F1 by runs of four words`);
for (const name of Object.keys(readers)) {
  console.log(`\n${name}: p50 ${quantile(times.get(name)!, 0.5)} ms, p95 ${quantile(times.get(name)!, 0.95)} ms`);
  for (const half of ['tuned', 'held out', 'all']) {
    const of = matches.get(name)!.filter((one) => half === 'all' || one.half === half);
    const { precision, recall, f1 } = scoreOf(of.map(({ match }) => match));
    const figures = [precision, recall, f1].map((value) => value.toFixed(3)).join('  ');
    console.log(`  ${half.padEnd(8)}  ${String(of.length).padStart(4)} pages  ${figures}`);
  }
}

function push<T>(lists: Map<string, T[]>, name: string, value: T): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [value]);
  else list.push(value);
}

function quantile(values: readonly number[], share: number): string {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]!.toFixed(1);
}
