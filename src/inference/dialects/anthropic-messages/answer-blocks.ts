import type { JsonObject } from '../../../kernel/json.ts';
import type { FinishReason, NeutralEvent } from '../../neutral/event.ts';
import type { Usage } from '../../neutral/usage.ts';
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
  | { type: 'tool_use'; call: number; json: ReturnType<typeof createCompleteJson> };

/** Events that wait for the call before them to be complete; those of one call together, whatever order they came in. */
interface Waiting {
  call: number | null;
  events: NeutralEvent[];
}

/** Interleaved calls are rare and short; beyond this the call before them is taken to be complete. */
const waitingEventsMax = 10_000;

/**
 * Puts the events of an answer in Anthropic's order: `thoughts` says what of its reasoning is shown. Only the first
 * choice has a place in this format.
 */
export function createAnswerBlocks(
  thoughts: 'shown' | 'sealed' | 'hidden',
  sink: BlockSink,
): (event: NeutralEvent) => void {
  let started = false;
  let open: Open | null = null;
  const waiting: Waiting[] = [];
  let waitingEvents = 0;
  let blocks = 0;
  let calls = 0;
  let refused = false;
  let finished: { reason: FinishReason; stopSequence: string | null } | null = null;
  let usage: Usage | null = null;
  let over = false;

  function start(id: string | null, model: string | null): void {
    if (started) return;
    started = true;
    sink.start(id, model);
  }

  function opened(block: OpenedBlock, state: Open): void {
    start(null, null);
    close();
    open = state;
    blocks++;
    sink.open(block);
  }

  function close(): void {
    if (open === null) return;
    // Every thought is signed in this format: the AI SDK forgets one whose stream says nothing of it.
    if (open.type === 'thinking' && !open.signed) {
      sink.signature(open.sealedText === '' ? '' : seal({ vendor: thoughtItself, payload: open.sealedText }));
    }
    open = null;
    sink.close();
  }

  function text(said: string): void {
    if (said === '') return;
    if (open?.type !== 'text') opened({ type: 'text' }, { type: 'text' });
    sink.text(said);
  }

  /** The open thinking block, a new one if need be. */
  function thinking(): Open & { type: 'thinking' } {
    if (open?.type === 'thinking') return open;
    const state: Open & { type: 'thinking' } = { type: 'thinking', sealedText: '', signed: false };
    opened({ type: 'thinking' }, state);
    return state;
  }

  function signature({ vendor: signer, payload }: Sealed): void {
    const block = thinking();
    // The vendor's proof says all that its text would.
    block.signed = true;
    sink.signature(signer === vendor ? payload : seal({ vendor: signer, payload }));
    close();
  }

  function toolStart(event: ToolStart): void {
    const { id, name, call, signature: payload, vendor: signer } = event;
    const proof = payload === undefined || signer === undefined ? null : { vendor: signer, payload };
    calls++;
    opened(
      { type: 'tool_use', id: withProof(id, proof), name },
      { type: 'tool_use', call, json: createCompleteJson() },
    );
  }

  /** One event whose turn it is. */
  function apply(event: NeutralEvent): void {
    switch (event.type) {
      case 'text-delta':
        return text(event.text);
      case 'refusal-delta':
        refused = true;
        return text(event.text);
      case 'reasoning-delta':
        if (thoughts === 'hidden' || event.text === '') return;
        if (thoughts === 'sealed') thinking().sealedText += event.text;
        else {
          thinking();
          sink.thinking(event.text);
        }
        return;
      case 'reasoning-signature':
        if (thoughts !== 'hidden') signature({ vendor: event.vendor, payload: event.signature });
        return;
      case 'redacted-reasoning': {
        if (thoughts === 'hidden') return;
        const data = event.vendor === vendor ? event.data : seal({ vendor: event.vendor, payload: event.data });
        opened({ type: 'redacted_thinking', data }, { type: 'redacted_thinking' });
        return close();
      }
      case 'tool-call-start':
        return toolStart(event);
      case 'tool-call-delta':
        if (open?.type !== 'tool_use' || open.call !== event.call || event.argumentsJson === '') return;
        open.json.add(event.argumentsJson);
        sink.inputJson(event.argumentsJson);
        return;
      case 'part-end':
        if (open?.type !== 'tool_use') close();
        return;
      case 'citation':
        if (open?.type === 'text') sink.citation(event.citation);
        return;
    }
  }

  /** Whether a call is open whose arguments may still go on. */
  function callGoesOn(): boolean {
    return open?.type === 'tool_use' && !open.json.complete;
  }

  function wait(event: NeutralEvent): void {
    const call = event.type === 'tool-call-start' || event.type === 'tool-call-delta' ? event.call : null;
    const group = call === null ? waiting.at(-1) : waiting.find((one) => one.call === call);
    if (group !== undefined && group.call === call) group.events.push(event);
    else waiting.push({ call, events: [event] });
    waitingEvents++;
    if (waitingEvents > waitingEventsMax) release('all');
  }

  function release(how: 'what is due' | 'all'): void {
    while (waiting.length > 0 && (how === 'all' || !callGoesOn()))
      for (const event of waiting.shift()!.events) apply(event);
    if (waiting.length === 0) waitingEvents = 0;
  }

  function end(): void {
    over = true;
    release('all');
    // The contract promises a first block with a text, also of an answer that says nothing.
    if (blocks === 0) opened({ type: 'text' }, { type: 'text' });
    close();
    sink.end(reasonOf(finished?.reason ?? 'stop', calls, refused), finished?.stopSequence ?? null, usage);
  }

  return (event) => {
    if (over || ('choice' in event && event.choice !== 0)) return;
    switch (event.type) {
      case 'start':
        return start(event.id, event.model);
      case 'usage':
        usage = event.usage;
        return;
      case 'finish':
        finished ??= { reason: event.reason, stopSequence: event.stopSequence };
        return;
      case 'end':
        return end();
      case 'failed':
        over = true;
        return;
      case 'tool-call-delta':
        if (open?.type === 'tool_use' && open.call === event.call) {
          apply(event);
          if (waiting.length > 0) release('what is due');
          return;
        }
        return waiting.length > 0 ? wait(event) : apply(event);
      default:
        return waiting.length > 0 || callGoesOn() ? wait(event) : apply(event);
    }
  };
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

const quote = 0x22;
const backslash = 0x5c;

/** Whether the pieces of a JSON object that come one by one add up to a whole one. */
interface CompleteJson {
  add(piece: string): void;
  readonly complete: boolean;
}

/** Watches brackets alone, and keeps nothing of the text. What is no object or array is never complete. */
function createCompleteJson(): CompleteJson {
  let depth = 0;
  let inString = false;
  let escaped = false;
  // A plain field: an accessor in a literal would make a hidden class for every call.
  const state = {
    complete: false,
    add(piece: string): void {
      for (let i = 0; i < piece.length; i++) {
        const code = piece.charCodeAt(i);
        if (inString) {
          if (escaped) escaped = false;
          else if (code === backslash) escaped = true;
          else if (code === quote) inString = false;
        } else if (code === quote) inString = true;
        else if (code === 0x7b || code === 0x5b) depth++;
        else if (code === 0x7d || code === 0x5d) {
          depth--;
          if (depth === 0) state.complete = true;
        }
      }
    },
  };
  return state;
}
