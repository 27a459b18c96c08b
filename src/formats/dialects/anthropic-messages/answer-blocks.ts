import type { JsonObject } from '../../../kernel/json.ts';
import { type Citation, citationsMax } from '../../neutral/citation.ts';
import { type FinishReason, membersIn, type NeutralEvent } from '../../neutral/event.ts';
import type { ProducedMedia } from '../../neutral/produced-media.ts';
import type { ServerToolStep } from '../../neutral/server-tool.ts';
import type { Usage } from '../../neutral/usage.ts';
import { type CompleteJson, createCompleteJson } from '../complete-json.ts';
import type { BlockSink, OpenedBlock } from './block-sink.ts';
import type { AnswerOptions } from './read-request.ts';
import { type Sealed, seal, thoughtItself, withProof } from './sealed-proof.ts';
import { callBlock, resultBlock } from './server-tool-blocks.ts';
import { vendor } from './wire.ts';

/** Events that wait for the call before them to be complete; those of one call together, whatever order they came in. */
interface Waiting {
  call: number | null;
  events: NeutralEvent[];
}

/** Interleaved calls are rare and short; beyond this the call before them is taken to be complete. */
const waitingEventsMax = 10_000;

/**
 * Puts the events of an answer in Anthropic's order: `thoughts` says what of its reasoning is shown. Only the first
 * choice has a place in this format. `owner`: the format of the blocks, whose own proofs go on as they are.
 */
export function createAnswerBlocks(
  thoughts: AnswerOptions['thoughts'],
  sink: BlockSink,
  owner: string = vendor,
): (event: NeutralEvent) => void {
  const blocks = new BlockWriter(thoughts, sink, owner);
  const waiting: Waiting[] = [];
  let waitingEvents = 0;
  let finished: Extract<NeutralEvent, { type: 'finish' }> | null = null;
  let started: Extract<NeutralEvent, { type: 'start' }> | null = null;
  let counted: Extract<NeutralEvent, { type: 'usage' }> | null = null;
  let over = false;

  function wait(event: NeutralEvent): void {
    const call = event.type === 'tool-call-start' || event.type === 'tool-call-delta' ? event.call : null;
    const group = call === null ? waiting.at(-1) : waiting.find((one) => one.call === call);
    if (group !== undefined && group.call === call) group.events.push(event);
    else waiting.push({ call, events: [event] });
    waitingEvents++;
    if (waitingEvents > waitingEventsMax) release('all');
  }

  function release(how: 'what is due' | 'all'): void {
    while (how === 'all' || !blocks.callGoesOn()) {
      const due = waiting.shift();
      if (due === undefined) break;
      for (const event of due.events) blocks.write(event);
    }
    if (waiting.length === 0) waitingEvents = 0;
  }

  function end(): void {
    over = true;
    release('all');
    const beside = { ...membersIn(finished?.beside, owner), usage: membersIn(counted?.beside, owner) };
    const members = { ...beside, ...finished?.filters };
    blocks.end(finished?.reason ?? 'stop', finished?.stopSequence ?? null, counted?.usage ?? null, members);
  }

  return (event) => {
    if (over || ('choice' in event && event.choice !== 0)) return;
    if (event.type === 'start') started = event;
    else if (event.type === 'usage') counted = event;
    // Anthropic counts the input before it says anything.
    else if (event.type !== 'failed') blocks.start(started?.id ?? null, started?.model ?? null, counted?.usage ?? null);
    switch (event.type) {
      case 'start':
      case 'usage':
        return;
      case 'finish':
        finished ??= event;
        return;
      case 'end':
        return end();
      case 'failed':
        over = true;
        return;
      case 'tool-call-delta':
        if (blocks.isAt(event.call)) {
          blocks.write(event);
          if (waiting.length > 0) release('what is due');
          return;
        }
        return waiting.length > 0 ? wait(event) : blocks.write(event);
      default:
        return waiting.length > 0 || blocks.callGoesOn() ? wait(event) : blocks.write(event);
    }
  };
}

type ToolStart = NeutralEvent & { type: 'tool-call-start' };

type Open =
  | { type: 'text' | 'redacted_thinking' | 'whole' }
  | { type: 'thinking'; sealedText: string; signed: boolean }
  | { type: 'tool_use'; call: number; json: CompleteJson };

/** Writes events as blocks, in the order in which they are given: opens, fills and closes them. */
class BlockWriter {
  readonly #thoughts: AnswerOptions['thoughts'];
  readonly #sink: BlockSink;
  /** The format that the blocks are written in: proofs of all others are sealed. */
  readonly #owner: string;
  #started = false;
  #open: Open | null = null;
  #blocks = 0;
  #calls = 0;
  #refused = false;
  /** Sources that came before the text which rests on them. */
  #citations: Citation[] = [];
  /** Members of the answer that came apart from its blocks. */
  #apart: JsonObject | undefined;

  constructor(thoughts: AnswerOptions['thoughts'], sink: BlockSink, owner: string) {
    this.#thoughts = thoughts;
    this.#sink = sink;
    this.#owner = owner;
  }

  /** Idempotent. */
  start(id: string | null, model: string | null, usage: Usage | null): void {
    if (this.#started) return;
    this.#started = true;
    this.#sink.start(id, model, usage);
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
      case 'text-signature':
        if (this.#thoughts === 'hidden') return this.#sink.lose('signature');
        this.#close();
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
        else if (this.#citations.length < citationsMax) this.#citations.push(event.citation);
        else this.#sink.lose('citations');
        return;
      case 'media':
        return this.#media(event.media);
      case 'audio-delta':
        if (typeof event.audio.transcript === 'string') this.#text(event.audio.transcript);
        if (typeof event.audio.data === 'string') this.#sink.lose('audio');
        return;
      case 'server-tool':
        return this.#serverTool(event.step);
      case 'vendor-part':
        if (event.vendor === this.#owner)
          return event.apart === true ? this.#member(event.block) : this.#whole(event.block);
        if (event.field !== null) this.#sink.lose(event.field);
        return;
    }
  }

  /** True if this call's block is the open one. */
  isAt(call: number): boolean {
    return this.#open?.type === 'tool_use' && this.#open.call === call;
  }

  /** True if an open call's arguments may still go on. */
  callGoesOn(): boolean {
    return this.#open?.type === 'tool_use' && !this.#open.json.complete;
  }

  end(reason: FinishReason, stopSequence: string | null, usage: Usage | null, members: JsonObject): void {
    // The contract promises a first block with a text, also of an answer that says nothing.
    if (this.#blocks === 0) this.#openText();
    this.#close();
    if (this.#citations.length > 0) this.#sink.lose('citations');
    this.#sink.end(reasonOf(reason, this.#calls, this.#refused), stopSequence, usage, { ...members, ...this.#apart });
  }

  #member(block: JsonObject): void {
    this.#apart = { ...this.#apart, ...block };
  }

  #opened(block: OpenedBlock, state: Open): void {
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

  #text(piece: string): void {
    if (piece === '') return;
    if (this.#open?.type !== 'text') this.#openText();
    this.#sink.text(piece);
  }

  #openText(): void {
    this.#opened({ type: 'text' }, { type: 'text' });
    for (const citation of this.#citations) this.#sink.citation(citation);
    if (this.#citations.length > 0) this.#citations = [];
  }

  /** Writes pictures as the blocks of a caller's pictures. */
  #media({ kind, source }: ProducedMedia): void {
    if (kind !== 'image') return this.#sink.lose(kind);
    const { base64, mediaType, url } = { base64: '', mediaType: '', url: '', ...source };
    const wire = source.kind === 'url' ? { type: 'url', url } : { type: 'base64', media_type: mediaType, data: base64 };
    this.#whole({ type: 'image', source: wire });
  }

  #whole(block: JsonObject): void {
    this.#opened({ type: 'whole', block }, { type: 'whole' });
    this.#close();
  }

  /** Writes a tool that this gateway runs, in Anthropic's blocks. */
  #serverTool(step: ServerToolStep): void {
    if (step.at === 'called') {
      const block = callBlock(step.call);
      if (block === null) return;
      this.#opened({ type: 'tool_use', ...block.opened }, { type: 'whole' });
      this.#sink.inputJson(block.inputJson);
      this.#close();
    } else if (step.at === 'done') {
      const block = resultBlock(step.call, step.result);
      if (block !== null) this.#whole(block);
    }
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
    this.#sink.signature(signer === this.#owner ? payload : seal({ vendor: signer, payload }));
    this.#close();
  }

  #redacted(thought: Sealed): void {
    if (this.#thoughts === 'hidden') return;
    const data = thought.vendor === this.#owner ? thought.payload : seal(thought);
    this.#opened({ type: 'redacted_thinking', data }, { type: 'redacted_thinking' });
    this.#close();
  }

  #toolStart({ id, name, call, signature: payload, vendor: signer, beside }: ToolStart): void {
    const proof = payload === undefined || signer === undefined ? null : { vendor: signer, payload };
    this.#calls++;
    this.#opened(
      { type: 'tool_use', id: withProof(id, proof), name, beside: membersIn(beside, this.#owner) ?? {} },
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
