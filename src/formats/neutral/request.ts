import type { JsonObject } from '../../kernel/json.ts';
import type { ImageNeeds } from './image.ts';
import type { Loss } from './loss.ts';
import type { TranscriptionNeeds } from './transcript.ts';

/**
 * A conversation request between dialects: a superset of their features. Messages are in the caller's order. A feature
 * of one vendor is kept under `extensions` and goes back to that vendor only.
 */
export interface NeutralRequest {
  /** The alias as the caller wrote it; encoders put the target's own model id instead. */
  model: string;
  messages: readonly NeutralMessage[];
  stream: boolean;
  /** The caller asked for a final usage chunk of a stream (OpenAI's stream_options.include_usage). */
  includeUsage: boolean;
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  /** Always a list here, whatever the caller wrote. */
  stop?: readonly string[];
  /** Choices wanted, 1 if absent. */
  n?: number;
  seed?: number;
  logprobs?: boolean;
  topLogprobs?: number;
  logitBias?: JsonObject;
  tools?: readonly NeutralTool[];
  toolChoice?: NeutralToolChoice;
  parallelToolCalls?: boolean;
  /** The oldest turns may be left out where the input is too long for the model; absent: they may not. */
  truncation?: 'auto';
  responseFormat?: NeutralResponseFormat;
  reasoning?: NeutralReasoning;
  /** End-user id for ledger and log, ≤ 256 characters, without control characters. */
  user?: string;
  /** Hints that change nothing of the result (service_tier, store, metadata, prompt_cache_key…), by wire name. */
  hints?: JsonObject;
  /** Unknown top-level fields, by dialect id: restored in that dialect, dropped and listed elsewhere. */
  extensions?: Readonly<Record<string, JsonObject>>;
  /** Parts without a place in this form, such as members of messages and tools that only the caller's dialect knows. */
  lost?: readonly Loss[];
}

export type NeutralRole = 'system' | 'developer' | 'user' | 'assistant' | 'tool';

/** One turn, in parts. */
export interface NeutralMessage {
  role: NeutralRole;
  /** Never a bare string here: a string is one text part. */
  parts: readonly NeutralPart[];
  name?: string;
  /** Index of the message that it comes from, in the list before `pairToolCalls`; absent: its index in this list. */
  place?: number;
}

/** A piece of a message; `cache` is cache_control as the caller wrote it. */
export type NeutralPart =
  | { type: 'text'; text: string; cache?: JsonObject }
  | { type: 'image'; source: MediaSource; detail?: string; cache?: JsonObject }
  | { type: 'audio'; format: string; base64: string }
  /** `cited`: the answer is to say which of its words rest on it. */
  | { type: 'document'; source: MediaSource; name?: string; cache?: JsonObject; cited?: true }
  | { type: 'refusal'; text: string }
  /** `signature` is the vendor's proof over the text; it goes back only to the dialect named by `vendor`. */
  | { type: 'reasoning'; text: string; signature?: string; vendor?: string }
  | { type: 'redacted-reasoning'; data: string; vendor: string }
  /**
   * `argumentsJson` is the text as written, '{}' when empty; it may be invalid JSON (a model wrote it). `signature` is
   * a proof over the thought that led to the call, of use to the dialect named by `vendor` alone.
   */
  | {
      type: 'tool-call';
      id: string;
      name: string;
      argumentsJson: string;
      cache?: JsonObject;
      signature?: string;
      vendor?: string;
      /** A call of a `custom` tool (`NeutralTool.custom`): its text is the member `input` of `argumentsJson`. */
      custom?: true | 'openai-chat';
    }
  | { type: 'tool-result'; callId: string; parts: readonly NeutralPart[]; isError: boolean; cache?: JsonObject }
  /** A block that only `vendor`'s dialect knows, kept whole. */
  | { type: 'vendor'; vendor: string; block: JsonObject };

/** Source of the bytes of an image or document. */
export type MediaSource =
  | { kind: 'base64'; mediaType: string; base64: string }
  | { kind: 'url'; url: string }
  | { kind: 'file-id'; fileId: string };

export interface NeutralTool {
  name: string;
  description?: string;
  /** JSON Schema, whole (`$ref`, `anyOf`, …); absent means no parameters. */
  parameters?: JsonObject;
  strict?: boolean;
  cache?: JsonObject;
  /**
   * A tool that takes text, not JSON, where a dialect knows such; `format` is what the text must be, `description` the
   * caller's own. Elsewhere it is the function that `parameters` and the other description say: one string, `input`. `of`:
   * the dialect of chat completions has it so too, as the caller does, who has it at `path`; absent: most providers of that
   * dialect do not.
   */
  custom?: { format?: JsonObject; description?: string; of?: 'openai-chat'; path?: string };
}

export type NeutralToolChoice =
  | { type: 'auto' }
  | { type: 'none' }
  | { type: 'required' }
  | { type: 'tool'; name: string };

export type NeutralResponseFormat =
  | { type: 'text' }
  | { type: 'json-object' }
  | { type: 'json-schema'; name: string; schema: JsonObject; strict?: boolean; description?: string };

export interface NeutralReasoning {
  /** OpenAI's word: none, minimal, low, medium, high, xhigh. */
  effort?: string;
  /** Anthropic's word where it is above `high`, which is the effort then: few others take it. */
  above?: string;
  /** Anthropic's budget in tokens. */
  budgetTokens?: number;
  /** OpenAI's word for how much of the thoughts to show: auto, concise, detailed. */
  summary?: string;
}

/** Facts that routing needs to filter targets; cheap to compute from a NeutralRequest or a raw body. */
export interface RequestNeeds {
  vision: boolean;
  audioIn: boolean;
  /** A PDF or another file that is no text comes with it. Absent: none. */
  files?: boolean;
  tools: boolean;
  logprobs: boolean;
  jsonSchema: boolean;
  reasoning: boolean;
  /** Texts are given at which the answer ends. */
  stop?: boolean;
  n: number;
  stream: boolean;
  /** Rough size of the input in tokens (UTF-8 bytes / 4, media left out). */
  inputTokensEstimate: number;
  maxOutputTokens: number | null;
  /** Vectors are asked for, of texts or tokens, of a length (null = the model's own). */
  embedding?: { inputs: 'texts' | 'tokens'; dimensions: number | null };
  /** Pictures are asked for. */
  image?: ImageNeeds;
  /** A transcript is wanted. */
  transcription?: TranscriptionNeeds;
}

/** Fields that ask nothing of a target. */
export const noNeeds: RequestNeeds = {
  vision: false,
  audioIn: false,
  tools: false,
  logprobs: false,
  jsonSchema: false,
  reasoning: false,
  n: 1,
  stream: false,
  inputTokensEstimate: 0,
  maxOutputTokens: null,
};
