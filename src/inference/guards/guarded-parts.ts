import { type Check, type Finding, findingsIn, openAt } from '../../guards/check.ts';
import { HeldText } from '../../guards/held-text.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { MaskBook } from './mask-book.ts';

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

interface Change {
  start: number;
  end: number;
  text: string;
}

/** A text in parts through a guard. What is found across parts has the same word in each of them. */
export class GuardedParts {
  readonly #rule: AnswerRule;
  readonly #held = new HeldText();
  /** Parts that have not gone on. */
  #waiting: Part[] = [];
  #changes: Change[] = [];
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
