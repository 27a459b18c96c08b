import type { NeutralEvent } from '../../../formats/neutral/event.ts';

/** A sentence's end, with the white space behind it. */
const sentenceEnd = /[.!?…][")'\]]*\s+|[。！？]|\n\s*/g;
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
}

/**
 * Takes from `held` what no further event changes: of each choice all up to the end of a sentence, or of a part. `first`:
 * one sentence is enough.
 */
export function completeEvents(held: NeutralEvent[], which: 'first' | 'later'): NeutralEvent[] {
  const choices = new Map<number, Choice>();
  for (const [index, event] of held.entries()) {
    if ('choice' in event) look(choices, index, event, which === 'first' ? 1 : laterCharsMin);
  }
  const taken: NeutralEvent[] = [];
  const rest: NeutralEvent[] = [];
  for (const [index, event] of held.entries()) {
    const choice = 'choice' in event ? choices.get(event.choice) : undefined;
    if (choice === undefined) (rest.length === 0 ? taken : rest).push(event);
    else if (index < choice.index) taken.push(event);
    else if (index > choice.index || choice.chars === 0 || !isText(event)) rest.push(event);
    else {
      taken.push({ ...event, text: event.text.slice(0, choice.chars) });
      const text = event.text.slice(choice.chars);
      if (text !== '') rest.push({ ...event, text });
    }
  }
  held.splice(0, held.length, ...rest);
  return taken;
}

const isText = (event: NeutralEvent): event is TextEvent =>
  event.type === 'text-delta' || event.type === 'reasoning-delta' || event.type === 'refusal-delta';

function look(
  choices: Map<number, Choice>,
  index: number,
  event: NeutralEvent & { choice: number },
  charsMin: number,
): void {
  const at = choices.get(event.choice) ?? { index: 0, chars: 0, type: null, open: '', complete: 0 };
  choices.set(event.choice, at);
  if (event.type === 'tool-call-delta' || event.type === 'logprobs') return;
  if (!isText(event)) {
    // What a finish or another part ends is complete. A call goes on.
    Object.assign(at, { index: event.type === 'tool-call-start' ? index : index + 1, chars: 0, type: null, open: '' });
    return;
  }
  if (at.type !== null && at.type !== event.type) Object.assign(at, { index, chars: 0, open: '' });
  at.type = event.type;
  const before = at.open.length;
  at.open += event.text;
  const end = Math.max(0, ...Array.from(at.open.matchAll(sentenceEnd), (match) => match.index + match[0].length));
  const cut = end > before ? end : at.open.length > openCharsMax ? at.open.length : 0;
  if (cut <= before || at.complete + cut < charsMin) return;
  at.complete += cut;
  Object.assign(at, { index, chars: cut - before, open: at.open.slice(cut) });
}
