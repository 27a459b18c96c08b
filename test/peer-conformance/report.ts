import type { TestResult } from './read-junit.ts';

const longestReason = 200;

/** The table that people read: each file with what passed, and why the others failed. */
export function report(results: readonly TestResult[]): string {
  const byFile = Map.groupBy(results, ({ file }) => file);
  const width = Math.max(5, ...[...byFile.keys()].map(({ length }) => length));
  const row = (name: string, cells: readonly (string | number)[]) =>
    [name.padEnd(width), ...cells.map((cell) => String(cell).padStart(7))].join(' ');
  return [
    row('file', ['passed', 'failed', 'skipped']),
    ...[...byFile].flatMap(([file, own]) => [
      row(file, counts(own)),
      ...own
        .filter(({ outcome }) => outcome === 'failed')
        .map(({ test, reason }) => `  ${test}: ${reason.slice(0, longestReason)}`),
    ]),
    row('total', counts(results)),
  ].join('\n');
}

function counts(results: readonly TestResult[]): number[] {
  return ['passed', 'failed', 'skipped'].map((outcome) => results.filter((one) => one.outcome === outcome).length);
}
