import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';

/*
 * Figures that may fall and not rise (design.md §21). A change that raises one edits ratchet.json by hand, and its commit
 * says why. `npm run gates` writes those that fell.
 */

const file = new URL('./ratchet.json', import.meta.url);
type Figures = Record<string, Record<string, number>>;
export const ratchet = JSON.parse(readFileSync(file, 'utf8')) as Figures;
/** Set by `npm run gates`: prints each figure and writes what fell. */
const lowers = process.env.GATES === 'lower';

/**
 * One test for each figure of a subject. `count` gives the figures now; `where` explains one that rose, such as by
 * names; `noise` is how much more a figure may be in one run than in another of the same sources, 0 where it is left out.
 */
export function gate<Counted>(
  subject: string,
  count: () => Counted | Promise<Counted>,
  figures: Readonly<Record<string, (counted: Counted) => number>>,
  where: Readonly<Record<string, (counted: Counted) => string>> = {},
  noise: Readonly<Record<string, number>> = {},
): void {
  let counted: Promise<Counted> | null = null;
  for (const [name, figure] of Object.entries(figures)) {
    test(`gate: ${subject}: ${name}`, async () => {
      counted ??= Promise.resolve(count());
      const now = figure(await counted);
      const limit = ratchet[subject]?.[name];
      if (lowers) return lower(subject, name, now, limit);
      assert.ok(limit !== undefined, `test/gates/ratchet.json lacks ${subject}: ${name}, which is ${now}.`);
      const names = where[name]?.(await counted) ?? '';
      assert.ok(
        now <= limit + (noise[name] ?? 0),
        `${now}, and at most ${limit} so far. Lower it, or raise the figure in test/gates/ratchet.json by hand and say why in the commit. ${names}`,
      );
    });
  }
}

/** Gates of one run share the file: it is read anew each time. */
function lower(subject: string, name: string, now: number, limit: number | undefined): void {
  console.log(`${subject}: ${name}: ${now}${limit === undefined ? '' : `, at most ${limit}`}`);
  if (limit !== undefined && now >= limit) return;
  const figures = JSON.parse(readFileSync(file, 'utf8')) as Figures;
  figures[subject] = { ...figures[subject], [name]: now };
  writeFileSync(file, `${JSON.stringify(figures, null, 2)}\n`);
}
