import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { FinishReason, NeutralEvent } from '../../neutral/event.ts';
import { fault } from '../../neutral/outcome.ts';
import type { Usage } from '../../neutral/usage.ts';
import { tellsNoCount, toldCount } from '../../neutral/usage.ts';
import type { SseEvent, StreamDecoder } from '../dialect.ts';
import { parsedData, stringOr } from '../event-data.ts';
import { faultOfError, readError } from './errors.ts';
import { callersName } from './function-name.ts';
import { vendor } from './wire.ts';

/**
 * Google's stream (`alt=sse`) → neutral events. Bytes that are no JSON of this format are skipped and counted, never
 * thrown: one bad line must not cost the caller the answer around it.
 */
export function decodeStream(): StreamDecoder {
  return new AnswerDecoder();
}

/** A whole answer as the events of its stream: told by the same decoder, so that the two cannot differ. */
export function decodeWhole(body: JsonObject): NeutralEvent[] {
  const events: NeutralEvent[] = [];
  const decoder = new AnswerDecoder();
  if (!decoder.read(body, events)) {
    return [{ type: 'failed', fault: fault('malformed', 'the answer has no candidates') }];
  }
  return [...events, ...decoder.finish()];
}

interface Candidate {
  calls: number;
  /** Text, a call or a refusal was told. */
  said: boolean;
  /** A thought was told and no proof of it yet. */
  openThought: boolean;
  /** A part came that no other dialect can carry, such as a picture. */
  unsayable: boolean;
  finished: boolean;
}

const candidatesMax = 16;
const callsMax = 256;

class AnswerDecoder implements StreamDecoder {
  readonly #candidates = new Map<number, Candidate>();
  #over = false;
  #started = false;
  #malformed = 0;
  #idPrefix = 'call_';

  step({ data }: SseEvent): NeutralEvent[] {
    const events: NeutralEvent[] = [];
    // Some servers of this format close with OpenAI's mark.
    if (this.#over || data === '' || data === '[DONE]') return events;
    const said = parsedData(data);
    if (said === null || !this.read(said, events)) this.#malformed += 1;
    return events;
  }

  /**
   * At the end of the bytes, which is the format's only end mark: `end` if every candidate has told why it stopped,
   * else a fault.
   */
  finish(): NeutralEvent[] {
    if (this.#over) return [];
    this.#over = true;
    const unfinished = [...this.#candidates.values()].some((candidate) => !candidate.finished);
    if (this.#candidates.size > 0 && !unfinished) return [{ type: 'end' }];
    return [{ type: 'failed', fault: fault('truncated', 'the answer ended without a finishReason') }];
  }

  malformedLines(): number {
    return this.#malformed;
  }

  /** Appends what one chunk says; false when it is no object of this format. Never throws, whatever it is given. */
  read(data: JsonObject, events: NeutralEvent[]): boolean {
    const error = readError(data);
    if (error !== null) {
      this.#over = true;
      events.push({ type: 'failed', fault: faultOfError(data, error) });
      return true;
    }
    const usage = usageOf(data.usageMetadata);
    const blocked = isObject(data.promptFeedback) ? stringOr(data.promptFeedback.blockReason, '') : '';
    if (!Array.isArray(data.candidates) && usage === null && blocked === '') return false;
    this.#start(data, events);
    if (Array.isArray(data.candidates)) {
      for (const candidate of data.candidates) {
        if (isObject(candidate) && !this.#over) this.#readCandidate(candidate, events);
      }
    }
    if (this.#over) return true;
    if (blocked !== '' && this.#candidates.size === 0) {
      const why = `The provider blocked the prompt (${blocked.slice(0, 64)}).`;
      finishCandidate(this.#candidateAt(0)!, 0, 'content-filter', why, events);
    }
    if (usage !== null) events.push({ type: 'usage', usage });
    else if (tellsImpossible(data.usageMetadata)) {
      events.push({ type: 'usage', usage: { inputTokens: 0, outputTokens: 0 }, impossible: true });
    }
    return true;
  }

  #start(data: JsonObject, events: NeutralEvent[]): void {
    if (this.#started) return;
    this.#started = true;
    const id = stringOr(data.responseId, null);
    // Ids that we make must differ between the turns of a conversation.
    if (id !== null) this.#idPrefix = `call_${id.replace(/[^\w-]/g, '_').slice(0, 32)}_`;
    events.push({ type: 'start', id, model: stringOr(data.modelVersion, null), createdS: secondsOf(data.createTime) });
  }

  #candidateAt(choice: number): Candidate | null {
    let candidate = this.#candidates.get(choice);
    if (candidate === undefined) {
      if (this.#candidates.size >= candidatesMax) return null;
      candidate = { calls: 0, said: false, openThought: false, unsayable: false, finished: false };
      this.#candidates.set(choice, candidate);
    }
    return candidate;
  }

  #readPart(part: JsonObject, candidate: Candidate, choice: number, events: NeutralEvent[]): void {
    const signature = stringOr(part.thoughtSignature ?? part.thought_signature, '');
    if (isObject(part.functionCall)) {
      this.#readCall(part.functionCall, signature, candidate, choice, events);
      return;
    }
    if (typeof part.text === 'string') {
      if (part.text !== '') {
        const kind = part.thought === true ? 'reasoning-delta' : 'text-delta';
        if (kind === 'text-delta') candidate.said = true;
        else candidate.openThought = true;
        events.push({ type: kind, choice, text: part.text });
      }
    } else if (isObject(part.inlineData) || isObject(part.fileData)) candidate.unsayable = true;
    prove(signature, candidate, choice, events);
  }

  #readCall(called: JsonObject, signature: string, candidate: Candidate, choice: number, events: NeutralEvent[]): void {
    if (candidate.calls >= callsMax) return;
    prove(signature, candidate, choice, events);
    const call = candidate.calls++;
    candidate.said = true;
    const id = stringOr(called.id, '') || `${this.#idPrefix}${choice === 0 ? '' : `${choice}_`}${call}`;
    const name = callersName(stringOr(called.name, ''));
    const proof = signature === '' ? {} : { signature, vendor };
    events.push({ type: 'tool-call-start', choice, call, id, name, ...proof });
    const argumentsJson = isObject(called.args) ? JSON.stringify(called.args) : '{}';
    events.push({ type: 'tool-call-delta', choice, call, argumentsJson });
  }

  #readCandidate(data: JsonObject, events: NeutralEvent[]): void {
    const choice = typeof data.index === 'number' && Number.isSafeInteger(data.index) ? Math.max(0, data.index) : 0;
    const candidate = this.#candidateAt(choice);
    if (candidate === null || candidate.finished) return;
    const parts = isObject(data.content) ? data.content.parts : undefined;
    if (Array.isArray(parts))
      for (const part of parts) if (isObject(part)) this.#readPart(part, candidate, choice, events);
    cite(data.citationMetadata, choice, events);
    const word = stringOr(data.finishReason, '');
    const reason = finishReasonOf(word, candidate.calls);
    if (reason === null) return;
    if (!candidate.said && candidate.unsayable) return this.#failUnsayable(events);
    const why = `The provider withheld the answer (${word.slice(0, 64)})${messageOf(data.finishMessage)}.`;
    finishCandidate(candidate, choice, reason, why, events);
  }

  /** The model chose so: another target would be asked in vain, and this one is as healthy as before. */
  #failUnsayable(events: NeutralEvent[]): void {
    this.#over = true;
    const message =
      'The model answered with a picture or file, which this format cannot carry. Ask it in its own: POST /v1beta/models/{model}:generateContent.';
    events.push({ type: 'failed', fault: fault('caller_fault', message) });
  }
}

/** A proof without a thought shown before it has nowhere to stand; off a call, Google does without it. */
function prove(signature: string, candidate: Candidate, choice: number, events: NeutralEvent[]): void {
  if (signature === '' || !candidate.openThought) return;
  candidate.openThought = false;
  events.push({ type: 'reasoning-signature', choice, signature, vendor });
}

function cite(metadata: JsonValue | undefined, choice: number, events: NeutralEvent[]): void {
  if (!isObject(metadata)) return;
  const sources = metadata.citationSources ?? metadata.citations;
  if (!Array.isArray(sources)) return;
  for (const source of sources) {
    if (!isObject(source) || typeof source.uri !== 'string') continue;
    events.push({
      type: 'citation',
      choice,
      citation: { type: 'citation', url: source.uri, title: stringOr(source.title, '') },
    });
  }
}

function finishCandidate(
  candidate: Candidate,
  choice: number,
  reason: FinishReason,
  why: string,
  events: NeutralEvent[],
): void {
  candidate.finished = true;
  if (reason === 'content-filter' && !candidate.said) events.push({ type: 'refusal-delta', choice, text: why });
  events.push({ type: 'finish', choice, reason, stopSequence: null });
}

const finishMessageCharsMax = 500;

function messageOf(value: JsonValue | undefined): string {
  return typeof value === 'string' && value !== '' ? `: ${value.slice(0, finishMessageCharsMax)}` : '';
}

function secondsOf(value: JsonValue | undefined): number | null {
  if (typeof value !== 'string' || value.length > 40) return null;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? null : Math.floor(ms / 1_000);
}

/**
 * Google's `finishReason` → neutral; null: the answer goes on. Every word but three tells of something withheld (a
 * call that is no JSON among them), so an unknown one is taken for that: it must not look like a whole answer.
 */
function finishReasonOf(word: string, toolCalls: number): FinishReason | null {
  switch (word) {
    case '':
    case 'FINISH_REASON_UNSPECIFIED':
      return null;
    case 'STOP':
      // OpenAI's clients run tools by the finish reason; Google has no word for it.
      return toolCalls > 0 ? 'tool-calls' : 'stop';
    case 'MAX_TOKENS':
    case 'CONTINUATION':
      return 'length';
    default:
      return 'content-filter';
  }
}

const mainCounts = ['promptTokenCount', 'candidatesTokenCount', 'totalTokenCount'];

/** `usageMetadata` as told in each chunk, each time for the whole answer so far; null when it tells nothing. */
export function usageOf(metadata: JsonValue | undefined): Usage | null {
  if (!isObject(metadata) || tellsImpossible(metadata)) return null;
  const prompt = toldCount(metadata.promptTokenCount);
  if (prompt === null && toldCount(metadata.totalTokenCount) === null) return null;
  const thoughts = toldCount(metadata.thoughtsTokenCount);
  const usage: Usage = {
    // Cached input is part of the prompt's count here; what server-side tools fed in is not.
    inputTokens: (prompt ?? 0) + (toldCount(metadata.toolUsePromptTokenCount) ?? 0),
    // Thoughts are counted apart from the candidates' tokens here, inside output everywhere else: add.
    outputTokens: (toldCount(metadata.candidatesTokenCount) ?? 0) + (thoughts ?? 0),
  };
  const cached = toldCount(metadata.cachedContentTokenCount);
  if (cached !== null) usage.cachedInputTokens = cached;
  if (thoughts !== null) usage.reasoningTokens = thoughts;
  return usage;
}

/** What it told before is not believed any more. */
export function tellsImpossible(metadata: JsonValue | undefined): boolean {
  return isObject(metadata) && tellsNoCount(metadata, mainCounts);
}
