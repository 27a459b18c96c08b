import type { NeutralEvent } from '../../formats/neutral/event.ts';
import type { ServerSource } from '../../formats/neutral/server-tool.ts';

/**
 * A source as the model reads it, behind the mark by which its answer names it: a number in brackets that no prose or code
 * has. `mark`: its index among those that the answer may cite; null: it may not.
 */
export function sourceText({ url, title, age, quote }: ServerSource, mark: number | null): string {
  const head = mark === null ? title : `${open}${mark + 1}${close} ${title}`;
  return [head, url, age, quote].filter((line) => line !== null && line !== '').join('\n');
}

const open = '【';
const close = '】';
/** A longer one is no mark. Some models add words: `【3†source】`. */
const markCharsMax = 48;
const numbers = /^【\s*(\d{1,4}(?:\s*[,，、]\s*\d{1,4})*)\s*(?:[^\d\s,，、】][^】]*)?】$/;

/**
 * Reads the marks in an answer's text, however it is cut: in place of one the caller gets a link to the page, and a
 * citation over it; of a passage the citation alone. State of one choice, over all turns.
 */
export class SourceMarks {
  /** By number, from 0. */
  readonly sources: ServerSource[] = [];
  /** Text from an opening bracket on that may become a mark. */
  #held = '';
  /** UTF-16 units that the caller has been sent. */
  #length = 0;
  #last = '';

  text(delta: string): NeutralEvent[] {
    if (this.sources.length === 0) return this.#emit(delta);
    const events: NeutralEvent[] = [];
    let rest = this.#held + delta;
    this.#held = '';
    for (;;) {
      const at = rest.indexOf(open);
      if (at < 0) break;
      events.push(...this.#emit(rest.slice(0, at)));
      rest = rest.slice(at);
      const end = rest.indexOf(close);
      if (end < 0 && rest.length <= markCharsMax) {
        this.#held = rest;
        return events;
      }
      const whole = end < 0 || end > markCharsMax ? rest.slice(0, 1) : rest.slice(0, end + 1);
      events.push(...this.#mark(whole));
      rest = rest.slice(whole.length);
    }
    return [...events, ...this.#emit(rest)];
  }

  /** Gives what was held back as text: something else follows. */
  flush(): NeutralEvent[] {
    const held = this.#held;
    this.#held = '';
    return this.#emit(held);
  }

  #emit(text: string): NeutralEvent[] {
    if (text === '') return [];
    this.#length += text.length;
    this.#last = text.slice(-1);
    return [{ type: 'text-delta', choice: 0, text }];
  }

  #mark(text: string): NeutralEvent[] {
    const named = (numbers.exec(text)?.[1] ?? '').split(/[,，、]/).map((one) => this.sources[Number(one) - 1]);
    const known = named.filter((source) => source !== undefined);
    if (known.length < named.length) return this.#emit(text);
    return known.flatMap((source) => this.#cite(source));
  }

  #cite(source: ServerSource): NeutralEvent[] {
    const { url, title, quote, fileId, document } = source;
    const about = { ...(fileId !== undefined && { fileId }), ...(document !== undefined && { document }) };
    const citation = { url, title, quote, ...about };
    if (url === null) return [{ type: 'citation', choice: 0, citation }];
    const gap = this.#length === 0 || /\s/.test(this.#last) ? [] : this.#emit(' ');
    const start = this.#length;
    const link = this.#emit(`([${hostOf(url)}](${url.replaceAll('(', '%28').replaceAll(')', '%29')}))`);
    return [
      ...gap,
      ...link,
      { type: 'citation', choice: 0, citation: { ...citation, span: { start, end: this.#length } } },
    ];
  }
}

function hostOf(url: string): string {
  return (URL.parse(url)?.hostname ?? url).replace(/^www\./, '');
}
