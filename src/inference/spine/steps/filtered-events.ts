import { type CompleteJson, createCompleteJson } from '../../../formats/dialects/complete-json.ts';
import { isApart, isContent, type NeutralEvent, pruned } from '../../../formats/neutral/event.ts';
import { jsonIn, textsIn } from '../../../formats/neutral/json-texts.ts';
import { SeenThought } from '../../../formats/neutral/thought-proof.ts';
import { type Failure, FailureError, failureIn } from '../../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import type { AnswerTexts, TextFilter } from '../../models/steps.ts';
import { type Answer, answeredElsewhere } from '../answer.ts';
import type { AttemptSink, Chunk, Pace } from '../sink.ts';
import { filteredJson } from './filtered-text.ts';
import { LookingSink } from './looking-sink.ts';
import { movedCitation, movedPart, noteText, type PassedText } from './moved-citation.ts';
import { cutEvents, gatewayFault } from './refused-answer.ts';
import { given, throughFilter } from './through-filter.ts';

export type TimedAnswer = Pick<Answer, 'noteFirst' | 'trial'>;

/** Parts of an answer that went before, by choice. */
export interface PartsBefore {
  /** Thoughts whose proof has not come. */
  thoughts: Map<number, SeenThought>;
  /** Texts, for the places of their sources. */
  texts: Map<number, PassedText>;
}

/** The events of a part of an answer, whose texts end with it, through the filters. Throws a FailureError. */
export function filteredPart(
  events: readonly NeutralEvent[],
  texts: AnswerTexts,
  before?: PartsBefore,
): NeutralEvent[] {
  const passed: NeutralEvent[] = [];
  const filter = new TextEvents(texts, before);
  for (const event of events) filter.take(event, passed);
  filter.end(passed);
  return passed;
}

/** An event without members that are too deep to be read. */
export function shallow<E extends NeutralEvent>(event: E): E {
  return pruned(event as JsonObject, () => true) as E & JsonObject;
}

/** Texts of events that may come in pieces. */
type TextEvent = Extract<NeutralEvent, { type: 'text-delta' | 'reasoning-delta' | 'refusal-delta' }>;
const kindOf = { 'text-delta': 'assistant', 'reasoning-delta': 'reasoning', 'refusal-delta': 'refusal' } as const;

type TextOf = Pick<TextEvent, 'type' | 'choice'> & { ours?: true };

type Boundary = Extract<NeutralEvent, { type: 'part-end' | 'message-start' }>;
type ChoiceEvent = Extract<NeutralEvent, { choice: number }>;
type FinishEvent = Extract<NeutralEvent, { type: 'finish' }>;
type CitationEvent = Extract<NeutralEvent, { type: 'citation' }>;

interface OpenText {
  type: TextEvent['type'];
  choice: number;
  filter: TextFilter | null;
  /** Sources of its last part, which go on behind it. */
  sources: CitationEvent[];
  /** Its parts before, each with its sources, what comes behind it, and its end in the choice's text. */
  parts: { sources: CitationEvent[]; behind: NeutralEvent[]; end: number }[];
}

/** A text that ended within a word of the request, which may go on behind these events. */
interface CutText {
  open: OpenText;
  behind: NeutralEvent[];
}

/** Events that a cut text may hold back. */
const behindMax = 4_096;

interface OpenCall {
  choice: number;
  call: number;
  json: string;
  state: CompleteJson;
}

/** Passes the texts of an answer through their filters: an answer that a filter refuses ends there. */
export class FilteredEvents extends LookingSink<TimedAnswer> {
  readonly #texts: AnswerTexts;
  readonly #filter: TextEvents;
  readonly #choices = new Set<number>();
  #began = false;
  #refused = false;

  constructor(next: AttemptSink, answer: TimedAnswer, texts: AnswerTexts) {
    super(next, answer);
    this.#texts = texts;
    this.#filter = new TextEvents(texts);
  }

  chunk(chunk: Chunk): Pace {
    if (this.#refused) return 'ready';
    const passed: NeutralEvent[] = [];
    try {
      for (const event of chunk as readonly NeutralEvent[]) {
        if ('choice' in event) this.#choices.add(event.choice);
        this.#filter.take(this.#read(event), passed);
      }
    } catch (error) {
      this.#refuse(failureIn(error), passed);
    }
    return this.#pass(passed);
  }

  /** Words that only the format of an event has, and the sequence that ended the answer. A call has them with all else of it. */
  #read(event: NeutralEvent): NeutralEvent {
    const { beside, stopSequence = null } = event.type === 'tool-call-start' ? {} : (event as Partial<FinishEvent>);
    if (beside === undefined && stopSequence === null) return event;
    const words = { ...(stopSequence !== null && { stopSequence }), members: beside?.members ?? {} };
    const { members, ...read } = filteredMembers(this.#texts, words, 'choice' in event ? event.choice : 0);
    return { ...event, ...read, ...(beside !== undefined && { beside: { ...beside, members } }) } as NeutralEvent;
  }

  #pass(events: readonly NeutralEvent[]): Pace {
    if (events.length === 0) return 'ready';
    if (!this.#began && events.some(isContent)) {
      this.#began = true;
      if (!this.next.content()) {
        this.source?.stop(answeredElsewhere());
        return 'ready';
      }
    }
    return this.next.chunk(events);
  }

  #refuse(failure: Failure, passed: NeutralEvent[]): void {
    this.#refused = true;
    if (this.#began || passed.some(isContent)) return void passed.push(...cutEvents(this.#choices, this.answer));
    passed.length = 0;
    this.source?.stop(gatewayFault(failure));
  }
}

/** An object whose texts are there whole, as parts that are no texts of the answer. Throws a FailureError. */
function filteredMembers(texts: AnswerTexts, value: JsonObject, choice: number): JsonObject {
  const apart: AnswerTexts = (place) => texts({ ...place, isBeside: true });
  return JSON.parse(filteredJson(apart, JSON.stringify(value), value, 'assistant', choice)) as JsonObject;
}

/**
 * Passes each text of events through its filter. Arguments of tools wait until they are complete, and their strings
 * pass one by one, so that they stay JSON. Sources wait for the end of the text. Log probabilities repeat the text in pieces, and are left out.
 */
class TextEvents {
  readonly #texts: AnswerTexts;
  readonly #open = new Map<string, OpenText>();
  /** Filters of the last texts that ended. */
  readonly #ended = new Map<string, TextFilter>();
  /** By choice. */
  readonly #cut = new Map<number, CutText>();
  /** Arguments by choice and call, as far as they came. */
  readonly #calls = new Map<string, OpenCall>();
  /** Complete calls among them. */
  readonly #complete = new Set<OpenCall>();
  /** Choices whose sound has begun. */
  readonly #sounding = new Set<number>();
  readonly #thoughts: PartsBefore['thoughts'];
  readonly #choiceTexts: PartsBefore['texts'];

  constructor(texts: AnswerTexts, before: PartsBefore = { thoughts: new Map(), texts: new Map() }) {
    this.#texts = texts;
    this.#thoughts = before.thoughts;
    this.#choiceTexts = before.texts;
  }

  take(event: NeutralEvent, passed: NeutralEvent[]): void {
    const cut = 'choice' in event ? this.#cut.get(event.choice) : undefined;
    const goesOn = event.type === 'text-delta' || event.type === 'finish' || (cut?.behind.length ?? 0) >= behindMax;
    if (cut !== undefined && goesOn) this.#reopen(cut);
    this.#take(event, cut === undefined || goesOn ? passed : cut.behind);
  }

  #take(event: NeutralEvent, passed: NeutralEvent[]): void {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'refusal-delta':
        return this.#takeText(event, passed);
      case 'citation':
        return this.#takeSource(event, passed);
      case 'finish':
        this.#close(event.choice, passed);
        this.#closeCalls(event.choice, passed, 'all');
        passed.push(event);
        return;
      case 'part-end':
      case 'message-start':
        return this.#endPart(event, passed);
      case 'tool-call-delta': {
        const { choice, call, argumentsJson } = event;
        const key = `${choice} ${call}`;
        const open = this.#calls.get(key) ?? { choice, call, json: '', state: createCompleteJson() };
        this.#calls.set(key, open);
        open.json += argumentsJson;
        open.state.add(argumentsJson);
        if (open.state.complete) this.#complete.add(open);
        return;
      }
      case 'logprobs':
        return;
      case 'usage':
      case 'start':
        passed.push(event);
        return;
      case 'end':
      case 'failed':
        this.end(passed);
        passed.push(event);
        return;
      default:
        (isApart(event) ? passed : this.#behindText(event.choice, passed)).push(this.#other(event));
    }
  }

  #other(event: ChoiceEvent): NeutralEvent {
    if (event.type === 'reasoning-signature') return this.#proof(event);
    if (event.type !== 'vendor-part') return this.#whole(event);
    return this.#whole(movedPart(event, this.#choiceTexts.get(event.choice)));
  }

  /** The place of events behind the text of a choice, which ends with them unless it is within a word. */
  #behindText(choice: number, passed: NeutralEvent[]): NeutralEvent[] {
    const key = `text-delta ${choice}`;
    const open = this.#cut.has(choice) ? undefined : this.#open.get(key);
    if (open?.filter?.isInWord?.() !== true || open.parts.some(({ behind }) => behind.length >= behindMax)) {
      this.#close(choice, passed);
      return passed;
    }
    const behind: NeutralEvent[] = [];
    this.#endOpen(open, behind);
    this.#open.delete(key);
    this.#cut.set(choice, { open, behind });
    return behind;
  }

  #reopen({ open, behind }: CutText): void {
    this.#cut.delete(open.choice);
    this.#close(open.choice, behind);
    this.#open.set(`${open.type} ${open.choice}`, open);
  }

  #takeText(event: TextEvent, passed: NeutralEvent[]): void {
    const { type, choice } = event;
    const key = `${type} ${choice}`;
    let open = this.#open.get(key);
    if (open === undefined) {
      const behind = this.#behindText(choice, passed);
      const filter = this.#ended.get(key)?.resumed?.() ?? this.#texts({ kind: kindOf[type], choice });
      open = { type, choice, filter, sources: [], parts: [] };
      this.#open.set(key, open);
      if (behind !== passed) return this.#takeText(event, behind);
    }
    const text = open.filter === null ? event.text : given(open.filter.push(event.text));
    if (type === 'reasoning-delta') this.#seen(open, event.text, text);
    this.#noteText(open, event.text, '');
    this.#passText(open, event, text, passed);
    if (event.text === '') passed.push(event);
  }

  /** A value may go on in the next part, so the end waits until all before it has gone on. */
  #endPart(boundary: Boundary, passed: NeutralEvent[]): void {
    const { choice } = boundary;
    const open = this.#openFilterOf(choice);
    if (open?.filter?.endPart === undefined) {
      this.#close(choice, passed);
      passed.push(boundary);
      return;
    }
    this.#endOpen(open, [boundary]);
    const text = given(open.filter.push(''));
    if (open.type === 'reasoning-delta') this.#seen(open, '', text);
    this.#passText(open, open, text, passed);
  }

  #endOpen(open: OpenText, behind: NeutralEvent[]): void {
    open.filter?.endPart?.();
    open.parts.push({ sources: open.sources, behind, end: this.#choiceTexts.get(open.choice)?.came.length ?? 0 });
    open.sources = [];
  }

  /** Passes on a text, and the parts that end in it. */
  #passText(open: OpenText, { type, choice, ours }: TextOf, text: string, passed: NeutralEvent[]): void {
    let from = 0;
    const pass = (to: number) => {
      const piece = text.slice(from, to);
      if (piece !== '') passed.push({ type, choice, text: piece, ...(ours && { ours }) });
      this.#noteText(open, '', piece);
      from = to;
    };
    for (const end of open.filter?.partEnds?.() ?? []) {
      pass(end);
      const part = open.parts.shift();
      passed.push(...(part?.sources ?? []).map((source) => this.#placed(source, part?.end)));
      passed.push(...(part?.behind ?? []));
    }
    pass(text.length);
  }

  #takeSource(event: CitationEvent, passed: NeutralEvent[]): void {
    const source = this.#whole(event);
    const open = this.#openFilterOf(event.choice);
    if (open === undefined) passed.push(this.#placed(source));
    else open.sources.push(source);
  }

  /** Its place is in the text as it came, which words of a mask make longer or shorter. */
  #placed(source: CitationEvent, end?: number): CitationEvent {
    const known = this.#choiceTexts.get(source.choice);
    return known === undefined ? source : { ...source, citation: movedCitation(source.citation, known, end) };
  }

  #noteText({ type, choice }: Pick<OpenText, 'type' | 'choice'>, came: string, passed: string): void {
    if (type === 'text-delta') noteText(this.#choiceTexts, choice, came, passed);
  }

  /** A source may come in the midst of a word, which a filter must see whole. */
  #openFilterOf(choice: number): OpenText | undefined {
    for (const open of this.#open.values()) if (open.choice === choice && open.filter !== null) return open;
    return undefined;
  }

  #seen({ choice, filter }: OpenText, text: string, passed: string): void {
    const thought = this.#thoughts.get(choice) ?? new SeenThought();
    this.#thoughts.set(choice, thought);
    thought.saw(text, passed, filter !== null && (filter.hides?.() ?? true));
  }

  /** The end of the part alone where its proof holds no more. */
  #proof(event: Extract<NeutralEvent, { type: 'reasoning-signature' }>): NeutralEvent {
    const { choice, vendor, signature } = event;
    const proof = this.#thoughts.get(choice)?.proofFor(signature, vendor);
    this.#thoughts.delete(choice);
    if (proof === undefined) return event;
    return proof === null ? { type: 'part-end', choice } : { ...event, signature: proof };
  }

  /** Ends all texts and calls. */
  end(passed: NeutralEvent[]): void {
    for (const cut of this.#cut.values()) this.#reopen(cut);
    this.#close(null, passed);
    this.#closeCalls(null, passed, 'all');
  }

  /** Ends the texts and the complete calls of a choice; null: of all. */
  #close(choice: number | null, passed: NeutralEvent[]): void {
    for (const [key, open] of this.#open) {
      if (choice !== null && open.choice !== choice) continue;
      this.#open.delete(key);
      if (open.filter !== null) this.#ended.set(key, open.filter);
      const text = open.filter === null ? '' : given(open.filter.end());
      if (open.type === 'reasoning-delta') this.#seen(open, '', text);
      this.#passText(open, open, text, passed);
      passed.push(...open.sources.map((source) => this.#placed(source)));
    }
    this.#closeCalls(choice, passed, 'complete');
  }

  /** Providers may send the arguments of several calls by turns: a call that is incomplete goes on behind the next one. */
  #closeCalls(choice: number | null, passed: NeutralEvent[], which: 'complete' | 'all'): void {
    const calls = which === 'all' ? [...this.#calls.values()] : [...this.#complete].sort((a, b) => a.call - b.call);
    for (const open of calls) {
      if (choice !== null && open.choice !== choice) continue;
      const { json, state: _, ...call } = open;
      this.#calls.delete(`${open.choice} ${open.call}`);
      this.#complete.delete(open);
      passed.push({ type: 'tool-call-delta', ...call, argumentsJson: this.#arguments(json, open.choice) });
    }
  }

  #arguments(json: string, choice: number): string {
    const value = jsonIn(json);
    if (value === null) return throughFilter(this.#texts, { kind: 'tool-arguments', choice }, json);
    return filteredJson(this.#texts, json, value, 'tool-arguments', choice);
  }

  /** An event that comes in one piece: a source, or a part that only one format knows. */
  #whole<E extends NeutralEvent & { choice: number }>(event: E): E {
    const value = shallow(event) as JsonObject;
    this.#reportUnread(event, value);
    return filteredMembers(this.#texts, value, event.choice) as E & JsonObject;
  }

  /** Tells the filter of a choice's texts what is no text: a picture, a file, or its sound, which comes in many pieces. */
  #reportUnread({ type, choice }: NeutralEvent & { choice: number }, value: JsonValue): void {
    const isSound = type === 'audio-delta';
    if (isSound && this.#sounding.has(choice)) return;
    if (isSound) this.#sounding.add(choice);
    const bytes = () => textsIn(value, 'assistant').unread.filter(({ kind }) => kind === 'bytes').length;
    const parts = isSound || type === 'media' ? 1 : bytes();
    const refused = parts === 0 ? null : (this.#texts({ kind: 'assistant', choice })?.unread?.(parts) ?? null);
    if (refused !== null) throw new FailureError(refused);
  }
}
