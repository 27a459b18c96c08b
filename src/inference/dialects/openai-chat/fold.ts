import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { FinishReason, NeutralEvent } from '../../neutral/event.ts';
import type { Usage } from '../../neutral/usage.ts';
import type { AnswerFold, AnswerHead } from '../dialect.ts';
import { annotationOf } from './annotation.ts';
import { wireFinishReason } from './finish-reason.ts';
import { extraContentOf } from './thought-signature.ts';
import { wireUsage } from './token-usage.ts';

interface Choice {
  text: string | null;
  reasoning: string;
  refusal: string | null;
  calls: { id: string; name: string; argumentsJson: string; extra: JsonObject }[];
  annotations: JsonObject[];
  audio: JsonObject | null;
  logprobs: { content: JsonValue[] | null; refusal: JsonValue[] | null } | null;
  reason: FinishReason | null;
}

/** Events as one whole `chat.completion`: what a client would put together from `encodeStream`'s chunks. */
export function fold(head: AnswerHead): AnswerFold {
  const choices = new Map<number, Choice>();
  let id = head.fallbackId;
  let model = head.model;
  let createdS = head.createdS;
  let usage: Usage | null = null;

  function choiceAt(index: number): Choice {
    let choice = choices.get(index);
    if (choice === undefined) {
      choice = {
        text: null,
        reasoning: '',
        refusal: null,
        calls: [],
        annotations: [],
        audio: null,
        logprobs: null,
        reason: null,
      };
      choices.set(index, choice);
    }
    return choice;
  }

  function add(event: NeutralEvent): void {
    switch (event.type) {
      case 'start':
        id = event.id ?? id;
        model = event.model ?? model;
        createdS = event.createdS ?? createdS;
        return;
      case 'usage':
        usage = event.usage;
        return;
      case 'end':
      case 'failed':
      case 'part-end':
      case 'reasoning-signature':
      case 'redacted-reasoning':
        return;
      default:
        addTo(choiceAt(event.choice), event);
    }
  }

  return {
    add,
    result() {
      if (choices.size === 0) choiceAt(0);
      const indexes = [...choices.keys()].sort((a, b) => a - b);
      return {
        id,
        object: 'chat.completion',
        created: createdS,
        model,
        choices: indexes.map((index) => wireChoice(index, choices.get(index)!)),
        usage: wireUsage(usage),
      };
    },
  };
}

type ContentEvent = Exclude<
  NeutralEvent,
  { type: 'start' | 'usage' | 'end' | 'failed' | 'part-end' | 'reasoning-signature' | 'redacted-reasoning' }
>;

function addTo(choice: Choice, event: ContentEvent): void {
  switch (event.type) {
    case 'text-delta':
      choice.text = (choice.text ?? '') + event.text;
      return;
    case 'reasoning-delta':
      choice.reasoning += event.text;
      return;
    case 'refusal-delta':
      choice.refusal = (choice.refusal ?? '') + event.text;
      return;
    case 'tool-call-start':
      choice.calls[event.call] = { id: event.id, name: event.name, argumentsJson: '', extra: extraContentOf(event) };
      return;
    case 'tool-call-delta': {
      const call = choice.calls[event.call];
      if (call !== undefined) call.argumentsJson += event.argumentsJson;
      return;
    }
    case 'audio-delta':
      choice.audio = joinedAudio(choice.audio, event.audio);
      return;
    case 'citation': {
      const annotation = annotationOf(event.citation, choice.text?.length ?? 0);
      if (annotation !== null) choice.annotations.push(annotation);
      return;
    }
    case 'logprobs':
      choice.logprobs = joinedLogprobs(choice.logprobs, event.logprobs);
      return;
    case 'finish':
      choice.reason ??= event.reason;
  }
}

/** Data and transcript come in pieces; the other members replace what was said before. */
function joinedAudio(before: JsonObject | null, piece: JsonObject): JsonObject {
  if (before === null) return { ...piece };
  const joined = { ...before, ...piece };
  for (const name of ['data', 'transcript']) {
    const [earlier, later] = [before[name], piece[name]];
    if (typeof earlier === 'string') joined[name] = typeof later === 'string' ? earlier + later : earlier;
  }
  return joined;
}

function joinedLogprobs(before: Choice['logprobs'], piece: JsonValue): Choice['logprobs'] {
  if (!isObject(piece)) return before;
  return {
    content: joinedList(before?.content ?? null, piece.content),
    refusal: joinedList(before?.refusal ?? null, piece.refusal),
  };
}

function joinedList(before: JsonValue[] | null, piece: JsonValue | undefined): JsonValue[] | null {
  if (!Array.isArray(piece)) return before;
  return before === null ? piece : before.concat(piece);
}

function wireChoice(index: number, choice: Choice): JsonObject {
  const calls = choice.calls.filter((call) => call !== undefined);
  const message: JsonObject = { role: 'assistant', content: choice.text, refusal: choice.refusal };
  // The contract promises a text; only tool calls, a refusal or audio may stand in its place.
  if (choice.text === null && calls.length === 0 && choice.refusal === null && choice.audio === null)
    message.content = '';
  if (choice.reasoning !== '') message.reasoning_content = choice.reasoning;
  if (calls.length > 0) {
    message.tool_calls = calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.argumentsJson === '' ? '{}' : call.argumentsJson },
      ...call.extra,
    }));
  }
  if (choice.annotations.length > 0) message.annotations = choice.annotations;
  if (choice.audio !== null) message.audio = choice.audio;
  const reason = choice.reason ?? (calls.length > 0 ? 'tool-calls' : 'stop');
  return { index, message, logprobs: choice.logprobs, finish_reason: wireFinishReason(reason) };
}
