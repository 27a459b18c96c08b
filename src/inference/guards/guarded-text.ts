import { type Check, type Finding, findingsIn, openAt } from '../../guards/check.ts';
import { HeldText } from '../../guards/held-text.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { TextFilter, TextParts } from '../models/steps.ts';
import { mayBeJson, placeInJson } from './json-mask.ts';
import { beforeWord, type MaskBook } from './mask-book.ts';

/** One text of an answer through a guard. It holds back what more text could make a finding of, or a word. */
export class GuardedText implements TextFilter {
  readonly #rule: AnswerRule;
  readonly #held = new HeldText();
  /** Null: nothing but white space has come. */
  #isJson: boolean | null = null;
  #hides = false;
  #partEnds: number[] = [];

  constructor(rule: AnswerRule) {
    this.#rule = rule;
  }

  push(text: string): string | Failure {
    const held = this.#held;
    held.push(text);
    if (this.#isJson === null && text.trim() !== '') this.#isJson = mayBeJson(text);
    const { check, book, passes } = this.#rule;
    const open = check === null ? held.text.length : openAt(check, held.text, held.from, held.seen);
    const noted = held.partEnds.length;
    const decided = this.#upTo(book.isEmpty ? open : beforeWord(held.text, held.from, open));
    if (passes !== 'all' || typeof decided !== 'string') return decided;
    // All before the piece has gone on.
    this.#partEnds = Array.from({ length: noted }, () => 0);
    held.partEnds = [];
    return text;
  }

  endPart(): void {
    this.#held.endPart();
  }

  partEnds(): readonly number[] {
    return this.#partEnds;
  }

  unread(parts: number): Failure | null {
    return this.#rule.unread(parts);
  }

  parts(): TextParts {
    const parts = new GuardedParts(this.#rule);
    return (part) => parts.take(part);
  }

  hides(): boolean {
    return this.#hides;
  }

  isNumber(text: string): boolean {
    return this.#rule.book.isNumber(text);
  }

  end(): string | Failure {
    this.#held.end();
    const decided = this.#upTo(this.#held.text.length);
    return this.#rule.passes === 'all' && typeof decided === 'string' ? '' : decided;
  }

  #upTo(before: number): string | Failure {
    const { check, book, take } = this.#rule;
    const held = this.#held;
    const { text, from, seen } = held;
    let passed = '';
    let at = from;
    this.#partEnds = [];
    const pass = (to: number, as = (part: string) => book.restored(part)) => {
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
        const value = text.slice(start, end);
        const taken = take(finding, value);
        if (typeof taken !== 'string') return taken;
        this.#hides ||= taken !== value;
        pass(start);
        if (taken === value) pass(end, (part) => part);
        else {
          // The word is in the first of the parts that the value is in.
          passed += quote + taken + quote;
          at = end;
        }
      }
    }
    pass(Math.max(at, before));
    held.passTo(at);
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

/** Places are those of the whole text, in UTF-16 units. */
interface Part {
  start: number;
  text: string;
}

/** A text in parts through a guard. What is found across parts has the same word in each of them. */
class GuardedParts {
  readonly #rule: AnswerRule;
  readonly #held = new HeldText();
  /** Parts that have not gone on. */
  #waiting: Part[] = [];
  #changes: { start: number; end: number; text: string }[] = [];
  #length = 0;

  constructor(rule: AnswerRule) {
    this.#rule = rule;
  }

  /** The same as of `TextParts`. */
  take(part: string | null): readonly string[] | Failure {
    const held = this.#held;
    const { check, take, unread, passes } = this.#rule;
    if (part === null) held.end();
    else {
      this.#waiting.push({ start: this.#length, text: part });
      this.#length += part.length;
      held.push(part);
    }
    let at = part === null || check === null ? held.text.length : openAt(check, held.text, held.from, held.seen);
    for (const finding of check === null ? [] : findingsIn(check, held.text, held.from, at, held.seen)) {
      const { start, end } = finding;
      const value = held.text.slice(start, end);
      const taken = finding.isUnread === true ? (unread(1) ?? value) : take(finding, value);
      if (typeof taken !== 'string') return taken;
      if (taken !== value) this.#changes.push({ start: held.placeOf(start), end: held.placeOf(end), text: taken });
      at = Math.max(at, end);
    }
    const decided = part === null || passes === 'all' ? this.#length : held.placeOf(at);
    held.passTo(at);
    return this.#passed(decided);
  }

  #passed(decided: number): string[] {
    const open = this.#waiting.findIndex(({ start, text }) => start + text.length > decided);
    const parts = this.#waiting.splice(0, open === -1 ? this.#waiting.length : open);
    const passed = parts.map((part) => this.#changed(part));
    const from = this.#waiting[0]?.start ?? this.#length;
    this.#changes = this.#changes.filter(({ end }) => end > from);
    return passed;
  }

  #changed({ start, text }: Part): string {
    const { book } = this.#rule;
    let passed = '';
    let at = 0;
    for (const change of this.#changes) {
      if (change.end <= start || change.start >= start + text.length) continue;
      passed += book.restored(text.slice(at, Math.max(at, change.start - start))) + change.text;
      at = Math.min(text.length, change.end - start);
    }
    return passed + book.restored(text.slice(at));
  }
}
