// node bench/run.mjs tools [extract] [crawl]

import { finish } from '../results.ts';
import { print, type Row } from '../rows.ts';
import { measureCrawl } from './measure-crawl.ts';
import { measureExtract } from './measure-extract.ts';

const measurements: Record<string, () => Promise<Row[]>> = {
  extract: measureExtract,
  crawl: () => measureCrawl(2_000),
};

const named = process.argv.slice(2);
const unknown = named.filter((name) => !(name in measurements));
if (unknown.length > 0) {
  console.error(`No such row: ${unknown.join(', ')}. Rows: ${Object.keys(measurements).join(', ')}.`);
  process.exit(2);
}

const rows: Row[] = [];
for (const name of named.length > 0 ? named : Object.keys(measurements)) {
  rows.push(...print(await measurements[name]!()));
}
finish(
  {
    subject: 'tools',
    command: 'node bench/run.mjs tools',
    how: `Pages go to a thread of the pool and come back as markdown, text, HTML and links, one after another; three rounds,
after thirty pages to warm up. The crawl is of a local site of prose, 10 to 40 KB a page, in a process of its own, by a
gateway with everything on, no pause between pages; 40 chats a second beside it, all on the same two cores.`,
    rows,
  },
  named.length === 0,
);
