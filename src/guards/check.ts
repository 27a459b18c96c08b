import { type SeenText, seenText } from './seen-text.ts';

/** A place in a text where a check found something. `end`: the first character after it. */
export interface Finding {
  /** Word for what it is, such as `email`. */
  kind: string;
  start: number;
  end: number;
  /** Where the text begins that decides it, such as the name before a password. Absent: `start`. */
  since?: number;
}

/** Looks for one kind of thing. Its time grows with the text's length alone, whatever the text is. */
export interface Rule {
  /** The first finding that begins at `from` or later; null: none. What is before `from` is only looked at. */
  next(text: string, from: number): Finding | null;
  /**
   * The first place, at `from` or later, where more text could make or change a finding; the text's length: nowhere.
   * It is never further than `longest` from the text's end.
   */
  open(text: string, from: number): number;
  /** Characters of its longest finding, with those that decide it. */
  longest: number;
  /** `written`: invisible characters hide nothing from it. Absent: it also looks at the text as people read it. */
  of?: 'written';
}

/** The rules of one guard. */
export type Check = readonly Rule[];

/** Characters before a place that rules look at, to see whether it is the beginning of a word. */
export const contextChars = 64;

/**
 * Findings that begin at `from` or later and before `before`, in their order. Where two overlap, the earlier one wins,
 * and of those with one beginning the longer one. It depends on no text further than `open` allows, so that a text in
 * pieces has the findings of the whole.
 */
export function findingsIn(
  check: Check,
  text: string,
  from: number,
  before: number,
  seen: SeenText | null = seenText(text),
): Finding[] {
  const found: Finding[] = [];
  const rules = seen === null ? check : [...check, ...rulesOver(seen, check)];
  const nexts = rules.map((rule) => rule.next(text, from));
  for (;;) {
    let first: Finding | null = null;
    for (const next of nexts) {
      if (next === null || since(next) >= before) continue;
      const later = first === null ? -1 : since(next) - since(first);
      if (first === null || later < 0 || (later === 0 && next.end > first.end)) first = next;
    }
    if (first === null) return found;
    found.push(first);
    const { end } = first;
    for (const [at, next] of nexts.entries()) {
      if (next !== null && since(next) < end) nexts[at] = rules[at]?.next(text, end) ?? null;
    }
  }
}

const since = ({ since, start }: Finding) => since ?? start;

/** The first place of any rule that more text could change. */
export function openAt(check: Check, text: string, from: number, seen: SeenText | null = seenText(text)): number {
  let open = text.length;
  for (const rule of check) open = Math.min(open, rule.open(text, from));
  if (seen === null) return open;
  open = Math.max(from, Math.min(open, seen.unsure));
  for (const rule of rulesOver(seen, check)) open = Math.min(open, rule.open(text, from));
  return open;
}

/** Rules that look at a text as people read it, and find the places in it as it is written. */
function rulesOver({ text, placeOf, beginning, ending }: SeenText, check: Check): Rule[] {
  return check
    .filter((rule) => rule.of !== 'written')
    .map((rule) => ({
      longest: rule.longest,
      next(_, from) {
        const found = rule.next(text, placeOf(from));
        if (found === null) return null;
        const { kind, start, end, since } = found;
        const place = { kind, start: beginning(start), end: ending(end) };
        return since === undefined ? place : { ...place, since: beginning(since) };
      },
      open: (_, from) => beginning(rule.open(text, placeOf(from))),
    }));
}
