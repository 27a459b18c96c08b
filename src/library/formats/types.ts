/*
 * Types of `culvert-gateway/formats`. The package ships this file as it is, so it imports nothing.
 */

/** Formats in which an application can write a request and read an answer. */
export type CallerFormat =
  | 'openai-chat'
  | 'openai-responses'
  | 'anthropic-messages'
  | 'gemini'
  | 'cohere-chat'
  | 'ollama';

/** Formats in which a provider takes a request and gives an answer. Servers of Ollama take `openai-chat`. */
export type ProviderFormat =
  | 'openai-chat'
  | 'openai-responses'
  | 'anthropic-messages'
  | 'gemini'
  | 'cohere-chat'
  | 'bedrock-converse';

/** A JSON object, as `JSON.parse` gives it. */
export type Body = Record<string, unknown>;

/** A part that the other format cannot say. */
export interface Dropped {
  /** Its path in the words of the format that it came from, such as `messages[0].name` or `generationConfig.topK`. */
  field: string;
  /**
   * `unsupported`: the other format has no place for it. `clamped`: its value was moved into the other's bounds.
   * `narrowed`: a part of its value is left. `unknown`: nobody knows the field.
   */
  why: 'unknown' | 'unsupported' | 'clamped' | 'narrowed';
}

/** Settings of a conversion of a request. */
export interface RequestOptions {
  /** Model id that the provider gets. Default: that of the body. Gemini's format has it in the path: name it here. */
  model?: string;
  /** Whether a stream is wanted, where the format says so in its path (`gemini`). Default: what the body says. */
  stream?: boolean;
  /** Largest output of the model in tokens, where it is known: larger requested values are lowered to it. */
  maxOutputTokens?: number;
  /** Fields of the provider's format that this provider refuses. They are left out and listed. */
  omit?: readonly string[];
}

/** Facts of a request that its answer depends on: plain JSON, to be handed on and not to be read. */
export interface AnswerFacts {
  readonly [fact: string]: unknown;
}

export interface ConvertedRequest {
  /** The body for the provider. Gemini's and Bedrock's have their model in the path. */
  body: Body;
  dropped: readonly Dropped[];
  /** Whether the request asks for a stream. */
  stream: boolean;
  /** Hand it to `convertAnswer` or `convertStream`. */
  answer: AnswerFacts;
}

/** Settings of a conversion of an answer. */
export interface AnswerOptions {
  /** `answer` of the converted request. Without it, tools that were renamed keep the provider's names. */
  answer?: AnswerFacts;
  /** Model name that the answer shows. Default: what the provider called itself. */
  model?: string;
  /** Id of the answer where the provider gave none. Default: `converted`. */
  id?: string;
  /** Seconds since 1970 where the provider gave none. Default: 0. */
  createdS?: number;
}

export interface ConvertedAnswer {
  body: Body;
  /** Parts of the answer that the caller's format has no place for. */
  dropped: readonly Dropped[];
}

/** Settings of a conversion of a stream. */
export interface StreamOptions extends AnswerOptions {
  /**
   * How the provider's bytes are framed: its Content-Type. Default: `text/event-stream`, and
   * `application/vnd.amazon.eventstream` of `bedrock-converse`.
   */
  contentType?: string;
  /** Whether the caller asked for a usage chunk. Default: as the request says, else true. */
  includeUsage?: boolean;
}

/** One stream on its way from a provider's format to a caller's. */
export interface StreamConverter {
  /** Content-Type of what it gives. */
  readonly contentType: string;
  /** Takes bytes as they came, cut anywhere, and gives the text for the caller; '' when they show nothing yet. */
  push(chunk: Uint8Array | string): string;
  /** The rest, at the end of the bytes. A stream that broke off ends with an error in the caller's format. */
  end(): string;
  /** Why the answer broke off; null: it did not. */
  readonly failed: string | null;
  /** Parts that the caller's format has no place for; whole after `end`. */
  readonly dropped: readonly Dropped[];
}

/** Settings of a conversion of an error. */
export interface ErrorOptions {
  /** HTTP status of the provider's answer. Default: 502. */
  status?: number;
  /** Request id that the error shows. Default: `converted`. */
  id?: string;
}

/** Content of a `FormatError`. */
export interface FormatErrorFacts {
  /** The field at fault, in the words of the format that it came from; null: none is. */
  readonly param: string | null;
  /** HTTP status that says it to a caller. */
  readonly status: number;
}
