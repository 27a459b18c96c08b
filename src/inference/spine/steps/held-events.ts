import { type CompleteJson, createCompleteJson } from '../../../formats/dialects/complete-json.ts';
import { isApart, type NeutralEvent } from '../../../formats/neutral/event.ts';

/** A sentence's end, with the white space behind it. */
const sentenceEnd = /[.!?…][")'\]]*\s+|[。！？]|\n\s*/g;
/** Characters behind the sign of a sentence's end. */
const endTail = /[")'\]\s]/;
/** After the first sentence, a question has at least so many characters: each costs a call. */
const laterCharsMin = 200;
/** A text without the end of a sentence is cut here. */
const openCharsMax = 4_000;

type TextEvent = Extract<NeutralEvent, { text: string }>;

/** Progress of the events of one choice. */
interface Choice {
  /** Events before this index are complete, and of that event so many characters. */
  index: number;
  chars: number;
  /** Type of the text under way, with what came of it behind the place. */
  type: NeutralEvent['type'] | null;
  open: string;
  /** Characters before the place. */
  complete: number;
  /** Arguments by call. */
  calls: Map<number, CompleteJson>;
  /** Calls among them whose arguments have not ended. */
  openCalls: number;
}

/** Events that wait for a verdict. Each is looked at once, however many wait. */
export class HeldEvents {
  #events: NeutralEvent[] = [];
  /** By the events that were looked at. */
  readonly #choices = new Map<number, Choice>();
  #next = 0;

  get length(): number {
    return this.#events.length;
  }

  add(event: NeutralEvent): void {
    this.#events.push(event);
  }

  takeAll(): NeutralEvent[] {
    return this.#take([]);
  }

  /** Takes what no further event changes: of each choice up to the end of a sentence or part. `first`: one sentence. */
  takeComplete(which: 'first' | 'later'): NeutralEvent[] {
    for (const event of this.#events.slice(this.#next)) {
      if ('choice' in event) look(this.#choices, this.#next, event, which === 'first' ? 1 : laterCharsMin);
      this.#next++;
    }
    const [first] = this.#events;
    const hasComplete = [...this.#choices.values()].some(({ index, chars }) => index > 0 || chars > 0);
    if (first === undefined || ('choice' in first && !hasComplete)) return [];
    const taken: NeutralEvent[] = [];
    const rest: NeutralEvent[] = [];
    for (const [index, event] of this.#events.entries()) {
      const choice = 'choice' in event ? this.#choices.get(event.choice) : undefined;
      if (choice === undefined) (rest.length === 0 ? taken : rest).push(event);
      else if (index < choice.index) taken.push(event);
      else if (index > choice.index || choice.chars === 0 || !isText(event)) rest.push(event);
      else {
        taken.push({ ...event, text: event.text.slice(0, choice.chars) });
        const text = event.text.slice(choice.chars);
        if (text !== '') rest.push({ ...event, text });
      }
    }
    if (taken.length > 0) this.#take(rest);
    return taken;
  }

  #take(rest: NeutralEvent[]): NeutralEvent[] {
    const taken = this.#events;
    this.#events = rest;
    this.#choices.clear();
    this.#next = 0;
    return taken;
  }
}

const isText = (event: NeutralEvent): event is TextEvent =>
  event.type === 'text-delta' || event.type === 'reasoning-delta' || event.type === 'refusal-delta';

function emptyChoice(): Choice {
  return { index: 0, chars: 0, type: null, open: '', complete: 0, calls: new Map(), openCalls: 0 };
}

function look(
  choices: Map<number, Choice>,
  index: number,
  event: NeutralEvent & { choice: number },
  charsMin: number,
): void {
  const at = choices.get(event.choice) ?? emptyChoice();
  choices.set(event.choice, at);
  if (event.type === 'tool-call-delta') {
    const { call, argumentsJson } = event;
    const known = at.calls.get(call) ?? createCompleteJson();
    const wasOpen = at.calls.has(call) && !known.complete;
    at.calls.set(call, known);
    known.add(argumentsJson);
    at.openCalls += Number(!known.complete) - Number(wasOpen);
    return;
  }
  // A source may come in the midst of a word, and a text goes on in its next part.
  if (event.type === 'logprobs' || event.type === 'citation' || event.type === 'part-end' || isApart(event)) return;
  // The arguments of several calls may come by turns.
  if (event.type !== 'finish' && at.openCalls > 0) return;
  if (!isText(event)) {
    // What a finish or a part without a text ends is complete. A call goes on.
    Object.assign(at, { index: event.type === 'tool-call-start' ? index : index + 1, chars: 0, type: null, open: '' });
    return;
  }
  if (at.type !== null && at.type !== event.type) Object.assign(at, { index, chars: 0, open: '' });
  at.type = event.type;
  const before = at.open.length;
  at.open += event.text;
  const end = lastSentenceEnd(at.open, before);
  const cut = end > before ? end : at.open.length > openCharsMax ? at.open.length : 0;
  if (cut <= before || at.complete + cut < charsMin) return;
  at.complete += cut;
  Object.assign(at, { index, chars: cut - before, open: at.open.slice(cut) });
}

/** Behind the last sentence of a text, of which all but what is behind `before` was looked at; 0: none ends there. */
function lastSentenceEnd(text: string, before: number): number {
  let from = before;
  while (from > 0 && endTail.test(text.charAt(from - 1))) from--;
  // Before its tail, the sign itself.
  from = Math.max(0, from - 1);
  const ends = Array.from(text.slice(from).matchAll(sentenceEnd), (match) => from + match.index + match[0].length);
  return Math.max(0, ...ends);
}
