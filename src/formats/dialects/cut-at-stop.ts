import type { NeutralEvent } from '../neutral/event.ts';
import type { SseEvent, StreamDecoder } from './dialect.ts';

/** A decoder whose text ends before the first of `stops`, for providers that know no stop strings. */
export function cuttingDecoder(decoder: StreamDecoder, stops: readonly string[]): StreamDecoder {
  const cut = new CutText(stops);
  return {
    // Nobody waits for unwanted text: the answer is over, and its counts are unknown.
    step: (event: SseEvent) => cut.pass(decoder.step(event), 'at once'),
    finish: () => cut.pass(decoder.finish(), 'at once'),
    get malformedLines() {
      return decoder.malformedLines;
    },
  };
}

/** The same for a whole answer, whose counts are those of all that was written. */
export function cutWhole(events: readonly NeutralEvent[], stops: readonly string[]): NeutralEvent[] {
  return new CutText(stops).pass(events, 'as told');
}

/** Passes events on up to the first stop string of a text, and holds back what may be the beginning of one. */
class CutText {
  readonly #stops: readonly string[];
  #held = '';
  #found: string | null = null;
  #over = false;

  constructor(stops: readonly string[]) {
    this.#stops = stops;
  }

  /** `ends`: when an answer that was cut ends, at the stop string or where the provider ends it. */
  pass(events: readonly NeutralEvent[], ends: 'at once' | 'as told'): NeutralEvent[] {
    const passed: NeutralEvent[] = [];
    for (const event of events) {
      if (this.#over) break;
      if (this.#found !== null) this.#afterwards(event, passed);
      else if (event.type === 'text-delta') this.#text(event.text, event.choice, passed);
      else {
        if (endsText(event)) this.#release(passed);
        passed.push(event);
      }
      if (this.#found !== null && ends === 'at once' && !this.#over) {
        this.#over = true;
        passed.push(this.#finish(), { type: 'end' });
      }
    }
    return passed;
  }

  #afterwards(event: NeutralEvent, passed: NeutralEvent[]): void {
    if (event.type === 'finish') passed.push(this.#finish());
    else if (event.type === 'usage' || event.type === 'end' || event.type === 'failed') passed.push(event);
  }

  #finish(): NeutralEvent {
    return { type: 'finish', choice: 0, reason: 'stop-sequence', stopSequence: this.#found };
  }

  #text(more: string, choice: number, passed: NeutralEvent[]): void {
    const text = this.#held + more;
    const stop = first(this.#stops, text);
    if (stop !== null) this.#found = stop.stop;
    const end = stop?.at ?? text.length - beginningLength(this.#stops, text);
    this.#held = stop === null ? text.slice(end) : '';
    if (end > 0) passed.push({ type: 'text-delta', choice, text: text.slice(0, end) });
  }

  #release(passed: NeutralEvent[]): void {
    if (this.#held !== '') passed.push({ type: 'text-delta', choice: 0, text: this.#held });
    this.#held = '';
  }
}

function endsText({ type }: NeutralEvent): boolean {
  return type !== 'usage' && type !== 'logprobs' && type !== 'reasoning-delta';
}

/** The one that is whole first, as for a model that is stopped while it writes; of those that end together the longest. */
function first(stops: readonly string[], text: string): { at: number; stop: string } | null {
  let found: { at: number; stop: string } | null = null;
  for (const stop of stops) {
    const at = text.indexOf(stop);
    if (at < 0) continue;
    const later = found === null ? -1 : at + stop.length - (found.at + found.stop.length) || at - found.at;
    if (later < 0) found = { at, stop };
  }
  return found;
}

/** Length of the end of `text` that may be the beginning of a stop string. */
function beginningLength(stops: readonly string[], text: string): number {
  let longest = 0;
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(stop.slice(0, length))) longest = length;
    }
  }
  return longest;
}
