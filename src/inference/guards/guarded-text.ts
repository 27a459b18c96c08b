import { type Check, type Finding, findingsIn, openAt } from '../../guards/check.ts';
import { HeldText } from '../../guards/held-text.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { TextFilter, TextParts } from '../models/steps.ts';
import { mayBeJson, placeInJson, valueIn } from './json-mask.ts';
import { beforeWord, type MaskBook } from './mask-book.ts';

/** One text of an answer through a guard. It holds back what more text could make a finding of, or a word. */
export class GuardedText implements TextFilter {
  readonly #rule: AnswerRule;
  readonly #isInEach: boolean;
  readonly #held = new HeldText();
  /** Null: one sign has come, or none. */
  #isJson: boolean | null = null;
  #hides = false;
  /** Length of what is held at which it is looked at again. */
  #looksAt = 0;
  #partEnds: number[] = [];
  /** Where, in the whole text, the last finding ends. */
  #foundTo = 0;

  /** `words`: where the word of a value is that goes across parts. */
  constructor(rule: AnswerRule, words: 'in the first part' | 'in each part' = 'in the first part') {
    this.#rule = rule;
    this.#isInEach = words === 'in each part';
  }

  push(text: string): string | Failure {
    const held = this.#held;
    held.push(text);
    if (this.#isJson === null && /\S\s*\S/.test(held.text)) this.#isJson = mayBeJson(held.text);
    const noted = held.partEnds.length;
    const decided = this.#decided();
    if (this.#rule.passes !== 'all' || typeof decided !== 'string') return decided;
    // All before the piece has gone on.
    this.#partEnds = Array.from({ length: noted }, () => 0);
    held.partEnds = [];
    return text;
  }

  /** Looks again at what is open when it is longer by a sixteenth, and not for each character of a long word. */
  #decided(): string | Failure {
    const held = this.#held;
    this.#partEnds = [];
    if (held.text.length < this.#looksAt) return '';
    const { check, book } = this.#rule;
    const open = check === null ? held.text.length : openAt(check, held.text, held.from, held.seen);
    const decided = this.#upTo(book.isEmpty ? open : beforeWord(held.text, held.from, open));
    this.#looksAt = held.text.length + ((held.text.length - held.from) >> 4);
    return decided;
  }

  endPart(): void {
    this.#held.endPart();
  }

  partEnds(): readonly number[] {
    return this.#partEnds;
  }

  isInWord(): boolean {
    return this.#rule.book.endsInWord(this.#held.text, this.#held.sentTo);
  }

  unread(parts: number): Failure | null {
    return this.#rule.unread(parts);
  }

  parts(): TextParts {
    const text = new GuardedText(this.#rule, 'in each part');
    let open = '';
    return (part) => {
      const passed = part === null ? text.end() : text.push(part);
      if (typeof passed !== 'string') return passed;
      if (part !== null) text.endPart();
      const ends = [0, ...text.partEnds()];
      const parts = ends.slice(1).map((end, at) => passed.slice(ends[at], end));
      if (parts.length > 0) parts[0] = open + parts[0];
      open = (parts.length > 0 ? '' : open) + passed.slice(ends.at(-1));
      return parts;
    };
  }

  hides(): boolean {
    return this.#hides;
  }

  isNumber(text: string): boolean {
    return this.#rule.book.isNumber(text);
  }

  end(): string | Failure {
    this.#held.end();
    const decided = this.#upTo(this.#held.text.length, this.#held.from);
    return this.#rule.passes === 'all' && typeof decided === 'string' ? '' : decided;
  }

  resumed(): TextFilter {
    this.#hides = false;
    this.#looksAt = 0;
    return this;
  }

  /** Passes on all before a place, and looks again at what is behind `open` when more comes. */
  #upTo(before: number, open = before): string | Failure {
    const { check, book, take } = this.#rule;
    const held = this.#held;
    const { text, from, seen } = held;
    let passed = '';
    let at = held.sentTo;
    let decided = open;
    this.#partEnds = [];
    const form = this.#isJson === true ? 'json' : 'text';
    const pass = (to: number, as = (part: string) => book.restored(part, form)) => {
      for (let end = held.partEnds[0]; end !== undefined && end <= to; end = held.partEnds[0]) {
        held.partEnds.shift();
        // A value that is given back is in the first of the parts that its word is in.
        const word = book.wordAcross(text, at, end);
        passed += as(text.slice(at, word?.start ?? end)) + (word === null ? '' : as(text.slice(word.start, word.end)));
        at = Math.max(at, word?.end ?? end);
        this.#partEnds.push(passed.length);
      }
      passed += as(text.slice(at, to));
      at = Math.max(at, to);
    };
    if (check !== null) {
      for (const finding of findingsIn(check, text, from, before, seen)) {
        const { start } = finding;
        if (finding.isUnread === true) {
          const refused = this.#rule.unread(1);
          if (refused !== null) return refused;
          continue;
        }
        const { end, quote } = this.#isJson ? placeInJson(text, finding) : { end: finding.end, quote: '' };
        // More may make it longer.
        if ((finding.since ?? start) < open) decided = Math.max(decided, end);
        if (end <= held.sentTo && held.placeOf(end) <= this.#foundTo) continue;
        this.#foundTo = held.placeOf(end);
        const written = text.slice(start, end);
        const value = form === 'json' ? valueIn(written) : written;
        const taken = take(finding, value);
        if (typeof taken !== 'string') return taken;
        this.#hides ||= taken !== value;
        pass(start);
        if (taken === value || end <= held.sentTo) pass(end, (part) => part);
        else {
          passed += quote + taken + quote;
          while (this.#isInEach && (held.partEnds[0] ?? end) < end) {
            held.partEnds.shift();
            this.#partEnds.push(passed.length);
            passed += taken;
          }
          at = end;
        }
      }
    }
    pass(Math.max(at, before));
    held.sentTo = at;
    held.passTo(decided);
    return passed;
  }
}

/** Work of a guard on the texts of an answer. */
export interface AnswerRule {
  /** Null: it only gives back what the request's words replace. */
  check: Check | null;
  book: MaskBook;
  /** Counts a finding: what goes on in its place, or the failure that ends the answer. */
  take(finding: Finding, value: string): string | Failure;
  /** Counts parts that nobody can read: the failure that ends the answer, or null. */
  unread(parts: number): Failure | null;
  /** `all`: nothing is changed, so that nothing is held back. */
  passes: 'all' | 'what is decided';
}
