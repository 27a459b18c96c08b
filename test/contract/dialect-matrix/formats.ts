import type { JsonObject } from '../../../src/kernel/json.ts';

export const callerIds = ['openai-chat', 'anthropic-messages', 'openai-responses', 'gemini'] as const;
export type CallerId = (typeof callerIds)[number];

export const upstreamIds = ['openai-chat', 'anthropic-messages', 'openai-responses', 'gemini'] as const;
export type UpstreamId = (typeof upstreamIds)[number];

/** `asked-whole`: a whole answer by a target with `stream: false`; other whole answers are put together from a stream. */
export const deliveries = ['whole', 'stream', 'asked-whole'] as const;
export type Delivery = (typeof deliveries)[number];

/** A caller's wish, whichever format it writes. */
export interface Ask {
  say: string;
  system?: string;
  /** A PNG: base64, or a URL. */
  picture?: string;
  /** A PDF, base64. */
  document?: string;
  tools?: readonly Tool[];
  /** The name of the tool to call, whatever was said. */
  demand?: string;
  /** At most one call an answer. */
  oneCall?: true;
  think?: true;
  /** The answer must be JSON for this. */
  schema?: JsonObject;
  stop?: string;
  maxTokens?: number;
  /** Chat streams tell usage only then. */
  usage?: true;
  /** Members of the body that this format alone has. */
  beside?: JsonObject;
  /** The turn that was answered, and what its calls gave: the conversation goes on. */
  answered?: { turn: readonly JsonObject[]; results: readonly CallResult[] };
}

export interface Tool {
  name: string;
  parameters: JsonObject;
}

export interface CallResult {
  id: string;
  text: string;
}

/** What a caller reads from an answer. */
export interface Seen {
  text: string;
  thinking: string;
  calls: { id: string; name: string; argumentsJson: string }[];
  /** Kinds of parts in the order in which they came. */
  order: ('thinking' | 'text' | 'call' | 'picture')[];
  /** The format's own word. */
  stop: string;
  stopSequence: string | null;
  /** `input` holds cached tokens too, whatever the format counts. */
  usage: { input: number; cached: number; output: number } | null;
  /** A client's additions to its history. */
  turn: JsonObject[];
}

export interface SeenError {
  message: string;
  type: string | null;
  code: string | number | null;
}

/** All that came over the wire for one request. */
export interface Heard {
  status: number;
  headers: Headers;
  /** Absent when the answer has no end. */
  seen: Seen | null;
  /** Of an error answer, or of a stream's last event. */
  error: SeenError | null;
  /** The format's own mark of a whole answer was there. */
  clean: boolean;
}

/** A format as its clients write and read it: made from the published formats, not from our code. */
export interface CallerFormat {
  id: CallerId;
  /** Path and query. */
  path(model: string, delivery: Delivery): string;
  body(model: string, ask: Ask, delivery: Delivery): JsonObject;
  whole(body: JsonObject): Seen;
  errorOf(body: JsonObject): SeenError;
  /** Throws when the frames are not what the format promises. */
  stream(events: readonly ServerEvent[]): Pick<Heard, 'seen' | 'error' | 'clean'>;
}

export interface ServerEvent {
  event: string;
  data: string;
}
