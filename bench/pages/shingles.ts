/** How well a text matches another, by runs of four words: 0 to 1 each; null where there is nothing to match. */
export interface Match {
  precision: number | null;
  recall: number | null;
}

const runWords = 4;

/** As the article-extraction-benchmark of Zyte counts: runs as often as they occur, words with their spelling. */
export function matchOf(wanted: string, given: string): Match {
  const wantedRuns = runsOf(wanted);
  const givenRuns = runsOf(given);
  let common = 0;
  for (const [run, times] of wantedRuns) common += Math.min(times, givenRuns.get(run) ?? 0);
  return { precision: share(common, givenRuns), recall: share(common, wantedRuns) };
}

export interface Score {
  precision: number;
  recall: number;
  f1: number;
}

/** Means over pages, and F1 of the means. */
export function scoreOf(matches: readonly Match[]): Score {
  const precision = mean(matches.map((match) => match.precision));
  const recall = mean(matches.map((match) => match.recall));
  return { precision, recall, f1: (2 * precision * recall) / (precision + recall) };
}

function runsOf(text: string): Map<string, number> {
  const words = text.match(/[\p{L}\p{M}\p{N}_]+/gu) ?? [];
  const runs = new Map<string, number>();
  for (let at = 0; at < Math.max(1, words.length - runWords + 1) && words.length > 0; at++) {
    const run = words.slice(at, at + runWords).join(' ');
    runs.set(run, (runs.get(run) ?? 0) + 1);
  }
  return runs;
}

function share(common: number, runs: ReadonlyMap<string, number>): number | null {
  const all = [...runs.values()].reduce((sum, times) => sum + times, 0);
  return all === 0 ? null : common / all;
}

function mean(values: readonly (number | null)[]): number {
  const known = values.filter((value) => value !== null);
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}
