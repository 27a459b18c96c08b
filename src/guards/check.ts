import { type EncodedPiece, encodedChars, encodedFrom, encodedOpen } from './encoded-text.ts';
import { type SeenText, seenText } from './seen-text.ts';

/** A place in a text where a check found something. `end`: the first character after it. */
export interface Finding {
  /** Word for what it is, such as `email`. */
  kind: string;
  start: number;
  end: number;
  /** Where the text begins that decides it, such as the name before a password. Absent: `start`. */
  since?: number;
  /** Bytes in base64 begin here, which no rule can read: nothing was found. Absent: it was. */
  isUnread?: true;
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
  /** `escaped`: it knows what escapes mean. Absent: it also looks at a text without them. */
  of?: 'escaped';
}

/** The rules of one guard. */
export type Check = readonly Rule[];

/** Characters before a place that rules look at, to see whether it is the beginning of a word. */
export const contextChars = 64;

/**
 * Findings that begin at `from` or later and before `before`, in their order. Where two overlap, the earlier one takes
 * precedence, and of those with one beginning the longer one. What base64 holds is found as the whole of it. It depends on
 * no text further than `open` allows, so that a text in pieces has the findings of the whole.
 */
export function findingsIn(
  check: Check,
  text: string,
  from: number,
  before: number,
  seen: SeenText | null = seenText(text),
): Finding[] {
  return findingsAt(check, text, { from, before, seen, depth: 0 });
}

interface Stretch {
  from: number;
  before: number;
  seen: SeenText | null;
  /** How often base64 was decoded to get this text. */
  depth: number;
}

const depthMax = 3;

function findingsAt(check: Check, text: string, { from, before, seen, depth }: Stretch): Finding[] {
  const found: Finding[] = [];
  const rules = [...check, encodedRule(check, before, depth)];
  if (seen !== null) rules.push(...rulesOver(seen, [...check, encodedRule(check, seen.placeOf(before), depth)]));
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

/** Finds base64 that holds what a check finds, as far as it begins before a place. */
function encodedRule(check: Check, before: number, depth: number): Rule {
  /** Bytes up to here are reported. */
  let reported = 0;
  const findingOf = ({ start, end, ahead, text, isBytes }: EncodedPiece): Finding | null => {
    const place = { from: 0, before: text.length, seen: seenText(text), depth: depth + 1 };
    const found = text === '' || depth === depthMax ? undefined : findingsAt(check, text, place)[0];
    if (found !== undefined && found.isUnread === undefined) return { kind: found.kind, start, end: ahead };
    if (start < reported || (!isBytes && found === undefined)) return null;
    reported = end;
    return { kind: 'bytes', start, end: start + 1, isUnread: true };
  };
  return {
    longest: encodedChars,
    next(text, from) {
      for (let at = from; ; ) {
        const piece = encodedFrom(text, at);
        if (piece === null || piece.start >= before) return null;
        const found = findingOf(piece);
        if (found !== null) return found;
        at = piece.end;
      }
    },
    open: (text, from) => encodedOpen(text, from),
  };
}

const since = ({ since, start }: Finding) => since ?? start;

/** The first place of any rule that more text could change. */
export function openAt(check: Check, text: string, from: number, seen: SeenText | null = seenText(text)): number {
  let open = encodedOpen(text, from);
  for (const rule of check) open = Math.min(open, rule.open(text, from));
  if (seen === null) return encodedOpen(text, from, open);
  open = Math.max(from, Math.min(open, seen.unsure));
  for (const rule of rulesOver(seen, [...check, encodedRule(check, 0, 0)]))
    open = Math.min(open, rule.open(text, from));
  return encodedOpen(text, from, open);
}

/** Rules that look at a text as people read it, and find the places in it as it is written. */
function rulesOver(seen: SeenText, check: Check): Rule[] {
  return check.flatMap((rule) => {
    const view = rule.of === 'escaped' && seen.escaped !== undefined ? seen.escaped : seen;
    return view === null ? [] : [ruleOver(view, rule)];
  });
}

function ruleOver({ text, placeOf, beginning, ending, unsure }: SeenText, rule: Rule): Rule {
  return {
    longest: rule.longest,
    next(_, from) {
      const found = rule.next(text, placeOf(from));
      if (found === null) return null;
      const { since } = found;
      const place = { ...found, start: beginning(found.start), end: ending(found.end) };
      return since === undefined ? place : { ...place, since: beginning(since) };
    },
    // An escape that has not ended is longer than the character that it will be.
    open: (_, from) => beginning(rule.open(text.slice(0, placeOf(unsure)), placeOf(from))),
  };
}
