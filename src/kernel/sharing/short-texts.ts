import { putNewest } from '../put-newest.ts';

/** Short texts by name, which all processes of a server share. A process that is not the primary asks it for them. */
export interface ShortTexts {
  keep(name: string, text: string): void | Promise<void>;
  /** Null: none is kept under this name. */
  find(name: string): string | null | Promise<string | null>;
}

/** Bound for the texts of a process. Beyond it, those that were kept the longest ago are forgotten. */
const textsMax = 10_000;

/** Texts in the memory of this process. */
export function createShortTexts() {
  const texts = new Map<string, string>();
  return {
    keep: (name: string, text: string) => putNewest(texts, name, text, textsMax),
    find: (name: string) => texts.get(name) ?? null,
  } satisfies ShortTexts;
}
