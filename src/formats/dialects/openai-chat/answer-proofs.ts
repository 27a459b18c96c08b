import { isObject, type JsonObject, type JsonValue, jsonText, listIn, parsedData } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import { openAiChatId } from './wire.ts';

/*
 * Proofs over thoughts in answers of providers that speak chat completions: OpenRouter's `reasoning_details` and LiteLLM's
 * `thinking_blocks`. They serve the kind of provider that gave them, in the members and the order in which it gave them. So
 * callers of other formats get a list of them as one proof, which names that kind.
 */

/** Member of a detail with text that a stream gives in pieces, by the type of the detail. */
const textMembers: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ['reasoning.text', 'text'],
  ['reasoning.summary', 'summary'],
  ['thinking', 'thinking'],
]);

/** Beyond any model's thoughts between two answers of tools; further ones are skipped. */
const detailsMax = 1_024;

/** Details of one choice that are in no event yet. */
export class AnswerProofs {
  readonly #provider: string;
  #details: JsonObject[] = [];

  /** `provider`: type of the one that answers. */
  constructor(provider: string) {
    this.#provider = provider;
  }

  /** Takes those of a delta, or of the message of a whole answer. */
  add({ reasoning_details: details, thinking_blocks: blocks }: JsonObject): void {
    for (const detail of [...listIn(details), ...listIn(blocks)]) {
      if (!isObject(detail)) continue;
      const last = this.#details.at(-1);
      const name = textMembers.get(detail.type);
      const isPiece = last?.type === detail.type && last?.index === detail.index && !isFilled(last?.signature);
      if (name !== undefined && last !== undefined && isPiece) {
        const filled = Object.fromEntries(Object.entries(detail).filter(([, value]) => isFilled(value)));
        this.#details.pop();
        this.#details.push({ ...last, ...filled, [name]: `${last[name] ?? ''}${detail[name] ?? ''}` });
      } else if (this.#details.length < detailsMax) this.#details.push(detail);
    }
  }

  /**
   * Puts them before the first of the events from `from` on that is no thought: with the call that a detail names, or as
   * the proof of the thoughts so far. Thoughts without any proof wait for one, and are forgotten otherwise.
   */
  put(events: NeutralEvent[], from: number, choice: number): void {
    const at = events.findIndex(({ type }, index) => index >= from && type !== 'reasoning-delta');
    if (at < 0 || !this.#details.some(({ signature, data }) => isFilled(signature) || isFilled(data))) return;
    let rest = this.#details;
    this.#details = [];
    for (const event of events.slice(at)) {
      if (event.type !== 'tool-call-start') continue;
      const ofCall = rest.filter(({ id, data }) => id === event.id && isFilled(data));
      rest = rest.filter((detail) => !ofCall.includes(detail));
      if (ofCall.length > 0) Object.assign(event, { signature: this.#packed(ofCall), vendor: openAiChatId });
    }
    if (rest.length === 0) return;
    events.splice(at, 0, { type: 'reasoning-signature', choice, signature: this.#packed(rest), vendor: openAiChatId });
  }

  #packed(details: JsonObject[]): string {
    return JSON.stringify({ from: this.#provider, details });
  }
}

/** The calls that wait, with those of `events` from `from` on, which go; null where one has its proof, and none waits. */
export function holdCalls(calls: readonly NeutralEvent[], events: NeutralEvent[], from: number): NeutralEvent[] | null {
  const fresh = events.splice(from);
  if (fresh.some((event) => event.type === 'tool-call-start' && event.signature !== undefined)) {
    events.push(...calls, ...fresh);
    return null;
  }
  const isCall = ({ type }: NeutralEvent) => type === 'tool-call-start' || type === 'tool-call-delta';
  events.push(...fresh.filter((event) => !isCall(event)));
  return [...calls, ...fresh.filter(isCall)];
}

/** Members of a message with the details of such proofs; of those that are from `provider`, where it is known. Null: none. */
export function membersOf(proofs: readonly (string | undefined)[], provider?: string): JsonObject | null {
  const members: JsonObject = {};
  for (const proof of proofs) {
    const packed = parsedData(proof ?? '');
    if (packed === null || (provider !== undefined && packed.from !== provider)) continue;
    for (const detail of listIn(packed.details)) {
      if (!isFlat(detail)) continue;
      const name = /thinking$/.test(jsonText(detail.type)) ? 'thinking_blocks' : 'reasoning_details';
      members[name] = [...listIn(members[name]), detail];
    }
  }
  return Object.keys(members).length > 0 ? members : null;
}

/** Details have no lists and objects, which a caller could nest to any depth. */
function isFlat(detail: JsonValue): detail is JsonObject {
  return isObject(detail) && Object.values(detail).every((value) => typeof value !== 'object' || value === null);
}

function isFilled(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== '';
}
