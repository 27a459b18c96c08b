import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import type { UsageOf } from '../dialect.ts';
import { faultInside } from '../fault-inside.ts';
import { classOfError } from './error-class.ts';
import { neutralFinishReason } from './finish-reason.ts';
import { readError } from './read-error.ts';
import { neutralUsage } from './token-usage.ts';
import { createToolCallReader, type ToolCallReader } from './tool-call-reader.ts';

/** OpenAI's own bound on `n`. */
const choicesMax = 128;

export const usual: UsageOf = (body) => body.usage;

interface Choice {
  toolCalls: ToolCallReader;
  finished: boolean;
}

/** Turns the JSON objects of an answer, chunks or the whole one, into events. One per answer. */
export interface ChunkReader {
  /** Appends the events of `chunk`; after a `failed` it appends nothing more. */
  read(chunk: JsonObject, events: NeutralEvent[]): void;
  /** Whether at least one choice began, and every one that did has its finish reason. */
  isComplete(): boolean;
  hasStarted(): boolean;
  /** Marks what never got a finish reason as stopped: a whole answer cannot have been cut. */
  finishAll(events: NeutralEvent[]): void;
  skipped(): number;
}

/** `usageOf`: as the vendor tells what was used. */
export function createChunkReader(usageOf: UsageOf = usual): ChunkReader {
  const choices = new Map<number, Choice>();
  let started = false;
  let failed = false;
  let skipped = 0;

  function start(chunk: JsonObject, events: NeutralEvent[]): void {
    started = true;
    events.push({
      type: 'start',
      id: typeof chunk.id === 'string' && chunk.id !== '' ? chunk.id : null,
      model: typeof chunk.model === 'string' && chunk.model !== '' ? chunk.model : null,
      createdS: typeof chunk.created === 'number' && chunk.created > 0 ? Math.floor(chunk.created) : null,
    });
  }

  function choiceAt(index: number, answerId: JsonValue | undefined): Choice {
    let choice = choices.get(index);
    if (choice === undefined) {
      // Ids that must be made up are unlike those of other answers in the same conversation.
      const salt = typeof answerId === 'string' ? answerId.replace(/\W/g, '').slice(-12) : '';
      choice = { toolCalls: createToolCallReader(index, `call_${salt}_${index}_`), finished: false };
      choices.set(index, choice);
    }
    return choice;
  }

  function readChoice(value: JsonObject, chunk: JsonObject, events: NeutralEvent[]): Fault | null {
    const index = typeof value.index === 'number' ? value.index : 0;
    const said = value.delta ?? value.message;
    if (!Number.isInteger(index) || index < 0 || index >= choicesMax) {
      skipped += 1;
      return null;
    }
    const choice = choiceAt(index, chunk.id);
    if (isObject(said)) readDelta(said, index, choice, events);
    if (isObject(value.logprobs)) events.push({ type: 'logprobs', choice: index, logprobs: value.logprobs });
    const word = value.finish_reason;
    if (typeof word !== 'string' || word === '' || choice.finished) return null;
    const reason = neutralFinishReason(word);
    if (reason === null) {
      // OpenRouter says why beside the word.
      const error = isObject(value.error) ? readError({ error: value.error }) : null;
      if (error !== null) return faultInside(value, error, classOfError);
      return fault('transient', `the upstream broke its answer off (${word.slice(0, 40)})`);
    }
    finish(choice, index, reason, value.stop_reason, events);
    return null;
  }

  function finish(
    choice: Choice,
    index: number,
    reason: Extract<NeutralEvent, { type: 'finish' }>['reason'],
    stopReason: JsonValue | undefined,
    events: NeutralEvent[],
  ): void {
    choice.finished = true;
    skipped += choice.toolCalls.unfinished();
    // Several servers, and OpenAI itself for a forced tool, say `stop` after a tool call.
    if (reason === 'stop' && choice.toolCalls.count() > 0) {
      events.push({ type: 'finish', choice: index, reason: 'tool-calls', stopSequence: null });
    } else if (reason === 'stop' && typeof stopReason === 'string') {
      // vLLM names the stop string that matched.
      events.push({ type: 'finish', choice: index, reason: 'stop-sequence', stopSequence: stopReason });
    } else events.push({ type: 'finish', choice: index, reason, stopSequence: null });
  }

  return {
    read(chunk, events) {
      if (failed) return;
      const error = readError(chunk);
      if (error !== null) {
        failed = true;
        events.push({ type: 'failed', fault: faultInside(chunk, error, classOfError) });
        return;
      }
      const usage = neutralUsage(usageOf(chunk));
      const items = Array.isArray(chunk.choices) ? chunk.choices : null;
      if (items === null && usage === null) {
        skipped += 1;
        return;
      }
      // Azure's first chunk holds filter results alone, without an id: the answer begins with the next one.
      if (!started && (usage !== null || (items !== null && items.length > 0))) start(chunk, events);
      for (const item of items ?? []) {
        if (!isObject(item)) {
          skipped += 1;
          continue;
        }
        const broken = readChoice(item, chunk, events);
        if (broken !== null) {
          failed = true;
          events.push({ type: 'failed', fault: broken });
          return;
        }
      }
      if (usage !== null) events.push({ type: 'usage', usage });
    },
    isComplete() {
      for (const choice of choices.values()) if (!choice.finished) return false;
      return choices.size > 0;
    },
    hasStarted: () => choices.size > 0,
    finishAll(events) {
      for (const [index, choice] of choices) if (!choice.finished) finish(choice, index, 'stop', undefined, events);
    },
    skipped: () => skipped,
  };
}

function readDelta(delta: JsonObject, choice: number, state: Choice, events: NeutralEvent[]): void {
  // vLLM and OpenRouter send both names with the same text.
  const reasoning = delta.reasoning_content ?? delta.reasoning;
  if (typeof reasoning === 'string' && reasoning !== '')
    events.push({ type: 'reasoning-delta', choice, text: reasoning });
  const { content } = delta;
  if (typeof content === 'string') {
    if (content !== '') events.push({ type: 'text-delta', choice, text: content });
  } else if (Array.isArray(content)) readParts(content, choice, events);
  if (typeof delta.refusal === 'string' && delta.refusal !== '') {
    events.push({ type: 'refusal-delta', choice, text: delta.refusal });
  }
  if (isObject(delta.audio)) events.push({ type: 'audio-delta', choice, audio: delta.audio });
  if (Array.isArray(delta.annotations)) {
    for (const citation of delta.annotations)
      if (isObject(citation)) events.push({ type: 'citation', choice, citation });
  }
  if (Array.isArray(delta.tool_calls)) {
    for (const call of delta.tool_calls) if (isObject(call)) state.toolCalls.read(call, events);
  }
  // The older form: one call, no id, no index.
  if (isObject(delta.function_call)) state.toolCalls.read({ index: 0, function: delta.function_call }, events);
}

/** Mistral's reasoning models send content as parts, `thinking` among them. */
function readParts(parts: readonly JsonValue[], choice: number, events: NeutralEvent[]): void {
  for (const part of parts) {
    if (!isObject(part)) continue;
    if (part.type === 'text' && typeof part.text === 'string' && part.text !== '') {
      events.push({ type: 'text-delta', choice, text: part.text });
    } else if (part.type === 'refusal' && typeof part.refusal === 'string' && part.refusal !== '') {
      events.push({ type: 'refusal-delta', choice, text: part.refusal });
    } else if (part.type === 'thinking') {
      const thoughts = Array.isArray(part.thinking) ? part.thinking : [part.thinking];
      for (const thought of thoughts) {
        const text = isObject(thought) ? thought.text : thought;
        if (typeof text === 'string' && text !== '') events.push({ type: 'reasoning-delta', choice, text });
      }
    }
  }
}
