import type { JsonObject } from '../../../kernel/json.ts';
import type { FinishReason, NeutralEvent } from '../../neutral/event.ts';
import type { Usage } from '../../neutral/usage.ts';
import { type CompleteJson, createCompleteJson } from './complete-json.ts';
import type { AnswerWishes } from './read-request.ts';
import { type Sealed, seal, thoughtItself, withProof } from './seal.ts';
import { vendor } from './wire.ts';

/** How a block is opened; the events after it fill it. */
export type OpenedBlock =
  | { type: 'text' }
  | { type: 'thinking' }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; id: string; name: string };

/** Takes an answer block by block: one is open at a time, each is closed before the next. */
export interface BlockSink {
  start(id: string | null, model: string | null): void;
  open(block: OpenedBlock): void;
  text(text: string): void;
  thinking(text: string): void;
  signature(signature: string): void;
  inputJson(json: string): void;
  citation(citation: JsonObject): void;
  close(): void;
  end(reason: FinishReason, stopSequence: string | null, usage: Usage | null): void;
}

type ToolStart = NeutralEvent & { type: 'tool-call-start' };

type Open =
  | { type: 'text' | 'redacted_thinking' }
  | { type: 'thinking'; sealedText: string; signed: boolean }
  | { type: 'tool_use'; call: number; json: CompleteJson };

/** Writes events as blocks, in the order in which they are given: opens, fills and closes them. */
export class BlockWriter {
  readonly #thoughts: AnswerWishes['thoughts'];
  readonly #sink: BlockSink;
  #started = false;
  #open: Open | null = null;
  #blocks = 0;
  #calls = 0;
  #refused = false;

  constructor(thoughts: AnswerWishes['thoughts'], sink: BlockSink) {
    this.#thoughts = thoughts;
    this.#sink = sink;
  }

  /** Idempotent. */
  start(id: string | null, model: string | null): void {
    if (this.#started) return;
    this.#started = true;
    this.#sink.start(id, model);
  }

  write(event: NeutralEvent): void {
    switch (event.type) {
      case 'text-delta':
        return this.#text(event.text);
      case 'refusal-delta':
        this.#refused = true;
        return this.#text(event.text);
      case 'reasoning-delta':
        return this.#thought(event.text);
      case 'reasoning-signature':
        return this.#signature({ vendor: event.vendor, payload: event.signature });
      case 'redacted-reasoning':
        return this.#redacted({ vendor: event.vendor, payload: event.data });
      case 'tool-call-start':
        return this.#toolStart(event);
      case 'tool-call-delta':
        if (this.#open?.type !== 'tool_use' || this.#open.call !== event.call || event.argumentsJson === '') return;
        this.#open.json.add(event.argumentsJson);
        return this.#sink.inputJson(event.argumentsJson);
      case 'part-end':
        if (this.#open?.type !== 'tool_use') this.#close();
        return;
      case 'citation':
        if (this.#open?.type === 'text') this.#sink.citation(event.citation);
        return;
    }
  }

  /** Whether this call's block is the open one. */
  isAt(call: number): boolean {
    return this.#open?.type === 'tool_use' && this.#open.call === call;
  }

  /** Whether a call is open whose arguments may still go on. */
  callGoesOn(): boolean {
    return this.#open?.type === 'tool_use' && !this.#open.json.complete;
  }

  end(reason: FinishReason, stopSequence: string | null, usage: Usage | null): void {
    // The contract promises a first block with a text, also of an answer that says nothing.
    if (this.#blocks === 0) this.#opened({ type: 'text' }, { type: 'text' });
    this.#close();
    this.#sink.end(reasonOf(reason, this.#calls, this.#refused), stopSequence, usage);
  }

  #opened(block: OpenedBlock, state: Open): void {
    this.start(null, null);
    this.#close();
    this.#open = state;
    this.#blocks++;
    this.#sink.open(block);
  }

  #close(): void {
    const open = this.#open;
    if (open === null) return;
    // Every thought is signed in this format: the AI SDK forgets one whose stream says nothing of it.
    if (open.type === 'thinking' && !open.signed) {
      this.#sink.signature(open.sealedText === '' ? '' : seal({ vendor: thoughtItself, payload: open.sealedText }));
    }
    this.#open = null;
    this.#sink.close();
  }

  #text(said: string): void {
    if (said === '') return;
    if (this.#open?.type !== 'text') this.#opened({ type: 'text' }, { type: 'text' });
    this.#sink.text(said);
  }

  #thought(text: string): void {
    if (this.#thoughts === 'hidden' || text === '') return;
    const block = this.#thinking();
    if (this.#thoughts === 'sealed') block.sealedText += text;
    else this.#sink.thinking(text);
  }

  /** The open thinking block, a new one if need be. */
  #thinking(): Open & { type: 'thinking' } {
    if (this.#open?.type === 'thinking') return this.#open;
    const state: Open & { type: 'thinking' } = { type: 'thinking', sealedText: '', signed: false };
    this.#opened({ type: 'thinking' }, state);
    return state;
  }

  #signature({ vendor: signer, payload }: Sealed): void {
    if (this.#thoughts === 'hidden') return;
    const block = this.#thinking();
    // The vendor's proof says all that its text would.
    block.signed = true;
    this.#sink.signature(signer === vendor ? payload : seal({ vendor: signer, payload }));
    this.#close();
  }

  #redacted(thought: Sealed): void {
    if (this.#thoughts === 'hidden') return;
    const data = thought.vendor === vendor ? thought.payload : seal(thought);
    this.#opened({ type: 'redacted_thinking', data }, { type: 'redacted_thinking' });
    this.#close();
  }

  #toolStart({ id, name, call, signature: payload, vendor: signer }: ToolStart): void {
    const proof = payload === undefined || signer === undefined ? null : { vendor: signer, payload };
    this.#calls++;
    this.#opened(
      { type: 'tool_use', id: withProof(id, proof), name },
      { type: 'tool_use', call, json: createCompleteJson() },
    );
  }
}

/** Clients run tools by the reason: it says tool-calls where a call was made, and nowhere else. */
function reasonOf(reason: FinishReason, calls: number, refused: boolean): FinishReason {
  switch (reason) {
    case 'stop':
    case 'stop-sequence':
      return calls > 0 ? 'tool-calls' : refused ? 'content-filter' : reason;
    case 'tool-calls':
      return calls > 0 ? reason : 'stop';
    default:
      return reason;
  }
}
