import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A fenced block of a page. */
export interface Snippet {
  /** Such as `docs/speech.md`. */
  page: string;
  /** Line of its first fence, from 1. */
  line: number;
  /** `sh`, `js`, `yaml`, …; '' for none. */
  language: string;
  text: string;
  /** Reason of `<!-- not run: REASON -->` above it; null: it runs. */
  notRun: string | null;
}

/** The pages that users read: README.md and docs/*.md, with those of deploy. */
export const pages: readonly string[] = [
  'README.md',
  'deploy/README.md',
  ...globSync('docs/*.md', { cwd: root }).sort(),
];

const fence = /^```(\w*)\n([\s\S]*?)^```$/gm;
const mark = /<!-- not run: ([^\n]+?) -->\n+$/;

export function snippetsOf(page: string): Snippet[] {
  const whole = readFileSync(`${root}/${page}`, 'utf8');
  return [...whole.matchAll(fence)].map(({ index, 1: language, 2: text }) => {
    const before = whole.slice(0, index);
    const line = before.split('\n').length;
    return { page, line, language: language!, text: text!, notRun: mark.exec(before)?.[1] ?? null };
  });
}
