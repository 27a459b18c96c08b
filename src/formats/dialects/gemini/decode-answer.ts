import { isObject, type JsonObject, type JsonValue, stringOr } from '../../../kernel/json.ts';
import type { Citation } from '../../neutral/citation.ts';
import { type Beside, EventDecoder, type FinishReason, lostMember, type NeutralEvent } from '../../neutral/event.ts';
import { fault, withheldBecause } from '../../neutral/outcome.ts';
import { producedMedia } from '../../neutral/produced-media.ts';
import { noteService, partsOfTotal, reportedCount, reportsInvalidCount, type Usage } from '../../neutral/usage.ts';
import type { DecodeOptions, StreamDecoder } from '../dialect.ts';
import { faultOfError, readError } from './errors.ts';
import { callersName } from './function-name.ts';
import { readCitations, readGrounding } from './grounding.ts';
import { PartialArguments } from './partial-arguments.ts';
import { vendor } from './wire.ts';

/**
 * Google's stream (`alt=sse`) → neutral events. Bytes that are not JSON of this format are skipped and counted, never
 * thrown: one bad line must not cost the caller the answer around it.
 */
export function decodeStream(options?: DecodeOptions): StreamDecoder {
  return new AnswerDecoder(options?.callers);
}

/** A whole answer as the events of its stream. The same decoder makes them, so that the two cannot differ. */
export function decodeWhole(body: JsonObject, options?: DecodeOptions): NeutralEvent[] {
  return new AnswerDecoder(options?.callers).whole(body);
}

interface Candidate {
  calls: number;
  /** A call whose arguments come in pieces. */
  growing: { call: number; id: string; args: PartialArguments } | null;
  /** Text, a call or a refusal has come. */
  hasContent: boolean;
  /** A thought has come, and no proof of it yet. */
  openThought: boolean;
  /** Text of the answer, without thoughts: its sources refer to it. */
  text: string;
  /** Its sources, as of the last chunk. */
  grounding: JsonObject | null;
  /** Google's proof over the text. Its event follows the sources, since it closes the text in some formats. */
  textSignature: string;
  citations: JsonObject | null;
  /** Further members for callers of this format. */
  texts: JsonObject;
  /** Its last `finishReason`; null: none yet. */
  end: CandidateEnd | null;
}

interface CandidateEnd {
  word: string;
  /** Google's message about the end, for a reader who gets nothing else. */
  why: string;
  /** The chunk with this reason has the usage too. */
  counted: boolean;
  beside?: Beside;
}

/** Words and figures of an answer, and of a candidate at its end. */
const answerWords = ['createTime', 'modelStatus', 'promptFeedback'];
const candidateWords = ['finishReason', 'avgLogprobs', 'tokenCount', 'safetyRatings'];
/** Members of a candidate with texts, which come once. */
const textMembers = ['finishMessage', 'urlContextMetadata'];

const candidatesMax = 16;
const callsMax = 256;

class AnswerDecoder extends EventDecoder {
  readonly #candidates = new Map<number, Candidate>();
  #started = false;
  #idPrefix = 'call_';
  #lastUsage: NeutralEvent | null = null;

  constructor(callers: string | undefined) {
    super();
    if (callers === vendor) this.callers = callers;
  }

  /**
   * Ends the stream at the end of the bytes, which is the format's only end mark: `end` if every candidate has a
   * reason, else a fault. The reasons wait for it, since some servers send one with each chunk.
   */
  override finish(): NeutralEvent[] {
    if (this.over) return [];
    this.over = true;
    this.events = [];
    const ended = [...this.#candidates].flatMap(([choice, one]) =>
      one.end === null ? [] : [{ choice, one, end: one.end }],
    );
    if (ended.length === 0 || ended.length < this.#candidates.size) {
      if (this.#lastUsage !== null) this.emit(this.#lastUsage);
      this.emit({ type: 'failed', fault: fault('truncated', 'the answer ended without a finishReason') });
      return this.events;
    }
    for (const { choice, one, end } of ended) this.#finishCandidate(one, choice, end);
    if (this.#lastUsage !== null) this.emit(this.#lastUsage);
    this.emit({ type: 'end' });
    return this.events;
  }

  whole(body: JsonObject): NeutralEvent[] {
    if (!this.read(body)) return [{ type: 'failed', fault: fault('malformed', 'the answer has no candidates') }];
    return [...this.events, ...this.finish()];
  }

  protected override read(data: JsonObject): boolean {
    const error = readError(data);
    if (error !== null) {
      this.fail(faultOfError(data, error));
      return true;
    }
    const usage = usageOf(data.usageMetadata);
    const blocked = isObject(data.promptFeedback) ? stringOr(data.promptFeedback.blockReason, '') : '';
    if (!Array.isArray(data.candidates) && usage === null && blocked === '') return false;
    this.#start(data);
    if (Array.isArray(data.candidates)) {
      for (const candidate of data.candidates) {
        if (isObject(candidate) && !this.over) this.#readCandidate(candidate, usage !== null);
      }
    }
    if (this.over) return true;
    if (blocked !== '' && this.#candidates.size === 0) {
      const why = `The provider blocked the prompt (${blocked.slice(0, 64)}).`;
      this.#candidateAt(0)!.end = { word: blocked, why, counted: false };
    }
    if (usage !== null) this.#count({ type: 'usage', usage, ...this.beside(data.usageMetadata) });
    else if (hasInvalidCount(data.usageMetadata)) {
      this.#count({ type: 'usage', usage: { inputTokens: 0, outputTokens: 0 }, impossible: true });
    }
    return true;
  }

  /** Usage goes behind the reasons. */
  #count(event: Extract<NeutralEvent, { type: 'usage' }>): void {
    for (const { end } of this.#candidates.values()) if (end !== null) this.#lastUsage = event;
    if (this.#lastUsage !== event) this.emit(event);
  }

  #start(data: JsonObject): void {
    if (this.#started) return;
    this.#started = true;
    const id = stringOr(data.responseId, null);
    // Ids that we make must differ between the turns of a conversation.
    if (id !== null) this.#idPrefix = `call_${id.replace(/[^\w-]/g, '_').slice(0, 32)}_`;
    const beside = this.beside(data, answerWords);
    const model = stringOr(data.modelVersion, null);
    this.emit({ type: 'start', id, model, createdS: secondsOf(data.createTime), ...beside });
  }

  #candidateAt(choice: number): Candidate | null {
    let candidate = this.#candidates.get(choice);
    if (candidate === undefined) {
      if (this.#candidates.size >= candidatesMax) return null;
      candidate = {
        calls: 0,
        growing: null,
        hasContent: false,
        openThought: false,
        text: '',
        grounding: null,
        textSignature: '',
        citations: null,
        texts: {},
        end: null,
      };
      this.#candidates.set(choice, candidate);
    }
    return candidate;
  }

  #readPart(part: JsonObject, candidate: Candidate, choice: number): void {
    const signature = stringOr(part.thoughtSignature ?? part.thought_signature, '');
    if (isObject(part.functionCall)) {
      this.#readCall(part.functionCall, signature, candidate, choice);
      return;
    }
    if (typeof part.text === 'string') {
      if (part.thought !== true) return this.#readText(part.text, signature, candidate, choice);
      if (part.text !== '') {
        candidate.openThought = true;
        this.emit({ type: 'reasoning-delta', choice, text: part.text });
      }
    } else if (this.#readMedia(part, signature, candidate, choice)) return;
    else this.#vendorPart(part, choice);
    this.#prove(signature, candidate, choice);
  }

  /** A proof is over the thought right before the text, or over one that was not shown. */
  #readText(text: string, signature: string, candidate: Candidate, choice: number): void {
    if (candidate.openThought) this.#prove(signature, candidate, choice);
    else if (signature !== '') candidate.textSignature = signature;
    if (text === '') return;
    candidate.openThought = false;
    candidate.hasContent = true;
    candidate.text += text;
    this.emit({ type: 'text-delta', choice, text });
  }

  /** Reads a part with media; false: the part has none. */
  #readMedia({ inlineData, fileData, thought }: JsonObject, signature: string, candidate: Candidate, choice: number) {
    // Images drawn on the way to the final one are thoughts of this vendor alone.
    if (thought === true) return false;
    const proof = signature === '' ? {} : { signature, vendor };
    if (isObject(inlineData)) {
      const media = producedMedia(stringOr(inlineData.mimeType, ''), stringOr(inlineData.data, ''));
      this.emit({ type: 'media', choice, media: { ...media, ...proof } });
    } else if (isObject(fileData) && typeof fileData.fileUri === 'string') {
      const kind = stringOr(fileData.mimeType, '').startsWith('image/') ? 'image' : 'file';
      const source = { kind: 'url', url: fileData.fileUri } as const;
      const vendorPart = { vendor, block: { fileData } };
      this.emit({ type: 'media', choice, media: { kind, source, vendorPart, ...proof } });
    } else return false;
    candidate.hasContent = true;
    candidate.openThought = false;
    return true;
  }

  /** Passes on a part of this vendor alone, such as code that it ran or the draft of a picture, named by its member. */
  #vendorPart(part: JsonObject, choice: number): void {
    const member = Object.keys(part).find((name) => isObject(part[name]));
    if (member === undefined) return;
    const field = part.thought === true ? 'thoughts' : member;
    this.emit({ type: 'vendor-part', choice, vendor, field, block: { part } });
  }

  #readCall(called: JsonObject, signature: string, candidate: Candidate, choice: number): void {
    const id = stringOr(called.id, '');
    const name = stringOr(called.name, '');
    const { growing } = candidate;
    if (growing !== null && name === '' && (id === '' || growing.id === '' || id === growing.id)) {
      return this.#growCall(called, candidate, choice);
    }
    this.#closeCall(candidate, choice);
    if (candidate.calls >= callsMax) return this.emit(lostMember('functionCall', choice));
    this.#prove(signature, candidate, choice);
    const call = candidate.calls++;
    candidate.hasContent = true;
    const proof = signature === '' ? {} : { signature, vendor };
    const shownId = id || `${this.#idPrefix}${choice === 0 ? '' : `${choice}_`}${call}`;
    this.emit({ type: 'tool-call-start', choice, call, id: shownId, name: callersName(name), ...proof });
    if (called.willContinue === true || Array.isArray(called.partialArgs)) {
      candidate.growing = { call, id, args: new PartialArguments() };
      return this.#growCall(called, candidate, choice);
    }
    const argumentsJson = isObject(called.args) ? JSON.stringify(called.args) : '{}';
    this.emit({ type: 'tool-call-delta', choice, call, argumentsJson });
  }

  #growCall(called: JsonObject, candidate: Candidate, choice: number): void {
    const { call, args } = candidate.growing!;
    args.add(called.partialArgs);
    // No text yet, but a sign of life for those who time the answer.
    if (called.willContinue === true) this.emit({ type: 'tool-call-delta', choice, call, argumentsJson: '' });
    else this.#closeCall(candidate, choice);
  }

  /** Other formats want arguments as text from its start to its end, which pieces by place are not. */
  #closeCall(candidate: Candidate, choice: number): void {
    if (candidate.growing === null) return;
    const { call, args } = candidate.growing;
    candidate.growing = null;
    this.emit({ type: 'tool-call-delta', choice, call, argumentsJson: args.json() });
  }

  /** `counted`: the same chunk has the usage. */
  #readCandidate(data: JsonObject, counted: boolean): void {
    const choice = typeof data.index === 'number' && Number.isSafeInteger(data.index) ? Math.max(0, data.index) : 0;
    const candidate = this.#candidateAt(choice);
    if (candidate === null) return;
    const parts = isObject(data.content) ? data.content.parts : undefined;
    if (Array.isArray(parts)) for (const part of parts) if (isObject(part)) this.#readPart(part, candidate, choice);
    if (isObject(data.groundingMetadata)) candidate.grounding = data.groundingMetadata;
    if (isObject(data.citationMetadata)) candidate.citations = data.citationMetadata;
    if (this.callers !== undefined) {
      for (const name of textMembers) if (data[name] !== undefined) candidate.texts[name] = data[name];
    } else if (isObject(data.urlContextMetadata) && Object.keys(data.urlContextMetadata).length > 0)
      this.emit(lostMember('urlContextMetadata', choice));
    const word = stringOr(data.finishReason, '');
    if (word === '' || word === 'FINISH_REASON_UNSPECIFIED') return;
    const why = withheldBecause(word, data.finishMessage);
    candidate.end = { word, why, counted, ...this.beside(data, candidateWords) };
  }

  /** Gives the proof of a shown thought. */
  #prove(signature: string, candidate: Candidate, choice: number): void {
    if (signature === '' || !candidate.openThought) return;
    candidate.openThought = false;
    this.emit({ type: 'reasoning-signature', choice, signature, vendor });
  }

  /** Gives the citations, once, at the end: their places are those in the whole text. */
  #cite({ text, grounding, citations }: Candidate, choice: number): void {
    if (grounding !== null) this.#citeAll({ groundingMetadata: grounding }, readGrounding(grounding, text), choice);
    if (citations !== null) this.#citeAll({ citationMetadata: citations }, readCitations(citations, text), choice);
  }

  #citeAll(block: JsonObject, found: readonly Citation[], choice: number): void {
    this.emit({ type: 'vendor-part', choice, vendor, field: null, block });
    for (const citation of found) this.emit({ type: 'citation', choice, citation });
  }

  #finishCandidate(candidate: Candidate, choice: number, { word, why, counted, beside }: CandidateEnd): void {
    this.#closeCall(candidate, choice);
    this.#cite(candidate, choice);
    const { textSignature, text, texts } = candidate;
    if (Object.keys(texts).length > 0) this.#citeAll(texts, [], choice);
    if (textSignature !== '' && text !== '')
      this.emit({ type: 'text-signature', choice, signature: textSignature, vendor });
    const reason = finishReasonOf(word, candidate.calls);
    if (reason === 'content-filter' && !candidate.hasContent) {
      this.emit({ type: 'refusal-delta', choice, text: why, ours: true });
    }
    // After results of tools Google's models may end a turn without a word. A count of zero is left out.
    const answered = !candidate.hasContent && counted && reason === 'stop';
    const further = { ...(answered && { answered }), ...(beside !== undefined && { beside }) };
    this.emit({ type: 'finish', choice, reason, stopSequence: null, ...further });
  }
}

function secondsOf(value: JsonValue | undefined): number | null {
  if (typeof value !== 'string' || value.length > 40) return null;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? null : Math.floor(ms / 1_000);
}

/**
 * Google's `finishReason` → neutral. Every word but three means that something was withheld
 * (a call that is not JSON among them), so an unknown one counts as that: it must not look like a whole answer.
 */
function finishReasonOf(word: string, toolCalls: number): FinishReason {
  switch (word) {
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

/** Usage in `usageMetadata`, which each chunk repeats for the whole answer so far; null if it has no counts. */
export function usageOf(metadata: JsonValue | undefined): Usage | null {
  if (!isObject(metadata) || hasInvalidCount(metadata)) return null;
  const prompt = reportedCount(metadata.promptTokenCount);
  const total = reportedCount(metadata.totalTokenCount);
  if (prompt === null && total === null) return null;
  const answered = reportedCount(metadata.candidatesTokenCount);
  const thoughts = reportedCount(metadata.thoughtsTokenCount);
  // Thoughts are counted apart from the candidates' tokens here, inside output everywhere else: add.
  const outputTokens = (answered ?? 0) + (thoughts ?? 0);
  // Cached input is part of the prompt's count here; what server-side tools fed in is not.
  const byTools = reportedCount(metadata.toolUsePromptTokenCount) ?? 0;
  const usage: Usage = prompt
    ? { inputTokens: prompt + byTools, outputTokens }
    : partsOfTotal(null, outputTokens, total);
  // Models of the first 2.5 previews counted thoughts only in the total.
  const beside = (total ?? 0) - usage.inputTokens - usage.outputTokens;
  if (beside > 0) usage.outputTokens += beside;
  const cached = reportedCount(metadata.cachedContentTokenCount);
  if (cached !== null) usage.cachedInputTokens = Math.min(cached, usage.inputTokens);
  if (thoughts !== null) usage.reasoningTokens = thoughts;
  for (const [name, details, modality] of countsByModality) {
    const count = countOf(metadata[details], modality);
    if (count > 0) usage[name] = count;
  }
  // `ON_DEMAND_FLEX` of Vertex AI.
  const { serviceTier, trafficType } = metadata;
  noteService(usage, [serviceTier, typeof trafficType === 'string' ? trafficType.replace(/^ON_DEMAND_/, '') : null]);
  return usage;
}

/** Counts of tokens by modality: field of the neutral form, Google's field, Google's name of the modality. */
const countsByModality = [
  ['audioInputTokens', 'promptTokensDetails', 'AUDIO'],
  ['imageInputTokens', 'promptTokensDetails', 'IMAGE'],
  ['cachedAudioInputTokens', 'cacheTokensDetails', 'AUDIO'],
  ['cachedImageInputTokens', 'cacheTokensDetails', 'IMAGE'],
  ['audioOutputTokens', 'candidatesTokensDetails', 'AUDIO'],
  ['imageOutputTokens', 'candidatesTokensDetails', 'IMAGE'],
] as const;

function countOf(details: JsonValue | undefined, modality: string): number {
  if (!Array.isArray(details)) return 0;
  const found = details.find((detail) => isObject(detail) && detail.modality === modality);
  return isObject(found) ? (reportedCount(found.tokenCount) ?? 0) : 0;
}

/** Whether a count is one that no request can have. Earlier counts of the same answer are ignored, too, then. */
export function hasInvalidCount(metadata: JsonValue | undefined): boolean {
  return isObject(metadata) && reportsInvalidCount(metadata, mainCounts);
}
