import { openAiResponses } from '../../../formats/dialects/openai-responses/index.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { factsOf } from '../../../kernel/failure-facts.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { Bytes, Delivery, Failed, Pace } from '../../spine/sink.ts';
import { dataOf, ResponseFrames } from './response-frames.ts';
import { cancelledResponse, failedResponse, hasEnded } from './response-states.ts';

/** Characters of frames of one response that are kept for those who follow it; beyond it they only learn of its end. */
const framesCharsMax = 16 * 1024 * 1024;

/** Beyond it the next message has them. */
const messageCharsMax = 1024 * 1024;

/** Receives a run's frames as they come. */
export interface Follower {
  frame(text: string): void;
  end(): void;
}

/** The client of a response in the background: it never leaves before the end, and keeps what it receives. */
export class BackgroundRun implements Delivery {
  readonly id: string;
  readonly tenant: string;
  readonly requestId: string;
  /** The response that callers get now. */
  response: JsonObject;
  disconnected = false;
  readonly cutFor = null;
  committed = false;
  /** Failure with which it ended; null: none, or it runs on. */
  failure: Failure | null = null;
  readonly #input = new ResponseFrames();
  #frames: string[] | null = [];
  /** Frames so far, and their characters. */
  #count = 0;
  #chars = 0;
  #ended = false;
  readonly #followers = new Set<Follower>();
  #disconnectListener: (() => void) | null = null;
  /** The fields of the answer that place it among others: its id, what it continues and how it is kept. */
  readonly #place: JsonObject;
  readonly #nowMs: () => number;

  constructor(facts: { id: string; tenant: string; requestId: string; response: JsonObject; nowMs(): number }) {
    this.id = facts.id;
    this.tenant = facts.tenant;
    this.requestId = facts.requestId;
    this.response = facts.response;
    const { background, store, previous_response_id, conversation } = facts.response;
    this.#place = { id: facts.id, background, store, previous_response_id, ...(conversation && { conversation }) };
    this.#nowMs = facts.nowMs;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** All frames; null: there were too many. */
  get frames(): readonly string[] | null {
    return this.#frames;
  }

  /** The first frames whose number is above `after`, in one message for another process. */
  framesBehind(after: number): readonly string[] {
    const frames = this.#frames ?? [];
    const from = 1 + frames.findLastIndex((frame) => sequenceOf(frame) >= 0 && sequenceOf(frame) <= after);
    let to = from;
    for (let chars = 0; to < frames.length && chars < messageCharsMax; to++) chars += frames[to]?.length ?? 0;
    return frames.slice(from, to);
  }

  onDisconnect(listener: () => void): void {
    this.#disconnectListener = listener;
  }

  /** It takes all at once, and waits in silence. */
  onDrain(): void {}
  expect(): void {}
  start(): void {
    this.committed = true;
  }

  chunk(chunk: Bytes): Pace {
    for (const { text, type } of this.#input.push(chunk)) this.#take(text, type);
    return 'ready';
  }

  end(failed: Failed | null): void {
    if (this.#ended) return;
    this.failure = failed?.failure ?? null;
    if (failed !== null) this.#fail(failed.failure);
    else if (!hasEnded(String(this.response.status))) this.#fail({ kind: 'internal' });
    this.#finish();
  }

  /** Called when the response is cancelled: what runs for it is stopped. */
  cancel(): void {
    if (this.#ended) return;
    this.response = cancelledResponse(this.response);
    this.#publish(`event: response.cancelled\ndata: ${JSON.stringify(this.#event('response.cancelled'))}\n\n`);
    this.#leave();
  }

  /** The server stops, or nobody may have it any more. */
  interrupt(response: JsonObject): void {
    if (this.#ended) return;
    this.response = response;
    this.#leave();
  }

  /** Tells all that was and is to come; returns how to stop. */
  follow(follower: Follower): () => void {
    for (const frame of this.#frames ?? []) follower.frame(frame);
    if (this.#ended) follower.end();
    else this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  #leave(): void {
    this.disconnected = true;
    this.#finish();
    this.#disconnectListener?.();
  }

  #finish(): void {
    this.#ended = true;
    for (const follower of this.#followers) follower.end();
    this.#followers.clear();
  }

  #take(text: string, type: string): void {
    if (this.#ended) return;
    const data = /^response\.(created|queued|in_progress|completed|incomplete|failed)$/.test(type)
      ? dataOf(text)
      : null;
    if (!isObject(data) || !isObject(data.response)) return this.#publish(text);
    this.response = { ...data.response, ...this.#place };
    this.#publish(`event: ${type}\ndata: ${JSON.stringify({ ...data, response: this.response })}\n\n`);
  }

  #fail(failure: Failure): void {
    const { error } = openAiResponses.errorBody(failure, { requestId: this.requestId, nowMs: this.#nowMs() });
    const { message } = factsOf(failure, this.#nowMs());
    this.response = failedResponse(this.response, isObject(error) ? String(error.code) : 'server_error', message);
    this.#publish(`event: response.failed\ndata: ${JSON.stringify(this.#event('response.failed'))}\n\n`);
  }

  #event(type: string): JsonObject {
    return { type, sequence_number: this.#count, response: this.response };
  }

  #publish(frame: string): void {
    this.#count += 1;
    this.#chars += frame.length;
    if (this.#chars > framesCharsMax) this.#frames = null;
    this.#frames?.push(frame);
    for (const follower of this.#followers) follower.frame(frame);
  }
}

/** The number of a frame in its stream; -1 when it has none. */
export function sequenceOf(frame: string): number {
  return Number(/"sequence_number"\s*:\s*(\d+)/.exec(frame)?.[1] ?? -1);
}
