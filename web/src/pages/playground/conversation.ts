// A conversation as the page knows it, whichever format it is sent in.

import { FieldProblem } from '../../parts/forms/typed.ts';
import { newId } from '../../parts/new-id.ts';

export interface Picture {
  name: string;
  /** `data:image/png;base64,…` */
  dataUrl: string;
}

export interface ToolCall {
  id: string;
  /** Its index in the format; only tells calls apart. */
  place: number;
  name: string;
  argumentsJson: string;
  /** The person's answer for the tool; null while there is none. */
  result: string | null;
}

export interface UserTurn {
  role: 'user';
  id: string;
  text: string;
  pictures: readonly Picture[];
}

export interface AssistantTurn {
  role: 'assistant';
  id: string;
  text: string;
  reasoning: string;
  /** Signature that Anthropic wants back with the reasoning. */
  signature: string | null;
  calls: readonly ToolCall[];
  /** Null while it comes. */
  ending: Ending | null;
  facts: Facts;
}

export type Turn = UserTurn | AssistantTurn;

export type Ending =
  | { kind: 'complete'; finish: string | null }
  | { kind: 'stopped' }
  /** The stream broke off, or ended without its end. */
  | { kind: 'cut' }
  | { kind: 'failed'; message: string };

export interface Facts {
  startedMs: number;
  firstMs: number | null;
  /** Null while it runs. */
  ms: number | null;
  inputTokens: number | null;
  outputTokens: number | null;
  requestId: string | null;
  provider: string | null;
  /** From the request's record, a moment after the end; null when no price is known. */
  costUsd: number | null;
  /** Parts that the provider did not get. */
  dropped: string | null;
}

/** Settings of every turn. Numbers as typed; '' leaves one out. */
export interface Settings {
  system: string;
  temperature: string;
  topP: string;
  maxTokens: string;
  reasoning: '' | 'low' | 'medium' | 'high';
  stop: string;
  /** A JSON array of `{name, description, parameters}`; '' for none. */
  tools: string;
  /** A JSON object of further fields of the body. */
  more: string;
}

export const noSettings: Settings = {
  system: '',
  temperature: '',
  topP: '',
  maxTokens: '',
  reasoning: '',
  stop: '',
  tools: '',
  more: '',
};

export interface Tool {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

/** One step of an answer that streams. */
export type Step =
  | { type: 'text' | 'reasoning' | 'signature'; text: string }
  | { type: 'call'; at: number; id?: string; name?: string; argumentsJson: string }
  | { type: 'usage'; inputTokens?: number | undefined; outputTokens?: number | undefined }
  | { type: 'finish'; reason: string }
  | { type: 'end' }
  | { type: 'failed'; message: string };

export type Json = Record<string, unknown>;

export function newAnswer(startedMs: number): AssistantTurn {
  return {
    role: 'assistant',
    id: newId(),
    text: '',
    reasoning: '',
    signature: null,
    calls: [],
    ending: null,
    facts: {
      startedMs,
      firstMs: null,
      ms: null,
      inputTokens: null,
      outputTokens: null,
      requestId: null,
      provider: null,
      costUsd: null,
      dropped: null,
    },
  };
}

/** The answer after one more step. */
export function afterStep(answer: AssistantTurn, step: Step, nowMs: number): AssistantTurn {
  const { facts } = answer;
  const begun = facts.firstMs === null ? { ...facts, firstMs: nowMs - facts.startedMs } : facts;
  switch (step.type) {
    case 'text':
      return { ...answer, text: answer.text + step.text, facts: begun };
    case 'reasoning':
      return { ...answer, reasoning: answer.reasoning + step.text, facts: begun };
    case 'signature':
      return { ...answer, signature: (answer.signature ?? '') + step.text };
    case 'call': {
      const known = answer.calls.some(({ place }) => place === step.at);
      const fresh = { id: '', place: step.at, name: '', argumentsJson: '', result: null };
      const calls = (known ? answer.calls : [...answer.calls, fresh]).map((call) =>
        call.place === step.at
          ? {
              ...call,
              id: step.id ?? call.id,
              name: step.name ?? call.name,
              argumentsJson: call.argumentsJson + step.argumentsJson,
            }
          : call,
      );
      return { ...answer, calls, facts: begun };
    }
    case 'usage': {
      const { inputTokens = facts.inputTokens, outputTokens = facts.outputTokens } = step;
      return { ...answer, facts: { ...facts, inputTokens, outputTokens } };
    }
    case 'finish':
      return { ...answer, ending: { kind: 'complete', finish: step.reason } };
    case 'end':
      return { ...answer, ending: answer.ending ?? { kind: 'complete', finish: null } };
    case 'failed':
      return { ...answer, ending: { kind: 'failed', message: step.message } };
  }
}

/** Throws the fault of the text, in a sentence that names the field. */
export function toolsOf(text: string): Tool[] {
  const tools = jsonOf(text, 'tools');
  if (!Array.isArray(tools))
    throw new FieldProblem('tools', 'Expected a JSON array of {name, description, parameters}.');
  return tools.map((tool: unknown, at) => {
    const { name, description, parameters } = (typeof tool === 'object' && tool !== null ? tool : {}) as Json;
    if (typeof name !== 'string') throw new FieldProblem('tools', `Tool ${at + 1} has no name.`);
    return {
      name,
      description: typeof description === 'string' ? description : '',
      parameters: (typeof parameters === 'object' && parameters) || { type: 'object', properties: {} },
    } as Tool;
  });
}

export function moreOf(text: string): Json {
  const more = jsonOf(text, 'more');
  if (typeof more !== 'object' || more === null || Array.isArray(more)) {
    throw new FieldProblem('more', 'Expected a JSON object, for example {"seed": 7}.');
  }
  return more as Json;
}

function jsonOf(text: string, field: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FieldProblem(field, `This is not valid JSON: ${(error as Error).message}`);
  }
}

/** Without undefined members. */
export function errorMessage(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function stopsOf(text: string): string[] | undefined {
  const stops = text.split('\n').filter((line) => line !== '');
  return stops.length === 0 ? undefined : stops;
}
