import type { StreamMark } from '../../../formats/dialects/dialect.ts';
import { isContent, type NeutralEvent } from '../../../formats/neutral/event.ts';
import type { Fault } from '../../../formats/neutral/outcome.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import type { AnswerGate, AnswerTexts, JudgedText } from '../../models/steps.ts';
import { answeredElsewhere } from '../answer.ts';
import type { AttemptSink, AttemptSource, Chunk, Pace } from '../sink.ts';
import { filteredPart, type PartsBefore, shallow, type TimedAnswer } from './filtered-events.ts';
import { HeldEvents } from './held-events.ts';
import { LookingSink } from './looking-sink.ts';
import { noteText } from './moved-citation.ts';
import { cutEvents, gatewayFault } from './refused-answer.ts';

/**
 * Holds an answer until its request has passed, and each part of it until that has. A stream is asked about in sentences,
 * one question at a time: what comes meanwhile is the next one. A whole answer is asked about once. A refusal ends the
 * attempt at once: before the first content as a fault, later as an answer that a content filter has cut.
 */
export class GatedEvents extends LookingSink<TimedAnswer> {
  readonly #gate: AnswerGate;
  readonly #form: 'stream' | 'whole';
  readonly #choices = new Set<number>();
  readonly #before: PartsBefore = { thoughts: new Map(), texts: new Map() };
  #isChanged = false;
  readonly #held = new HeldEvents();
  #state: 'waits' | 'open' | 'began' | 'over' = 'waits';
  #asking: Promise<void> | null = null;
  #refusal: Fault | null = null;
  #pace: Pace = 'ready';

  constructor(next: AttemptSink, answer: TimedAnswer, gate: AnswerGate, form: 'stream' | 'whole') {
    super(next, answer);
    this.#gate = gate;
    this.#form = form;
  }

  override start(source: AttemptSource): void {
    this.source = source;
    const resume = () => {
      this.#pace = 'ready';
      source.resume();
    };
    this.next.start({ resume, stop: (fault) => source.stop(fault) });
    const { request } = this.#gate;
    if (request === null) this.#state = 'open';
    else void request.then((failure) => this.#passed(failure));
  }

  chunk(chunk: Chunk): Pace {
    if (this.#state === 'over') return 'ready';
    for (const event of chunk as readonly NeutralEvent[]) {
      if ('choice' in event) this.#choices.add(event.choice);
      // What is passed on as it came has nothing that the judge has not seen.
      this.#held.add(event.type === 'vendor-part' || event.type === 'citation' ? shallow(event) : event);
    }
    this.#go('stream');
    return this.#pace;
  }

  override async end(found: Fault | null, mark?: StreamMark): Promise<Fault | null> {
    if (found !== null) return this.next.end(found, mark);
    this.#passed((await this.#gate.request) ?? null);
    while (this.#asking !== null) await this.#asking;
    this.#go('end');
    while (this.#asking !== null) await this.#asking;
    return this.#refusal ?? this.next.end(null, mark);
  }

  #passed(failure: Failure | null): void {
    if (this.#state !== 'waits') return;
    this.#state = 'open';
    if (failure === null) this.#go('stream');
    // No other target is asked, whatever the model does with filtered answers.
    else this.#refuse(failure, 'caller_fault');
  }

  /** Passes on what may pass. `end`: nothing more comes. */
  #go(upTo: 'stream' | 'end'): void {
    const { judge } = this.#gate;
    while (this.#asking === null && this.#held.length > 0 && (this.#state === 'open' || this.#state === 'began')) {
      const isAll = upTo === 'end' || judge === null;
      if (!isAll && (this.#form === 'whole' || this.#gate.whole === true)) return;
      const next = isAll ? this.#held.takeAll() : this.#held.takeComplete(this.#state === 'open' ? 'first' : 'later');
      if (next.length === 0) return;
      const isWhole = this.#gate.whole === true;
      const part = isWhole ? withEmptyTexts(next) : next;
      const texts = judge === null ? [] : textsOf(part);
      const isBlank = isWhole ? texts.length === 0 : texts.every(({ text }) => text.trim() === '');
      if (judge === null) this.#pass(next);
      else if (isBlank) this.#pass(this.#unchanged(next, texts));
      else this.#asking = judge(texts).then((judged) => this.#judged(part, texts, judged, upTo));
    }
  }

  #judged(
    part: readonly NeutralEvent[],
    texts: readonly JudgedText[],
    judged: Failure | readonly string[],
    upTo: 'stream' | 'end',
  ): void {
    this.#asking = null;
    if (this.#state === 'over') return;
    if (isFailure(judged)) return this.#refuse(judged);
    const isChanged = texts.some(({ text }, index) => text !== judged[index]);
    this.#isChanged ||= isChanged;
    this.#pass(isChanged ? filteredPart(part, replacing(judged), this.#before) : this.#unchanged(part, texts));
    this.#go(upTo);
  }

  /** Events whose texts the judge leaves as they are. Proofs and places are as what it changed before wants it. */
  #unchanged(events: readonly NeutralEvent[], texts: readonly JudgedText[]): readonly NeutralEvent[] {
    if (this.#isChanged) {
      const same = texts.map(({ text }) => text);
      return filteredPart(events, replacing(same), this.#before);
    }
    for (const event of events) {
      if (event.type === 'text-delta') noteText(this.#before.texts, event.choice, event.text, event.text);
    }
    return events;
  }

  #pass(events: readonly NeutralEvent[]): void {
    if (this.#state === 'open' && events.some(isContent)) {
      if (!this.next.content()) {
        this.#state = 'over';
        this.#refusal = answeredElsewhere();
        this.source?.stop(this.#refusal);
        return;
      }
      this.#state = 'began';
    }
    this.#pace = this.next.chunk(events);
  }

  #refuse(failure: Failure, as: Fault['class'] = 'filtered'): void {
    const began = this.#state === 'began';
    this.#state = 'over';
    this.#held.takeAll();
    if (began) return void this.next.chunk(cutEvents(this.#choices, this.answer));
    this.#refusal = { ...gatewayFault(failure), class: as };
    this.source?.stop(this.#refusal);
  }
}

/** With an empty text in each choice that says nothing, calls nothing and refuses nothing: a judge of the whole sees it. */
function withEmptyTexts(events: readonly NeutralEvent[]): readonly NeutralEvent[] {
  const textEvents: readonly NeutralEvent['type'][] = ['text-delta', 'refusal-delta', 'tool-call-start'];
  const saying = new Set(
    events.flatMap((event) => ('choice' in event && textEvents.includes(event.type) ? event.choice : [])),
  );
  return events.flatMap((event): NeutralEvent[] => {
    const isEmpty = event.type === 'finish' && event.reason !== 'content-filter' && !saying.has(event.choice);
    return isEmpty ? [{ type: 'text-delta', choice: event.choice, text: '' }, event] : [event];
  });
}

/** The texts of some events, each in one piece. */
function textsOf(events: readonly NeutralEvent[]): JudgedText[] {
  const texts: JudgedText[] = [];
  filteredPart(events, collecting(texts));
  return texts;
}

/** Filters that note each text, and let it pass. */
export function collecting(texts: JudgedText[]): AnswerTexts {
  return (place) => {
    const noted = { ...place, text: '' };
    texts.push(noted);
    const push = (text: string) => {
      noted.text += text;
      return text;
    };
    return { push, end: () => '' };
  };
}

/** Filters that put these texts in the place of those that come, in the order of `textsOf`. */
export function replacing(texts: readonly string[]): AnswerTexts {
  let next = 0;
  return () => {
    const text = texts[next++] ?? '';
    return { push: () => '', end: () => text };
  };
}
