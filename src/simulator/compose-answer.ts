import type { JsonValue } from '../kernel/json.ts';
import { fillerBytes, fillerTokens, mockText, mockTranscript, zeroKeyText, zeroKeyTranscript } from './answer-text.ts';
import { exampleOf } from './example-json.ts';
import type { FaultSpec } from './faults/fault-spec.ts';
import type { Prompt, Tool } from './prompt.ts';
import { countTokens, firstTokens } from './tokens.ts';

/** The simulator's answer, before any dialect. */
export interface Answer extends AnswerStamp {
  model: string;
  choices: readonly Choice[];
  inputTokens: number;
  /** Part of `inputTokens`. */
  cachedTokens: number;
  /** Reasoning included. */
  outputTokens: number;
  reasoningTokens: number;
}

export interface Choice {
  reasoning: string;
  text: string;
  calls: readonly Call[];
  finish: 'stop' | 'stop-sequence' | 'length' | 'tool-calls';
  stopSequence: string | null;
}

export interface Call {
  name: string;
  argumentsJson: string;
  /** See `Tool.takes`. */
  takes?: 'text';
  namespace?: string;
}

/** `zero-key` replaces a provider that nobody has configured, and says so; `mock` is the fault upstream. */
export type Purpose = 'zero-key' | 'mock';

export function firstChoice({ choices: [choice] }: Answer): Choice {
  if (choice === undefined) throw new Error('The answer has no choice.');
  return choice;
}

/** The speaker. `name` distinguishes mocks; '' when there is but one. */
export interface Voice {
  purpose: Purpose;
  name: string;
}

export interface AnswerStamp {
  /** Grows by one with every answer; dialects make their ids of it. */
  serial: number;
  /**
   * Address that the request came to, such as `http://127.0.0.1:4199`; links of an answer point there. Null when links
   * would lead past the gateway, to a port that its callers may not reach.
   */
  origin: string | null;
  createdS: number;
}

const reasoningText = 'The user wants an answer, and there is no model here, so a plain sentence will do.';

export function composeAnswer(prompt: Prompt, spec: FaultSpec, voice: Voice, stamp: AnswerStamp): Answer {
  const choices: Choice[] = [];
  let outputTokens = 0;
  let reasoningTokens = 0;
  for (let at = 0; at < prompt.choices; at += 1) {
    const choice = composeChoice(prompt, spec, voice, at);
    choices.push(choice);
    const thought = countTokens(choice.reasoning);
    reasoningTokens += thought;
    outputTokens += thought + countTokens(choice.text);
    for (const call of choice.calls) outputTokens += countTokens(call.name) + countTokens(call.argumentsJson);
  }
  return {
    serial: stamp.serial,
    origin: stamp.origin,
    model: prompt.model,
    createdS: stamp.createdS,
    choices,
    inputTokens: prompt.inputTokens,
    cachedTokens: Math.min(spec.cached ?? 0, prompt.inputTokens),
    outputTokens,
    reasoningTokens,
  };
}

function composeChoice(prompt: Prompt, spec: FaultSpec, voice: Voice, at: number): Choice {
  const thinks = prompt.reasoning === 'shown' || spec['slow-reasoning'] !== undefined;
  const budget = prompt.maxTokens ?? Number.POSITIVE_INFINITY;
  const reasoning = thinks ? firstTokens(spec.think ?? reasoningText, budget) : '';
  const calls = callsFor(prompt, spec, voice);
  if (calls.length > 0) return { reasoning, text: spec.text ?? '', calls, finish: 'tool-calls', stopSequence: null };

  const full = textFor(prompt, spec, voice, at);
  let end = full.length;
  let stopSequence: string | null = null;
  for (const sequence of prompt.stop) {
    const found = sequence === '' ? -1 : full.indexOf(sequence);
    if (found < 0 || found >= end) continue;
    end = found;
    stopSequence = sequence;
  }
  const stopped = end < full.length ? full.slice(0, end) : full;
  const left = thinks ? Math.max(0, budget - countTokens(reasoning)) : budget;
  const text = left === Number.POSITIVE_INFINITY ? stopped : firstTokens(stopped, left);
  if (text.length < stopped.length) return { reasoning, text, calls, finish: 'length', stopSequence: null };
  return { reasoning, text, calls, finish: stopSequence === null ? 'stop' : 'stop-sequence', stopSequence };
}

function textFor(prompt: Prompt, spec: FaultSpec, voice: Voice, at: number): string {
  if (spec.text !== undefined) return spec.text;
  if (spec.size !== undefined) return fillerBytes(spec.size);
  if (spec.tokens !== undefined) return fillerTokens(spec.tokens);
  if (prompt.format !== 'text') return JSON.stringify(jsonFor(prompt, voice));
  if (spec.chunks !== undefined) return fillerTokens(spec.chunks);
  const text = plainText(prompt, voice);
  return at === 0 ? text : `${text} (choice ${at + 1})`;
}

function jsonFor(prompt: Prompt, voice: Voice): JsonValue {
  const words = fillWords(voice);
  if (typeof prompt.format === 'object') return exampleOf(prompt.format.schema, words);
  return { answer: plainText(prompt, voice) };
}

function plainText(prompt: Prompt, voice: Voice): string {
  if (prompt.audio !== undefined) {
    const { name, seconds } = prompt.audio;
    return voice.purpose === 'zero-key' ? zeroKeyTranscript(seconds) : mockTranscript(voice.name, name, seconds);
  }
  return voice.purpose === 'zero-key' ? zeroKeyText(prompt.lastUserText) : mockText(voice.name, prompt.lastUserText);
}

/** Text of JSON strings that a schema leaves open. */
function fillWords(voice: Voice): string {
  return voice.purpose === 'zero-key' ? '[simulated]' : 'mock';
}

/** The tools that the fault names, that the request forces, or that its last words ask for as `call <name>`. */
function callsFor(prompt: Prompt, spec: FaultSpec, voice: Voice): Call[] {
  const { toolChoice, tools } = prompt;
  let called: readonly Tool[];
  if (spec.call !== undefined) called = tools.filter((tool) => tool.name === spec.call);
  else if (tools.length === 0 || toolChoice === 'none') return [];
  else if (typeof toolChoice === 'object') called = prompt.tools.filter((tool) => tool.name === toolChoice.name);
  // Where one must be called behind a result, the last: gateways put the tool there that carries the answer.
  else if (prompt.turn === 'tool-result') called = toolChoice === 'required' ? tools.slice(-1) : [];
  else {
    called = prompt.tools.filter((tool) => requests(prompt.lastUserText, tool.name));
    if (called.length === 0 && toolChoice === 'required') called = prompt.tools.slice(0, 1);
  }
  if (prompt.toolCalls === 'single') called = called.slice(0, 1);
  const words = fillWords(voice);
  // A tool that takes an address gets the one that the user names.
  const named = /https?:\/\/[^\s"'<>]+/.exec(prompt.lastUserText)?.[0];
  return called.map((tool) => ({
    name: tool.name,
    argumentsJson: JSON.stringify(exampleOf({ type: 'object', ...tool.schema }, words, named)),
    ...(tool.takes !== undefined && { takes: tool.takes }),
    ...(tool.namespace !== undefined && { namespace: tool.namespace }),
  }));
}

function requests(text: string, tool: string): boolean {
  const phrase = `call ${tool}`;
  for (let at = text.indexOf(phrase); at >= 0; at = text.indexOf(phrase, at + 1)) {
    // `call get` must not be found in `call get_weather`.
    if (!/[\w-]/.test(text.charAt(at + phrase.length))) return true;
  }
  return false;
}
