import type { Loss } from '../../neutral/loss.ts';

/** What decoding found no neutral place for, each field once. */
export class Losses {
  readonly list: Loss[] = [];
  readonly #seen = new Set<string>();

  add(field: string, why: Loss['why']): void {
    if (this.#seen.has(field)) return;
    this.#seen.add(field);
    this.list.push({ field, why });
  }

  /** Lists the members of `holder` that are neither null nor in `known`, as `path.member`. */
  addUnknown(holder: { [name: string]: unknown }, known: ReadonlySet<string>, path: string): void {
    for (const name of Object.keys(holder)) {
      if (known.has(name) || holder[name] === null || holder[name] === undefined) continue;
      this.add(`${path}.${name}`, 'unknown');
    }
  }
}
