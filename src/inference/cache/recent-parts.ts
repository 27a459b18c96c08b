import { putNewest } from '../../kernel/put-newest.ts';

/** The parts of kept requests in the memory of this process, which say what another request has that these have not. */
export class RecentParts {
  /** By scope and model, the one used last at the end; the newest parts are the last of each. */
  readonly #recent = new Map<string, Readonly<Record<string, string>>[]>();

  /** The place of the newest parts. */
  #last: string | null = null;

  add(at: string, parts: Readonly<Record<string, string>>): void {
    const known = this.#recent.get(at) ?? [];
    known.push(parts);
    if (known.length > partsMax) known.shift();
    // Each deletion of a Map's entry makes work for the collector.
    if (at === this.#last) return;
    this.#last = at;
    putNewest(this.#recent, at, known, placesMax);
  }

  /** The names of parts in which the nearest of them differs; null: none is known. */
  differing(at: string, parts: Readonly<Record<string, string>>): string[] | null {
    let least: string[] | null = null;
    for (const known of this.#recent.get(at) ?? []) {
      const names = new Set([...Object.keys(known), ...Object.keys(parts)]);
      const differing = [...names].filter((name) => known[name] !== parts[name]).map((name) => name.trim());
      if (least === null || differing.length <= least.length) least = differing.sort();
    }
    return least;
  }
}

const placesMax = 500;
const partsMax = 16;
