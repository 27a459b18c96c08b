import { putNewest } from '../../../kernel/put-newest.ts';
import type { Condition, Filter } from '../../filter/filter.ts';
import type { Steps } from '../index/resumable-steps.ts';
import { type SlotSet, slotsOf } from './slot-set.ts';

const filtersMax = 8;
/** More for one filter are not kept. */
const slotsMax = 100_000;
/** The rows of the slots, which an index keeps with them (`slot-map`), take as much. */
const bytesPerSlot = 2 * Uint32Array.BYTES_PER_ELEMENT;

/** Slots that pass filters, until a row changes: callers repeat a few filters, such as that of one of their users. */
export class CachedSlots {
  /** By the filter's text, the least recently used first. */
  readonly #cached = new Map<string, Uint32Array>();
  #at = 0;

  get bytes(): number {
    let slots = 0;
    for (const one of this.#cached.values()) slots += one.length;
    return slots * bytesPerSlot;
  }

  /** `at`: how often rows have changed. `select` is asked for slots that are not kept. Nobody may write to the result. */
  *of(filter: Filter, at: number, select: () => Steps<SlotSet>): Steps<Uint32Array> {
    if (at !== this.#at) this.#cached.clear();
    this.#at = at;
    const text = textOf(filter);
    const slots = (text === null ? undefined : this.#cached.get(text)) ?? slotsOf(yield* select());
    if (text !== null && slots.length <= slotsMax && at === this.#at) putNewest(this.#cached, text, slots, filtersMax);
    return slots;
  }
}

/** The same for filters that mean the same. Null for all but values that must be there: others hold sets and bounds. */
function textOf({ must, should, mustNot, minShould }: Filter): string | null {
  if (should.length > 0 || mustNot.length > 0 || minShould !== null) return null;
  const parts: unknown[] = [];
  for (const condition of must) {
    const part = keyAndValue(condition);
    if (part === null) return null;
    parts.push(part);
  }
  return JSON.stringify(parts);
}

function keyAndValue(condition: Condition): readonly [string, unknown] | null {
  if (condition.kind !== 'field' || condition.tests.length !== 1) return null;
  const [test] = condition.tests;
  return test?.kind === 'value' ? [condition.key.text, test.value] : null;
}
