import { findingsIn, openAt } from '../../guards/check.ts';
import { HeldText } from '../../guards/held-text.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { TextFilter, TextParts } from '../models/steps.ts';
import { type AnswerRule, GuardedParts } from './guarded-parts.ts';
import { mayBeJson, placeInJson } from './json-mask.ts';
import { beforeWord } from './mask-book.ts';

/** One text of an answer through a guard. It holds back what more text could make a finding of, or a word. */
export class GuardedText implements TextFilter {
  readonly #rule: AnswerRule;
  readonly #held = new HeldText();
  /** Null: nothing but white space has come. */
  #isJson: boolean | null = null;
  #hides = false;

  constructor(rule: AnswerRule) {
    this.#rule = rule;
  }

  push(text: string): string | Failure {
    const held = this.#held;
    held.push(text);
    if (this.#isJson === null && text.trim() !== '') this.#isJson = mayBeJson(text);
    const { check, book, passes } = this.#rule;
    const open = check === null ? held.text.length : openAt(check, held.text, held.from, held.seen);
    const decided = this.#upTo(book.isEmpty ? open : beforeWord(held.text, held.from, open));
    return passes === 'all' && typeof decided === 'string' ? text : decided;
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
    const { text, from, seen } = this.#held;
    let passed = '';
    let at = from;
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
        passed += book.restored(text.slice(at, start)) + (taken === value ? value : quote + taken + quote);
        at = end;
      }
    }
    if (before > at) {
      passed += book.restored(text.slice(at, before));
      at = before;
    }
    this.#held.passTo(at);
    return passed;
  }
}
