import { isObject, type JsonObject, type JsonValue, objectsIn } from '../../../kernel/json.ts';
import type { Citation } from '../../neutral/citation.ts';
import { type FinishReason, membersIn, type NeutralEvent } from '../../neutral/event.ts';
import type { ProducedMedia } from '../../neutral/produced-media.ts';
import type { Usage } from '../../neutral/usage.ts';
import { argumentsObject } from '../arguments-text.ts';
import { type CompleteJson, createCompleteJson } from '../complete-json.ts';
import type { AnswerFold, AnswerHead, StreamEncoder } from '../dialect.ts';
import { redactedMark, sealSignature } from './decode-messages.ts';
import { Grounding } from './grounding.ts';
import { safetyRatings } from './safety-ratings.ts';
import { vendor } from './wire.ts';

/**
 * Events as Google's chunks. Reasons come in the last one, after `end`: without it a cut answer has no `finishReason`,
 * and after `failed` the caller of this writes the error frame. Each has the usage so far: BAML skips chunks without.
 */
export function encodeStream(head: AnswerHead): StreamEncoder {
  let out = '';
  const gathered = new AnswerParts(head, {
    part(choice, part) {
      out += chunk({ candidates: [{ content: { parts: [part], role: 'model' }, index: choice }] });
    },
    logprobs(choice, logprobsResult) {
      const content = { parts: [{ text: '' }], role: 'model' };
      out += chunk({ candidates: [{ content, index: choice, logprobsResult: { ...logprobsResult } }] });
    },
    end(reasons, beside) {
      const candidates = reasons.map(({ choice: index, word: finishReason, sources }) => ({
        content: { parts: [{ text: '' }], role: 'model' },
        finishReason,
        index,
        ...sources,
      }));
      out += chunk({ candidates, ...beside });
    },
  });

  function chunk(data: JsonObject): string {
    return `data: ${JSON.stringify({ ...data, usageMetadata: gathered.usage, ...gathered.identity })}\r\n\r\n`;
  }

  return {
    lost: gathered.lost,
    step(event) {
      out = '';
      gathered.add(event);
      return out;
    },
  };
}

/** Events as one whole answer: what a client would put together from `encodeStream`'s chunks. */
export function fold(head: AnswerHead): AnswerFold {
  const parts = new Map<number, JsonObject[]>();
  const logprobs = new Map<number, LogprobsResult>();
  const answer: JsonObject = { candidates: [] };
  const gathered = new AnswerParts(head, {
    part(choice, part) {
      const list = parts.get(choice) ?? [];
      parts.set(choice, list);
      const last = list.at(-1);
      const joins =
        typeof part.text === 'string' &&
        typeof last?.text === 'string' &&
        last.thought === part.thought &&
        last.thoughtSignature === undefined;
      if (!joins) list.push(part);
      else list[list.length - 1] = { ...last, ...part, text: `${last.text}${part.text}` };
    },
    logprobs(choice, { chosenCandidates, topCandidates }) {
      const before = logprobs.get(choice);
      if (before === undefined) {
        logprobs.set(choice, { chosenCandidates: [...chosenCandidates], topCandidates: [...topCandidates] });
        return;
      }
      before.chosenCandidates.push(...chosenCandidates);
      before.topCandidates.push(...topCandidates);
    },
    end(reasons, beside) {
      answer.candidates = reasons.map(({ choice: index, word: finishReason, sources }) => ({
        content: { parts: parts.get(index) ?? [{ text: '' }], role: 'model' },
        finishReason,
        index,
        ...sources,
        ...(logprobs.has(index) && { logprobsResult: { ...logprobs.get(index) } }),
      }));
      Object.assign(answer, beside);
    },
  });
  return {
    lost: gathered.lost,
    add: (event) => gathered.add(event),
    result: () => ({ ...answer, usageMetadata: gathered.usage, ...gathered.identity }),
  };
}

/** The events for a caller of this format, part by part. */
interface PartSink {
  part(choice: number, part: JsonObject): void;
  logprobs(choice: number, result: LogprobsResult): void;
  /** Called once: the end of every choice, in order, and the members next to the candidates: findings in the prompt. */
  end(ends: readonly CandidateEnd[], beside: JsonObject): void;
}

interface CandidateEnd {
  choice: number;
  /** `finishReason`. */
  word: string;
  /** Members that say what the candidate rests on. */
  sources: JsonObject | undefined;
}

const finishWords = {
  stop: 'STOP',
  'stop-sequence': 'STOP',
  // Google has no reason for an answer that ends with calls.
  'tool-calls': 'STOP',
  pause: 'STOP',
  length: 'MAX_TOKENS',
  'context-full': 'MAX_TOKENS',
  'content-filter': 'SAFETY',
} as const satisfies Record<FinishReason, string>;

interface OpenCall {
  id: string;
  name: string;
  argumentsJson: string;
  json: CompleteJson;
  proof: JsonObject;
}

/** Google gives a call whole, so its pieces wait for its end. Pieces of several calls may come in turns. */
class AnswerParts {
  readonly identity: { responseId: string; modelVersion: string };
  readonly lost = new Set<string>();
  readonly #sink: PartSink;
  readonly #showsThoughts: boolean;
  /** By choice, then by call: those that have not been given, in the order of their starts. */
  readonly #open = new Map<number, Map<number, OpenCall>>();
  readonly #reasons = new Map<number, FinishReason>();
  readonly #sources = new Sources(this.lost);
  #usage: Extract<NeutralEvent, { type: 'usage' }> | null = null;
  /** Words of the answer from Google itself. */
  #words: JsonObject | undefined;

  constructor(head: AnswerHead, sink: PartSink) {
    this.identity = { responseId: head.fallbackId, modelVersion: head.model };
    this.#sink = sink;
    this.#showsThoughts = head.echo?.thoughts === 'shown';
  }

  get usage(): JsonObject {
    if (this.#usage === null) return {};
    return membersIn(this.#usage.beside, vendor) ?? wireUsage(this.#usage.usage);
  }

  add(event: NeutralEvent): void {
    switch (event.type) {
      case 'start':
        this.identity.responseId = event.id ?? this.identity.responseId;
        this.identity.modelVersion = event.model ?? this.identity.modelVersion;
        this.#words = membersIn(event.beside, vendor);
        return;
      case 'text-delta':
        if (event.text === '') return;
        this.#sources.text(event.choice, event.text);
        return this.#emit(event.choice, { text: event.text });
      case 'refusal-delta':
        if (event.text !== '') this.#emit(event.choice, { text: event.text });
        return;
      case 'media':
        return this.#emit(event.choice, {
          ...mediaPart(event.media),
          ...proofOf(event.media.signature, event.media.vendor),
        });
      case 'audio-delta':
        if (typeof event.audio.transcript === 'string') this.#emit(event.choice, { text: event.audio.transcript });
        if (typeof event.audio.data === 'string') this.lost.add('audio');
        return;
      case 'citation':
        return this.#sources.cite(event.choice, event.citation);
      case 'vendor-part':
        return this.#vendorPart(event);
      case 'reasoning-delta':
        if (event.text !== '' && this.#showsThoughts) this.#emit(event.choice, { text: event.text, thought: true });
        return;
      case 'reasoning-signature':
        return this.#thoughtProof(event.choice, event.signature, event.vendor);
      case 'redacted-reasoning':
        return this.#thoughtProof(event.choice, event.data, event.vendor + redactedMark);
      case 'text-signature':
        return this.#emit(event.choice, { text: '', ...proofOf(event.signature, event.vendor) });
      case 'tool-call-start':
        return this.#openCall(event);
      case 'tool-call-delta': {
        const call = this.#open.get(event.choice)?.get(event.call);
        if (call === undefined) return;
        call.argumentsJson += event.argumentsJson;
        call.json.add(event.argumentsJson);
        return;
      }
      case 'logprobs': {
        const result = logprobsResultOf(event.logprobs);
        if (result !== null) this.#sink.logprobs(event.choice, result);
        return;
      }
      case 'usage':
        this.#usage = event;
        return;
      case 'finish':
        this.#closeCalls(event.choice, 'whole');
        this.#reasons.set(event.choice, event.reason);
        if (event.filters !== undefined) this.#sources.rate(event.choice, event.filters);
        this.#sources.addMembers(event.choice, membersIn(event.beside, vendor) ?? {});
        return;
      case 'end':
        return this.#end();
      default:
        return;
    }
  }

  #openCall({ choice, call, id, name, signature, vendor }: Extract<NeutralEvent, { type: 'tool-call-start' }>): void {
    this.#closeCalls(choice, 'whole');
    const open = this.#open.get(choice) ?? new Map<number, OpenCall>();
    this.#open.set(choice, open);
    open.set(call, { id, name, argumentsJson: '', json: createCompleteJson(), proof: proofOf(signature, vendor) });
  }

  /** Gives calls up to the first one whose arguments may still go on, or all. */
  #closeCalls(choice: number, which: 'whole' | 'all'): void {
    const open = this.#open.get(choice);
    if (open === undefined) return;
    for (const [call, { id, name, argumentsJson, json, proof }] of open) {
      if (which === 'whole' && !json.complete) return;
      open.delete(call);
      this.#sink.part(choice, { functionCall: { id, name, args: argumentsOf(argumentsJson) }, ...proof });
    }
  }

  #emit(choice: number, part: JsonObject): void {
    this.#closeCalls(choice, 'whole');
    this.#sink.part(choice, part);
  }

  #thoughtProof(choice: number, signature: string | undefined, signer: string | undefined): void {
    if (this.#showsThoughts) this.#emit(choice, { text: '', thought: true, ...proofOf(signature, signer) });
  }

  #vendorPart({ choice, vendor: from, field, block }: Extract<NeutralEvent, { type: 'vendor-part' }>): void {
    if (from !== vendor) {
      if (field !== null) this.lost.add(field);
    } else if (isObject(block.part)) this.#emit(choice, block.part);
    else this.#sources.addMembers(choice, block);
  }

  #end(): void {
    // A provider may say why it stopped before its last call.
    for (const choice of this.#open.keys()) this.#closeCalls(choice, 'all');
    if (this.#reasons.size === 0) this.#reasons.set(0, 'stop');
    this.#usage ??= { type: 'usage', usage: { inputTokens: 0, outputTokens: 0 } };
    const words = [...this.#reasons].sort(([a], [b]) => a - b);
    this.#sink.end(
      words.map(([choice, reason]) => ({ choice, word: finishWords[reason], sources: this.#sources.of(choice) })),
      { ...this.#words, ...this.#sources.promptFeedback },
    );
  }
}

function proofOf(signature: string | undefined, signer: string | undefined): JsonObject {
  if (signature === undefined || signer === undefined) return {};
  return { thoughtSignature: signer === vendor ? signature : sealSignature({ vendor: signer, signature }) };
}

/** Sources of the candidates, and the findings of a filter in them. */
class Sources {
  /** The member of the answer; undefined: nothing is known of the prompt. */
  promptFeedback: JsonObject = {};
  readonly #lost: Set<string>;
  /** Text of each choice, to which the places of its sources refer. */
  readonly #texts: string[] = [];
  readonly #grounding = new Map<number, Grounding>();
  /** Members of a candidate that came from Google itself, by choice. */
  readonly #members = new Map<number, JsonObject>();

  /** `lost` gets the names of parts without a place. */
  constructor(lost: Set<string>) {
    this.#lost = lost;
  }

  text(choice: number, text: string): void {
    this.#texts[choice] = (this.#texts[choice] ?? '') + text;
  }

  cite(choice: number, citation: Citation): void {
    if (citation.vendorPart?.vendor === vendor) return;
    const found = this.#grounding.get(choice) ?? new Grounding();
    this.#grounding.set(choice, found);
    if (!found.add(citation, this.#texts[choice]?.length ?? 0)) this.#lost.add('groundingMetadata');
  }

  addMembers(choice: number, members: JsonObject): void {
    this.#members.set(choice, { ...this.#members.get(choice), ...members });
  }

  /** Findings of Azure's filter in Google's form: a candidate has no place for Azure's members. */
  rate(choice: number, { prompt_filter_results: ofPrompt, content_filter_results: found }: JsonObject): void {
    const ofAnswer = safetyRatings([found ?? null]);
    if (ofAnswer.ratings.length > 0) this.addMembers(choice, { safetyRatings: ofAnswer.ratings });
    if (ofAnswer.lost) this.#lost.add('content_filter_results');
    const prompts = objectsIn(ofPrompt);
    const ofPrompts = safetyRatings(prompts.map(({ content_filter_results: one = null }) => one));
    if (ofPrompts.ratings.length > 0) this.promptFeedback = { promptFeedback: { safetyRatings: ofPrompts.ratings } };
    if (ofPrompts.lost) this.#lost.add('prompt_filter_results');
  }

  of(choice: number): JsonObject | undefined {
    const found = this.#grounding.get(choice);
    if (found === undefined) return this.#members.get(choice);
    return { groundingMetadata: found.metadata(this.#texts[choice] ?? ''), ...this.#members.get(choice) };
  }
}

function mediaPart({ source, vendorPart }: ProducedMedia): JsonObject {
  if (vendorPart?.vendor === vendor) return vendorPart.block;
  return source.kind === 'url'
    ? { fileData: { fileUri: source.url } }
    : { inlineData: { mimeType: source.mediaType, data: source.base64 } };
}

/** Arguments as an object. If the model wrote another text, they are `{"_raw": text}`, never an error. */
function argumentsOf(json: string): JsonObject {
  if (json.trim() === '') return {};
  return argumentsObject(json) ?? { _raw: json };
}

function wireUsage({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage): JsonObject {
  const wire: JsonObject = {
    promptTokenCount: inputTokens,
    // Thoughts are counted apart here, inside output everywhere else.
    candidatesTokenCount: Math.max(0, outputTokens - (reasoningTokens ?? 0)),
    totalTokenCount: inputTokens + outputTokens,
  };
  if (reasoningTokens !== undefined) wire.thoughtsTokenCount = reasoningTokens;
  if (cachedInputTokens !== undefined && cachedInputTokens > 0) wire.cachedContentTokenCount = cachedInputTokens;
  return wire;
}

/** Probabilities of tokens, as Google's clients read them. */
interface LogprobsResult {
  chosenCandidates: JsonObject[];
  topCandidates: JsonObject[];
}

/** OpenAI's log probabilities, which the neutral form has; null when they hold none. */
function logprobsResultOf(logprobs: JsonValue): LogprobsResult | null {
  const content = isObject(logprobs) ? logprobs.content : undefined;
  if (!Array.isArray(content) || content.length === 0) return null;
  const tokens = content.filter(isObject);
  return {
    chosenCandidates: tokens.map(candidateOf),
    topCandidates: tokens.map(({ top_logprobs: top }) => ({
      candidates: Array.isArray(top) ? top.filter(isObject).map(candidateOf) : [],
    })),
  };
}

function candidateOf({ token = '', logprob = null }: JsonObject): JsonObject {
  return { token, logProbability: logprob };
}
