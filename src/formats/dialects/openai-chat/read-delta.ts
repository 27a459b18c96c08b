import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import { producedPicture } from '../../neutral/produced-media.ts';
import { AnswerProofs } from './answer-proofs.ts';
import { readAnnotation } from './citations.ts';
import { listedThought, namedThought, signatureIn, thoughtsIn } from './thoughts.ts';
import { type Call, ToolCallReader } from './tool-call-reader.ts';

/** A choice as far as its deltas change it. */
export interface DeltaState {
  /** Null: it has called no tool yet. */
  toolCalls: ToolCallReader | null;
  /** Id of the answer: ids of calls that come without one begin with it. */
  answerId: JsonValue | undefined;
  /** Its thoughts came as text: a list of them says nothing new. */
  namesThoughts: boolean;
  /** Type of the provider that answers; undefined: nobody wants its proofs. */
  provider: string | undefined;
  /** Null: it has shown none. */
  proofs: AnswerProofs | null;
  /** It named the pages that it rests on. */
  cited: boolean;
  /** Called with each piece of a call, and its call; absent: nobody forwards it. */
  forwarded: ((piece: JsonObject, call: Readonly<Call>) => void) | undefined;
}

/** Appends the events of a `delta`, or of the `message` of a whole answer. */
export function readDelta(delta: JsonObject, choice: number, state: DeltaState, events: NeutralEvent[]): void {
  const before = events.length;
  if (state.provider !== undefined && (delta.reasoning_details ?? delta.thinking_blocks) !== undefined) {
    state.proofs ??= new AnswerProofs(state.provider);
    state.proofs.add(delta);
  }
  const named = namedThought(delta);
  state.namesThoughts ||= named !== '';
  const reasoning = named || (state.namesThoughts ? '' : listedThought(delta));
  if (reasoning !== '') events.push({ type: 'reasoning-delta', choice, text: reasoning });
  const { content } = delta;
  if (typeof content === 'string') {
    if (content !== '') events.push({ type: 'text-delta', choice, text: content });
  } else if (Array.isArray(content)) readParts(content, choice, events);
  if (typeof delta.refusal === 'string' && delta.refusal !== '') {
    events.push({ type: 'refusal-delta', choice, text: delta.refusal });
  }
  if (isObject(delta.audio)) events.push({ type: 'audio-delta', choice, audio: delta.audio });
  // Before the pictures, which end the text in other formats.
  if (Array.isArray(delta.annotations)) {
    state.cited ||= delta.annotations.length > 0;
    for (const one of delta.annotations) if (isObject(one)) events.push(readAnnotation(one, choice));
  }
  const { executed_tools } = delta;
  // Groq's systems run tools themselves.
  if (Array.isArray(executed_tools))
    events.push({ type: 'vendor-part', choice, vendor: 'groq', field: 'executed_tools', block: { executed_tools } });
  if (Array.isArray(delta.images)) readPictures(delta.images, choice, events);
  if (delta.extra_content !== undefined) {
    const proof = signatureIn(delta);
    if ('signature' in proof) events.push({ type: 'text-signature', choice, ...proof });
  }
  if (Array.isArray(delta.tool_calls)) {
    for (const piece of delta.tool_calls) {
      const call = isObject(piece) ? readCall(piece, choice, state, events) : null;
      if (call !== null) state.forwarded?.(piece as JsonObject, call);
    }
  }
  // The older form: one call, no id, no index.
  if (isObject(delta.function_call)) readCall({ index: 0, function: delta.function_call }, choice, state, events);
  state.proofs?.put(events, before, choice);
}

function readCall(piece: JsonObject, choice: number, state: DeltaState, events: NeutralEvent[]): Readonly<Call> | null {
  state.toolCalls ??= new ToolCallReader(choice, state.answerId);
  return state.toolCalls.read(piece, events);
}

/** Pictures as OpenRouter and others tell them, in `images` or among the parts of the content. */
function readPictures(pictures: readonly JsonValue[], choice: number, events: NeutralEvent[]): void {
  for (const one of pictures) {
    const imageUrl = isObject(one) ? (one.image_url ?? one.url) : one;
    const url = isObject(imageUrl) ? imageUrl.url : imageUrl;
    if (typeof url === 'string' && url !== '') events.push({ type: 'media', choice, media: producedPicture(url) });
  }
}

/** Mistral's reasoning models send content as parts, `thinking` among them. Sources (`reference`) have no place elsewhere. */
function readParts(parts: readonly JsonValue[], choice: number, events: NeutralEvent[]): void {
  for (const part of parts) {
    if (!isObject(part)) continue;
    if (part.type === 'text' && typeof part.text === 'string' && part.text !== '') {
      events.push({ type: 'text-delta', choice, text: part.text });
    } else if (part.type === 'refusal' && typeof part.refusal === 'string' && part.refusal !== '') {
      events.push({ type: 'refusal-delta', choice, text: part.refusal });
    } else if (part.type === 'image_url') readPictures([part], choice, events);
    else if (part.type === 'thinking') {
      for (const text of thoughtsIn(part.thinking)) events.push({ type: 'reasoning-delta', choice, text });
    } else if (typeof part.type === 'string' && part.type !== 'text' && part.type !== 'refusal') {
      events.push({ type: 'vendor-part', choice, vendor: 'mistral', field: `content.${part.type}`, block: part });
    }
  }
}
