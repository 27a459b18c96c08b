/** One line of the table: the measured value against the goal of design §18. */
export interface Row {
  what: string;
  measured: string;
  /** '' when it is only told. */
  mustReach: string;
  verdict: 'pass' | 'miss' | '';
}

export interface Limit {
  atLeast?: number;
  atMost?: number;
  unit: string;
  digits: number;
}

/** `values` are the rounds; their median is judged, and their best shown beside it where there are several. */
export function judged(what: string, values: readonly number[], limit: Limit): Row {
  const sorted = [...values].sort((a, b) => a - b);
  // Of two middle ones the worse counts.
  const at = (sorted.length - 1) / 2;
  const middle = sorted[limit.atLeast === undefined ? Math.ceil(at) : Math.floor(at)] ?? Number.NaN;
  const better = limit.atLeast === undefined ? sorted[0] : sorted.at(-1);
  const show = (value: number | undefined) => `${value?.toFixed(limit.digits)}${limit.unit}`;
  const measured = values.length > 1 ? `${show(middle)} (best ${show(better)})` : show(middle);
  if (limit.atLeast !== undefined)
    return {
      what,
      measured,
      mustReach: `≥ ${limit.atLeast}${limit.unit}`,
      verdict: middle >= limit.atLeast ? 'pass' : 'miss',
    };
  if (limit.atMost !== undefined)
    return {
      what,
      measured,
      mustReach: `≤ ${limit.atMost}${limit.unit}`,
      verdict: middle <= limit.atMost ? 'pass' : 'miss',
    };
  return { what, measured, mustReach: '', verdict: '' };
}

export function told(what: string, measured: string): Row {
  return { what, measured, mustReach: '', verdict: '' };
}

export function markdownTable(rows: readonly Row[]): string {
  const lines = rows.map((row) => `| ${row.what} | ${row.measured} | ${row.mustReach} | ${row.verdict} |`);
  return ['| row | measured | must reach | |', '|---|---|---|---|', ...lines].join('\n');
}

/** Prints rows as soon as they are measured, and returns them. */
export function print(rows: readonly Row[]): readonly Row[] {
  for (const row of rows) {
    console.log(`${row.what.padEnd(64)} ${row.measured.padEnd(34)} ${row.mustReach.padEnd(12)} ${row.verdict}`);
  }
  return rows;
}
