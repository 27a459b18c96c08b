import { type Check, contextChars, type Finding, findingsIn, openAt } from '../../guards/check.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { TextFilter } from '../models/steps.ts';
import { beforeWord, type MaskBook } from './mask-book.ts';

/** What a guard does with the texts of an answer. */
export interface AnswerRule {
  /** Null: it only gives back what the request's words stand for. */
  check: Check | null;
  book: MaskBook;
  /** Counts a finding: what goes on in its place, or the failure that ends the answer. */
  take(finding: Finding, value: string): string | Failure;
  /** `all`: nothing is changed, so that nothing is held back. */
  passes: 'all' | 'what is decided';
}

/** One text of an answer through a guard. It holds back what more text could make a finding of, or a word. */
export class GuardedText implements TextFilter {
  readonly #rule: AnswerRule;
  /** What is held, behind some text that has gone on. */
  #text = '';
  #from = 0;

  constructor(rule: AnswerRule) {
    this.#rule = rule;
  }

  push(text: string): string | Failure {
    this.#text += text;
    const { check, book, passes } = this.#rule;
    const open = check === null ? this.#text.length : openAt(check, this.#text, this.#from);
    const decided = this.#upTo(book.isEmpty ? open : beforeWord(this.#text, this.#from, open));
    return passes === 'all' && typeof decided === 'string' ? text : decided;
  }

  isNumber(text: string): boolean {
    return this.#rule.book.isNumber(text);
  }

  end(): string | Failure {
    const decided = this.#upTo(this.#text.length);
    return this.#rule.passes === 'all' && typeof decided === 'string' ? '' : decided;
  }

  #upTo(before: number): string | Failure {
    const { check, book, take } = this.#rule;
    let passed = '';
    if (check !== null) {
      for (const finding of findingsIn(check, this.#text, this.#from, before)) {
        const { start, end } = finding;
        const taken = take(finding, this.#text.slice(start, end));
        if (typeof taken !== 'string') return taken;
        passed += book.restored(this.#text.slice(this.#from, start)) + taken;
        this.#from = end;
      }
    }
    if (before > this.#from) {
      passed += book.restored(this.#text.slice(this.#from, before));
      this.#from = before;
    }
    const gone = Math.max(0, this.#from - contextChars);
    this.#text = this.#text.slice(gone);
    this.#from -= gone;
    return passed;
  }
}
