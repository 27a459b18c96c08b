import type { QualityConfig } from '../../../config/schema.ts';
import type { StreamMark } from '../../../formats/dialects/dialect.ts';
import { contentChars, type FinishReason, isContent, type NeutralEvent } from '../../../formats/neutral/event.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { usdOf } from '../../../formats/neutral/price.ts';
import type { SchemaCheck } from '../../../guards/schema-check.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Alias } from '../../models/alias.ts';
import { type Answer, answeredElsewhere } from '../../spine/answer.ts';
import type { Job } from '../../spine/job.ts';
import type { AttemptSink, Chunk, Pace } from '../../spine/sink.ts';
import type { AnswerStep } from '../../spine/steps/after.ts';
import { LookingSink } from '../../spine/steps/looking-sink.ts';
import type { ConversationFacts } from './conversation-body.ts';

/** Facts of an answer's checks: the rules, the schema and the thread that checks it. */
export interface QualityCheck {
  /** Undefined: it is only looked at for `onFilter`. */
  quality: QualityConfig | undefined;
  /** `next`: an answer that is filtered before its first content makes the next target answer. */
  onFilter: 'next' | undefined;
  facts: Pick<ConversationFacts, 'needs'>;
  /** That the answer must meet; undefined: none. */
  schema: JsonObject | undefined;
  schemas: SchemaCheck;
  tenant: string;
}

/** The check of an alias as a step over its answers; null: a request for several choices passes none of it. */
export function checksOf(
  schemas: SchemaCheck,
  { quality, onFilter }: Pick<Alias, 'quality' | 'onFilter'>,
  facts: Pick<ConversationFacts, 'needs' | 'n'>,
  tenant: string,
): readonly AnswerStep[] | null {
  // Of several choices, one that fails a check says nothing of the others; a refusal of all of them does.
  const checked = facts.n === 1 ? quality : undefined;
  if (checked === undefined && onFilter === undefined) return null;
  const check = { quality: checked, onFilter, facts, schemas, tenant };
  return [
    {
      ...(checked?.checks.includes('schema') === true && { needs: 'schema' as const }),
      over: (next, { answer, job, schema }) => new CheckedAnswer(next, answer, job, { ...check, schema }),
    },
  ];
}

/** Beyond it an answer is not held back any more, and passes. */
const heldCharsMax = 4 * 1024 * 1024;

/**
 * Holds an answer back until it has passed the checks of its model. One that fails them ends its attempt, so that the
 * next target is asked, and stays ready as the client's in case that none answers better (`progress.heldBack`).
 */
class CheckedAnswer<C> extends LookingSink<Answer<C>> {
  readonly #job: Job<C>;
  readonly #check: QualityCheck;
  /** Null: what comes goes on at once. */
  #held: (readonly NeutralEvent[])[] | null = [];
  #text = '';
  /** Characters of all texts, thoughts and arguments so far. */
  #heldChars = 0;
  #hasContent = false;
  #refused = false;
  #calls = false;
  #finish: FinishReason | null = null;

  constructor(next: AttemptSink, answer: Answer<C>, job: Job<C>, check: QualityCheck) {
    super(next, answer);
    this.#job = job;
    this.#check = check;
  }

  chunk(chunk: Chunk): Pace {
    if (this.#held === null) return this.next.chunk(chunk);
    // Answers that are checked are always converted.
    const events = chunk as readonly NeutralEvent[];
    this.#held.push(events);
    for (const event of events) this.#look(event);
    const isDecided = this.#check.quality === undefined && this.#hasContent;
    if (isDecided || this.#heldChars > heldCharsMax) this.#goOn();
    return 'ready';
  }

  override async end(found: Fault | null, mark?: StreamMark): Promise<Fault | null> {
    if (found !== null || this.#held === null) return this.next.end(found, mark);
    const why = await this.#lacking();
    if (why === null) return this.#goOn() ? this.next.end(null) : answeredElsewhere();
    const { usage, usageSource } = this.answer.trial!.seen(true, null);
    const { progress, atMs } = this.#job;
    const costUsd = (usage && usdOf(usage, this.answer.attempt.target.price, atMs)) ?? 0;
    progress.besideUsd += costUsd;
    const heldBack = async () => {
      progress.usage = usage;
      progress.usageSource = usageSource;
      progress.besideUsd -= costUsd;
      if (this.#goOn()) await this.next.end(null);
    };
    progress.heldBack = heldBack;
    return fault('low_quality', `did not pass the model's check: ${why}`);
  }

  #look(event: NeutralEvent): void {
    this.#heldChars += contentChars(event) ?? 0;
    if (event.type !== 'refusal-delta' && isContent(event)) this.#hasContent = true;
    if (event.type === 'text-delta') this.#text += event.text;
    else if (event.type === 'refusal-delta') this.#refused = true;
    else if (event.type === 'tool-call-start') this.#calls = true;
    else if (event.type === 'finish') this.#finish = event.reason;
  }

  /** False: another answer was first. */
  #goOn(): boolean {
    const held = this.#held;
    if (held === null) return true;
    if (!this.next.content()) return false;
    this.#held = null;
    for (const events of held) this.next.chunk(events);
    return true;
  }

  /** The first check that it fails, in words; null: it passes. */
  async #lacking(): Promise<string | null> {
    const { quality, onFilter, schema, schemas, tenant } = this.#check;
    const isRefusal = this.#refused || this.#finish === 'content-filter';
    if (isRefusal && onFilter === 'next' && !this.#hasContent) return 'it is a refusal';
    if (quality === undefined) return null;
    const { checks, min_chars: charsMin = 0 } = quality;
    if (isRefusal && checks.includes('refusal')) return 'it is a refusal';
    if (checks.includes('length') && this.#isCut()) return 'the output limit of the model cut it off';
    if (this.#calls) return null;
    const chars = this.#text.trim().length;
    if (chars < charsMin) return `it has ${chars} characters, fewer than ${charsMin}`;
    if (schema === undefined) return null;
    const why = (await schemas.look(tenant, this.#text, schema))?.why ?? null;
    return why === null ? null : `it does not meet the schema (${why.slice(0, 200)})`;
  }

  /** By the model: an answer as long as its caller allows is what the caller asked for. */
  #isCut(): boolean {
    if (this.#finish !== 'length' && this.#finish !== 'context-full') return false;
    const { maxOutputTokens } = this.#check.facts.needs;
    if (maxOutputTokens === null) return true;
    const { usage } = this.answer.trial!.seen(true, null);
    return usage === null || usage.outputTokens < maxOutputTokens;
  }
}
