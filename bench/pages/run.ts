// node bench/run.mjs pages FOLDER: how well the main content of pages is found that people have labelled
import { availableParallelism, loadavg } from 'node:os';
import { byDefuddle, byNames, byReadability, mainContentOf } from '../../src/tools/extract/main-content.ts';
import { type PageElement, pageDocument } from '../../src/tools/extract/page-document.ts';
import { plainHtml } from '../../src/tools/extract/plain-text.ts';
import { readHtml, writeText } from '../../src/tools/extract/read-html.ts';
import { UnfitPage } from '../../src/tools/extract/scan-html.ts';
import { type Found, foundIn, scoreOfPieces } from './pieces.ts';
import { type Label, type LabelledPage, readPages } from './read-pages.ts';
import { type Match, matchOf, type Score, scoreOf } from './shingles.ts';

const wishes = { onlyMainContent: true, includeTags: null, excludeTags: null, rawHtml: false };
const ofRoot = (root: PageElement | null | undefined) => (root == null ? '' : writeText(root));

/** From the page to the text, with its parsing, for each. */
const all: Record<string, (page: LabelledPage) => string> = {
  defuddle: ({ html, url }) => ofRoot(byDefuddle(pageDocument(html), html.length, url)?.root),
  readability: ({ html }) => ofRoot(byReadability(pageDocument(html))?.root),
  'the names of parts': ({ html }) => ofRoot(byNames(pageDocument(html))?.root),
  'the choice': ({ html, url }) => ofRoot(mainContentOf(pageDocument(html), html.length, url)),
  'as given': ({ html, url }) => {
    try {
      return readHtml(html, url, wishes).text;
    } catch (error) {
      if (!(error instanceof UnfitPage)) throw error;
      return plainHtml(html, url, true).text;
    }
  },
};

const [folder, only] = process.argv.slice(2);
if (folder === undefined) {
  console.error(
    'Which pages? node bench/run.mjs pages FOLDER [READER], in the form of article-extraction-benchmark or of trafilatura.',
  );
  process.exit(2);
}
// Libraries say there what they think of broken pages.
console.error = () => {};
console.warn = () => {};

interface Judged {
  half: LabelledPage['half'];
  found: Match | Found;
}

const readers = Object.entries(all).filter(([name]) => only === undefined || name === only);
const judged = new Map<string, Judged[]>(readers.map(([name]) => [name, []]));
const times = new Map<string, { wallMs: number; cpuMs: number }[]>(readers.map(([name]) => [name, []]));
let kind: Label['kind'] = 'text';
let pages = 0;
for (const page of readPages(folder)) {
  pages += 1;
  kind = page.label.kind;
  for (const [name, read] of readers) {
    const beganMs = performance.now();
    const cpu = process.cpuUsage();
    const text = read(page);
    const { user, system } = process.cpuUsage(cpu);
    times.get(name)!.push({ wallMs: performance.now() - beganMs, cpuMs: (user + system) / 1_000 });
    judged.get(name)!.push({ half: page.half, found: foundOf(page.label, text) });
  }
}
const by = kind === 'text' ? 'runs of four words' : 'pieces of text';
const load = `load ${loadavg()[0]!.toFixed(1)} on ${availableParallelism()} cores`;
console.log(`${pages} pages; precision, recall and F1 by ${by}; ${load}`);
for (const [name] of readers) {
  const took = (['wallMs', 'cpuMs'] as const).map((key) => {
    const sorted = times
      .get(name)!
      .map((one) => one[key])
      .sort((a, b) => a - b);
    return [0.5, 0.95].map((share) => sorted[Math.floor(sorted.length * share)]!.toFixed(1));
  });
  console.log(`\n${name}: p50 ${took[0]![0]} ms, p95 ${took[0]![1]} ms; of the processor ${took[1]!.join(' and ')} ms`);
  for (const half of ['tuned', 'held out', 'all']) {
    const of = judged.get(name)!.filter((one) => half === 'all' || one.half === half);
    const { precision, recall, f1 } = scoreOfAll(of.map(({ found }) => found));
    const figures = [precision, recall, f1].map((value) => value.toFixed(3)).join('  ');
    console.log(`  ${half.padEnd(8)}  ${String(of.length).padStart(4)} pages  ${figures}`);
  }
}

function foundOf(label: Label, text: string): Match | Found {
  return label.kind === 'text' ? matchOf(label.text, text) : foundIn(text, label.wanted, label.unwanted);
}

function scoreOfAll(found: readonly (Match | Found)[]): Score {
  return kind === 'text' ? scoreOf(found as Match[]) : scoreOfPieces(found as Found[]);
}
