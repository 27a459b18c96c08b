import { isObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import type { SoundFormat } from './media/sound.ts';

/** The parts of a request that the simulator needs, in whichever dialect it came. */
export interface Prompt {
  model: string;
  delivery: 'whole' | 'stream';
  /** Chat streams only: whether a last chunk tells the usage. */
  usageChunk: 'asked' | 'not-asked';
  inputTokens: number;
  lastUserText: string;
  /** `tool-result`: the conversation ends with one, so that the answer is text unless a call must be made. */
  turn: 'user' | 'tool-result';
  tools: readonly Tool[];
  toolChoice: 'auto' | 'none' | 'required' | { name: string };
  toolCalls: 'parallel' | 'single';
  /** The form of the text: anything, any JSON object, or JSON for a schema. */
  format: 'text' | 'json' | { schema: JsonObject };
  choices: number;
  stop: readonly string[];
  maxTokens: number | null;
  reasoning: 'shown' | 'none';
  /** How many alternatives to tell per token; null when log probabilities were not asked. */
  topLogprobs: number | null;
  /**
   * Texts that are judged or embedded one by one, of moderations, rerank and embeddings; the best `top`, with their text
   * if `itemsShown`.
   */
  items?: readonly string[];
  top?: number;
  itemsShown?: boolean;
  /** Embeddings: length of each vector, and its encoding. */
  dimensions?: number;
  encoding?: 'float' | 'base64';
  /** Input of speech, transcription or images, when it is not a text. */
  speech?: SpeechOutput;
  audio?: AudioInput;
  drawn?: Drawn;
}

export interface SpeechOutput {
  format: SoundFormat;
  ms: number;
}

/** An audio file, and what is wanted of it. */
export interface AudioInput {
  name: string;
  seconds: number;
  task: 'transcribe' | 'translate';
  format: 'json' | 'text' | 'srt' | 'verbose_json' | 'vtt' | 'diarized_json';
  /** ISO 639-1. */
  language: string;
  segments: boolean;
  words: 'none' | 'apart' | 'in segments';
}

export interface Drawn {
  count: number;
  width: number;
  height: number;
  form: 'url' | 'base64';
  /** Drafts of a streamed picture. */
  partials: number;
}

export interface Tool {
  name: string;
  schema: JsonObject;
  /** `text`: its calls carry text, which `input` of the schema's object holds. Default: JSON. */
  takes?: 'text';
  /** Namespace of the tool, in Responses. */
  namespace?: string;
}

/** The fault of a request, for a 400. */
export interface Refusal {
  refused: string;
  param: string | null;
}

export type ReadPrompt = (body: JsonObject, pathModel: string | null) => Prompt | Refusal;

/** The text in a message's content: a string, or parts with `text` in them. */
export function textOf(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  let text = '';
  for (const part of content) {
    if (isObject(part) && typeof part.text === 'string') text += text === '' ? part.text : `\n${part.text}`;
  }
  return text;
}

const charsPerToken = 4;
const messageTokens = 4;
const imageTokens = 85;

/**
 * A plausible count for a message: a token per 4 characters, 4 for its frame, 85 for each part that is no text. A result of
 * a tool counts as a message, which it is in other formats.
 */
export function inputTokensOf(content: JsonValue | undefined): number {
  let chars = 0;
  let others = 0;
  let results = 0;
  if (typeof content === 'string') chars = content.length;
  else if (Array.isArray(content)) {
    for (const part of content) {
      if (isObject(part) && typeof part.text === 'string') chars += part.text.length;
      else if (isObject(part) && part.type === 'tool_result') results += inputTokensOf(part.content);
      else others += 1;
    }
  }
  return messageTokens + Math.ceil(chars / charsPerToken) + others * imageTokens + results;
}

/** Tokens that the tools' descriptions cost. */
export function toolTokensOf(tools: JsonValue | undefined): number {
  return Array.isArray(tools) && tools.length > 0 ? Math.ceil(JSON.stringify(tools).length / charsPerToken) : 0;
}

export function stringsOf(value: JsonValue | undefined): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

export function isReasoningModel(model: string): boolean {
  return model.includes('reason');
}
