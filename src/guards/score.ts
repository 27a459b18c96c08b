export interface TriedText {
  /** Kinds that it holds, or the verdict; null: nobody said. */
  expected: readonly string[] | string | null;
  /** Kinds that were found. */
  found: readonly string[];
  verdict: string;
}

export interface KindScore {
  kind: string;
  /** Texts that hold it, in which it was found, and of these both. */
  expected: number;
  found: number;
  right: number;
  /** Null: it was found nowhere, or expected nowhere. */
  precision: number | null;
  recall: number | null;
}

export interface Score {
  texts: number;
  /** Texts with expected kinds or a verdict, and of these the ones that were as expected. */
  judged: number;
  right: number;
  precision: number | null;
  recall: number | null;
  kinds: KindScore[];
  /** Texts by verdict. */
  verdicts: Record<string, number>;
}

/** Kinds that were expected and not found, and those that were found and not expected; null: no kinds were expected. */
export function wrongKinds({ expected, found }: TriedText): { missed: string[]; extra: string[] } | null {
  if (expected === null || typeof expected === 'string') return null;
  const missed = expected.filter((kind) => !found.includes(kind));
  return { missed: [...new Set(missed)], extra: found.filter((kind) => !expected.includes(kind)) };
}

/** Whether a text was as expected; null: nobody said what to expect. */
export function isRight(tried: TriedText): boolean | null {
  if (typeof tried.expected === 'string') return tried.expected === tried.verdict;
  const wrong = wrongKinds(tried);
  return wrong === null ? null : wrong.missed.length + wrong.extra.length === 0;
}

/** Precision and recall by kind and of all kinds together. A kind counts once for each text. */
export function scoreOf(all: readonly TriedText[]): Score {
  const kinds = new Map<string, { expected: number; found: number; right: number }>();
  const of = (kind: string) => {
    const counts = kinds.get(kind) ?? { expected: 0, found: 0, right: 0 };
    kinds.set(kind, counts);
    return counts;
  };
  for (const { expected, found } of all) {
    if (expected === null || typeof expected === 'string') continue;
    for (const kind of new Set(expected)) of(kind).expected++;
    for (const kind of found) {
      of(kind).found++;
      if (expected.includes(kind)) of(kind).right++;
    }
  }
  const rows = [...kinds].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, counts]) => ({ kind, ...shares(counts) }));
  const sum = (name: 'expected' | 'found' | 'right') => rows.reduce((total, row) => total + row[name], 0);
  const { precision, recall } = shares({ expected: sum('expected'), found: sum('found'), right: sum('right') });
  const judgements = all.map(isRight).filter((right) => right !== null);
  const verdicts: Record<string, number> = {};
  for (const { verdict } of all) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  const right = judgements.filter(Boolean).length;
  return { texts: all.length, judged: judgements.length, right, precision, recall, kinds: rows, verdicts };
}

function shares(counts: { expected: number; found: number; right: number }) {
  const { expected, found, right } = counts;
  return { ...counts, precision: found === 0 ? null : right / found, recall: expected === 0 ? null : right / expected };
}
