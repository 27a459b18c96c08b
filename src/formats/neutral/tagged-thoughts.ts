import type { NeutralEvent } from './event.ts';

/**
 * Where a text holds the thought before it. `pair`: between `<think>` and `</think>`. `closing`: at its beginning, up to
 * `</think>`, since the model's template wrote the first tag.
 */
export type ThinkTags = 'pair' | 'closing';

const opening = '<think>';
const closing = '</think>';

interface TextSoFar {
  at: 'beginning' | 'before a thought' | 'in a thought' | 'behind a thought' | 'in the text';
  /** It may be the beginning of a tag. */
  held: string;
}

/** Makes reasoning of the thought in each choice's text. One an answer; tags may come in pieces. */
export class TaggedThoughts {
  readonly #tags: ThinkTags;
  readonly #choices = new Map<number, TextSoFar>();

  constructor(tags: ThinkTags) {
    this.#tags = tags;
  }

  pass(events: readonly NeutralEvent[]): NeutralEvent[] {
    const passed: NeutralEvent[] = [];
    for (const event of events) {
      if (event.type === 'text-delta') {
        this.#read(event.choice, event.text, passed);
        continue;
      }
      if (event.type === 'finish' || event.type === 'tool-call-start') this.#release(event.choice, passed);
      else if (event.type === 'end') for (const choice of this.#choices.keys()) this.#release(choice, passed);
      passed.push(event);
    }
    return passed;
  }

  #read(choice: number, more: string, passed: NeutralEvent[]): void {
    const so: TextSoFar = this.#choices.get(choice) ?? { at: 'beginning', held: '' };
    this.#choices.set(choice, so);
    let text = so.held + more;
    so.held = '';
    if (so.at === 'beginning') {
      const begun = text.trimStart();
      if (begun.startsWith(opening)) {
        so.at = 'before a thought';
        text = begun.slice(opening.length);
      } else if (opening.startsWith(begun)) {
        so.held = text;
        return;
      } else so.at = this.#tags === 'closing' ? 'before a thought' : 'in the text';
    }
    if (so.at === 'before a thought') {
      text = text.trimStart();
      if (text === '') return;
      so.at = 'in a thought';
    }
    if (so.at === 'in a thought') {
      const end = text.indexOf(closing);
      const until = end < 0 ? text.length - beginningLength(text) : end;
      if (until > 0) passed.push({ type: 'reasoning-delta', choice, text: text.slice(0, until) });
      if (end < 0) {
        so.held = text.slice(until);
        return;
      }
      so.at = 'behind a thought';
      text = text.slice(end + closing.length);
    }
    if (so.at === 'behind a thought') text = text.trimStart();
    if (text === '') return;
    so.at = 'in the text';
    passed.push({ type: 'text-delta', choice, text });
  }

  #release(choice: number, passed: NeutralEvent[]): void {
    const so = this.#choices.get(choice);
    if (so === undefined || so.held === '') return;
    const type = so.at === 'in a thought' ? 'reasoning-delta' : 'text-delta';
    passed.push({ type, choice, text: so.held });
    so.held = '';
  }
}

/** Length of the end of `text` that may be the beginning of the tag. */
function beginningLength(text: string): number {
  for (let length = closing.length - 1; length > 0; length--)
    if (text.endsWith(closing.slice(0, length))) return length;
  return 0;
}
