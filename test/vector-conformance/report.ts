/** A line of `watch_answers.py`. */
export interface TestResult {
  /** As pytest names it: file, function, parameters. */
  test: string;
  outcome: 'passed' | 'failed' | 'skipped';
  when: 'setup' | 'call' | 'teardown';
  /** First line of the assertion. */
  said?: string;
  /** Last refusal that the test got. */
  refused?: { status: number; words: string } | null;
}

export interface Summary {
  passed: number;
  skipped: number;
  total: number;
  files: readonly { file: string; passed: number; total: number }[];
  /** Most frequent first. */
  causes: readonly { count: number; status: number | null; words: string; example: string }[];
}

/** One result a test: a test whose teardown fails has failed. */
export function summarize(lines: readonly TestResult[]): Summary {
  const tests = new Map<string, TestResult>();
  for (const line of lines) if (tests.get(line.test)?.outcome !== 'failed') tests.set(line.test, line);
  const files = new Map<string, { passed: number; total: number }>();
  const causes = new Map<string, { count: number; status: number | null; words: string; example: string }>();
  let passed = 0;
  let skipped = 0;
  for (const result of tests.values()) {
    const file = fileOf(result.test);
    const counted = files.get(file) ?? { passed: 0, total: 0 };
    files.set(file, counted);
    counted.total += 1;
    if (result.outcome === 'skipped') skipped += 1;
    if (result.outcome === 'passed') {
      passed += 1;
      counted.passed += 1;
    }
    if (result.outcome !== 'failed') continue;
    const { status = null, words = result.said ?? '' } = result.refused ?? {};
    const key = `${status} ${causeOf(words)}`;
    const cause = causes.get(key) ?? { count: 0, status, words: causeOf(words), example: result.test };
    causes.set(key, cause);
    cause.count += 1;
  }
  return {
    passed,
    skipped,
    total: tests.size,
    files: Array.from(files, ([file, counted]) => ({ file, ...counted })).sort((a, b) => (a.file < b.file ? -1 : 1)),
    causes: [...causes.values()].sort((a, b) => b.count - a.count),
  };
}

/** The table that people read. */
export function report(summary: Summary, causesMax: number): string {
  const { passed, skipped, total, files, causes } = summary;
  const width = Math.max(0, ...files.map(({ file }) => file.length));
  const shown = causes.slice(0, causesMax);
  return [
    ...files.map((one) => `${one.file.padEnd(width)} ${String(one.passed).padStart(4)} of ${one.total}`),
    '',
    `${passed} of ${total} pass, ${skipped} skipped`,
    '',
    'Failures by the last refusal a test got (– : none, its own assertion)',
    ...shown.map(
      ({ count, status, words, example }) =>
        `${String(count).padStart(4)}  ${status ?? '–'}  ${words}\n          ${example}`,
    ),
    ...(causes.length > shown.length ? [`… and ${causes.length - shown.length} more causes`] : []),
  ].join('\n');
}

function fileOf(test: string): string {
  return test.slice(test.lastIndexOf('/', test.indexOf('::')) + 1, test.indexOf('::'));
}

/** Without the names and numbers that differ from test to test. */
function causeOf(words: string): string {
  return words
    .replaceAll(/'test_\w+'/g, '…')
    .replaceAll(/\d+(\.\d+)?/g, '#')
    .slice(0, 160);
}
