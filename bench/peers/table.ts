import { median } from '../percentile.ts';
import type { Extent, Figures } from './measure.ts';

/** One line of the table: what, in which unit, and the key of its samples. */
interface Line {
  what: string;
  key: string;
  digits: number;
  /** Over the direct path. */
  added?: true;
  /** Divides the samples. */
  per?: number;
}

function linesOf({ callers, rate }: Extent): Line[] {
  const each = (line: (callers: number) => Line) => callers.map(line);
  return [
    ...each((n) => ({ what: `answers a second, ${count(n, 'caller')}`, key: `rate ${n}`, digits: 0 })),
    ...each((n) => ({ what: `CPU for an answer, ${count(n, 'caller')} (µs)`, key: `cpu ${n}`, digits: 0 })),
    ...each((n) => ({ what: `cores of load and upstream busy, ${count(n, 'caller')}`, key: `busy ${n}`, digits: 2 })),
    ...each((n) => ({ what: `CPU for a chunk, ${count(n, 'stream')} (µs)`, key: `chunk ${n}`, digits: 1 })),
    ...each((n) => ({ what: `share of 50 chunks a second kept, ${count(n, 'stream')}`, key: `pace ${n}`, digits: 2 })),
    { what: `added p50 at ${rate} requests a second (ms)`, key: 'p50', digits: 2, added: true },
    { what: `added p99 at ${rate} requests a second (ms)`, key: 'p99', digits: 2, added: true },
    { what: 'added to the first token, p50 (ms)', key: 'first', digits: 2, added: true },
    { what: 'memory after the first answer (MB)', key: 'memory first', digits: 0 },
    { what: 'memory after everything (MB)', key: 'memory last', digits: 0 },
    { what: 'from the start to the first answer (s)', key: 'start', digits: 2, per: 1_000 },
  ];
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}

export interface Column {
  name: string;
  figures: Figures;
}

/** Markdown with a column for each gateway, wide enough to be read on a terminal. */
export function tableOf(extent: Extent, columns: readonly Column[], direct: Figures): string {
  const head = ['', ...columns.map(({ name }) => name)];
  const body = linesOf(extent).map((line) => [
    line.what,
    ...columns.map(({ figures }) => cellOf(line, figures, direct)),
  ]);
  const widths = head.map((_title, at) => Math.max(...[head, ...body].map((cells) => cells[at]?.length ?? 0), 3));
  const text = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, at) => (at === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [text(head), rule, ...body.map(text)].join('\n');
}

function cellOf({ key, digits, added, per = 1 }: Line, figures: Figures, direct: Figures): string {
  const samples = figures.of(key);
  if (typeof samples === 'string') return samples;
  const base = added ? direct.of(key) : [0];
  if (typeof base === 'string') return base;
  return ((median(samples) - median(base)) / per).toFixed(digits);
}
