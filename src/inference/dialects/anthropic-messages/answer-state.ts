import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import { fault } from '../../neutral/outcome.ts';
import type { DecodeOptions } from '../dialect.ts';
import { faultOfError } from './errors.ts';
import { finishReasonOf } from './stop-reason.ts';
import { noCounts, takeCounts, usageOf } from './usage.ts';
import { stringOr, vendor } from './wire.ts';

type OpenBlock =
  | { kind: 'text' }
  /** The last signature said wins: Anthropic sends it once, at the block's end. */
  | { kind: 'thinking'; signature: string }
  | { kind: 'tool'; call: number; input: JsonValue | undefined; argumentsSeen: boolean }
  /** The forced call that carries structured output: its arguments are text. */
  | { kind: 'unwrapped'; input: JsonValue | undefined; argumentsSeen: boolean }
  /** Server tools and what is not known yet: not for callers of other dialects. */
  | { kind: 'ignored' };

const openBlocksMax = 256;

/** Anthropic's stream events, one parsed object at a time, as neutral ones. Never throws, whatever it is given. */
export interface AnswerState {
  /** Appends what `data` says; `unreadable` when it is no object of this format. */
  read(data: JsonObject, events: NeutralEvent[]): 'read' | 'unreadable';
  readonly over: boolean;
}

export function createAnswerState(options: DecodeOptions | undefined): AnswerState {
  const unwrapTool = options?.unwrapTool;
  const open = new Map<number, OpenBlock>();
  const counts = noCounts();
  let started = false;
  let finished = false;
  let toolCalls = 0;
  let unwrapped = 0;
  let lastPart: 'text' | 'thinking' | null = null;
  /** message_start may already carry why it stopped, when a whole answer is replayed as a stream. */
  let early: JsonObject | null = null;

  function start(message: JsonObject | null, events: NeutralEvent[]): void {
    if (started) return;
    started = true;
    events.push({
      type: 'start',
      id: stringOr(message?.id, null),
      model: stringOr(message?.model, null),
      createdS: null,
    });
  }

  function beginPart(kind: 'text' | 'thinking', events: NeutralEvent[]): void {
    if (lastPart === kind) events.push({ type: 'part-end', choice: 0 });
    lastPart = kind;
  }

  function openBlock(index: number, block: JsonObject, events: NeutralEvent[]): void {
    if (open.has(index)) closeBlock(index, events);
    switch (block.type) {
      case 'text':
        beginPart('text', events);
        open.set(index, { kind: 'text' });
        text(block.text, events);
        if (Array.isArray(block.citations)) for (const citation of block.citations) cite(citation, events);
        return;
      case 'thinking':
        beginPart('thinking', events);
        open.set(index, { kind: 'thinking', signature: stringOr(block.signature, '') });
        reasoning(block.thinking, events);
        return;
      case 'redacted_thinking':
        lastPart = null;
        open.set(index, { kind: 'ignored' });
        if (typeof block.data === 'string') {
          events.push({ type: 'redacted-reasoning', choice: 0, data: block.data, vendor });
        }
        return;
      case 'tool_use': {
        const name = stringOr(block.name, '');
        lastPart = null;
        if (name === unwrapTool && name !== '') {
          unwrapped += 1;
          open.set(index, { kind: 'unwrapped', input: block.input, argumentsSeen: false });
          return;
        }
        const call = toolCalls++;
        open.set(index, { kind: 'tool', call, input: block.input, argumentsSeen: false });
        events.push({ type: 'tool-call-start', choice: 0, call, id: stringOr(block.id, ''), name });
        return;
      }
      default:
        open.set(index, { kind: 'ignored' });
    }
  }

  function closeBlock(index: number, events: NeutralEvent[]): void {
    const block = open.get(index);
    if (block === undefined) return;
    open.delete(index);
    if (block.kind === 'thinking' && block.signature !== '') {
      events.push({ type: 'reasoning-signature', choice: 0, signature: block.signature, vendor });
    } else if ((block.kind === 'tool' || block.kind === 'unwrapped') && !block.argumentsSeen) {
      // A call without arguments streams nothing or ""; a whole answer has them in the block itself.
      argumentsDelta(block, isObject(block.input) ? JSON.stringify(block.input) : '{}', events);
    }
  }

  function argumentsDelta(
    block: OpenBlock & { kind: 'tool' | 'unwrapped' },
    argumentsJson: string,
    events: NeutralEvent[],
  ): void {
    if (argumentsJson === '') return;
    block.argumentsSeen = true;
    if (block.kind === 'tool') events.push({ type: 'tool-call-delta', choice: 0, call: block.call, argumentsJson });
    else events.push({ type: 'text-delta', choice: 0, text: argumentsJson });
  }

  function delta(index: number, change: JsonObject, events: NeutralEvent[]): 'read' | 'unreadable' {
    const block = open.get(index);
    switch (change.type) {
      case 'text_delta':
        // Some servers leave out content_block_start: text must not be lost for that.
        if (block === undefined) openBlock(index, { type: 'text' }, events);
        else if (block.kind !== 'text') return 'read';
        text(change.text, events);
        return 'read';
      case 'thinking_delta':
        if (block === undefined) openBlock(index, { type: 'thinking' }, events);
        else if (block.kind !== 'thinking') return 'read';
        reasoning(change.thinking, events);
        return 'read';
      case 'signature_delta':
        if (block?.kind === 'thinking') block.signature = stringOr(change.signature, block.signature);
        return 'read';
      case 'input_json_delta':
        if (block === undefined) return 'unreadable';
        if (block.kind === 'tool' || block.kind === 'unwrapped') {
          argumentsDelta(block, stringOr(change.partial_json, ''), events);
        }
        return 'read';
      case 'citations_delta':
        cite(change.citation, events);
        return 'read';
      default:
        return 'read';
    }
  }

  function text(value: JsonValue | undefined, events: NeutralEvent[]): void {
    if (typeof value === 'string' && value !== '') events.push({ type: 'text-delta', choice: 0, text: value });
  }

  function reasoning(value: JsonValue | undefined, events: NeutralEvent[]): void {
    if (typeof value === 'string' && value !== '') events.push({ type: 'reasoning-delta', choice: 0, text: value });
  }

  function cite(citation: JsonValue | undefined, events: NeutralEvent[]): void {
    if (isObject(citation)) events.push({ type: 'citation', choice: 0, citation });
  }

  function finish(stop: JsonObject | null, events: NeutralEvent[]): void {
    if (finished || stop === null || typeof stop.stop_reason !== 'string') return;
    finished = true;
    for (const index of [...open.keys()]) closeBlock(index, events);
    const reason = finishReasonOf(stop.stop_reason, toolCalls, unwrapped);
    events.push({ type: 'finish', choice: 0, reason, stopSequence: stringOr(stop.stop_sequence, null) });
  }

  function fail(message: string, events: NeutralEvent[]): void {
    state.over = true;
    events.push({ type: 'failed', fault: fault('malformed', message) });
  }

  // A plain field: an accessor in a literal would make a hidden class for every answer, which holds it until a full GC.
  const state = {
    over: false,
    read(data: JsonObject, events: NeutralEvent[]): 'read' | 'unreadable' {
      if (state.over) return 'read';
      switch (data.type) {
        case 'message_start': {
          const message = isObject(data.message) ? data.message : null;
          const first = !started;
          start(message, events);
          if (takeCounts(counts, message?.usage)) events.push({ type: 'usage', usage: usageOf(counts) });
          if (first && message !== null) {
            if (Array.isArray(message.content)) blocks(message.content, events);
            if (typeof message.stop_reason === 'string') early = message;
          }
          return 'read';
        }
        case 'content_block_start': {
          if (typeof data.index !== 'number' || !isObject(data.content_block)) return 'unreadable';
          start(null, events);
          if (open.size >= openBlocksMax) fail(`The answer has more than ${openBlocksMax} open blocks.`, events);
          else openBlock(data.index, data.content_block, events);
          return 'read';
        }
        case 'content_block_delta':
          if (typeof data.index !== 'number' || !isObject(data.delta)) return 'unreadable';
          start(null, events);
          return delta(data.index, data.delta, events);
        case 'content_block_stop':
          if (typeof data.index !== 'number') return 'unreadable';
          closeBlock(data.index, events);
          return 'read';
        case 'message_delta':
          start(null, events);
          finish(isObject(data.delta) ? data.delta : null, events);
          if (takeCounts(counts, data.usage)) events.push({ type: 'usage', usage: usageOf(counts) });
          else if (counts.impossible) events.push({ type: 'usage', usage: usageOf(counts), impossible: true });
          return 'read';
        case 'message_stop':
          start(null, events);
          finish(early, events);
          // Without a reason nobody can tell a whole answer from a cut one.
          if (!finished) fail('The answer ended without a stop reason.', events);
          else events.push({ type: 'end' });
          state.over = true;
          return 'read';
        case 'error':
          state.over = true;
          events.push({ type: 'failed', fault: faultOfError(data) });
          return 'read';
        // Anthropic asks clients to ignore event types they do not know; ping is one that means nothing.
        default:
          return typeof data.type === 'string' ? 'read' : 'unreadable';
      }
    },
  };
  return state;

  function blocks(content: readonly JsonValue[], events: NeutralEvent[]): void {
    // Negative indexes: a stream's own blocks begin at 0 again.
    for (let i = 0; i < content.length; i++) {
      const block = content[i];
      if (!isObject(block)) continue;
      openBlock(-1 - i, block, events);
      closeBlock(-1 - i, events);
    }
  }
}
