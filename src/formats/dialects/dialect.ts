import type { ErrorContext, Failure } from '../../kernel/failure.ts';
import type { JsonObject, JsonScan, JsonValue } from '../../kernel/json.ts';
import type { JsonSchema } from '../neutral/described-check.ts';
import type { NeutralEvent } from '../neutral/event.ts';
import type { Loss } from '../neutral/loss.ts';
import type { Fault } from '../neutral/outcome.ts';
import type { NeutralRequest, RequestNeeds } from '../neutral/request.ts';
import type { RequestedServerTools } from '../neutral/server-tool.ts';
import type { Usage } from '../neutral/usage.ts';
import type { ForwardTarget } from './forward-target.ts';
import type { FileOf } from './inline-files.ts';
import type { GivenId, ObjectsInBodies } from './named-objects.ts';

/** A provider's wire format by its name in configuration and explanations. */
export type DialectId = SharedDialectId | 'bedrock-converse' | 'cohere-chat';
/** Formats that callers and providers speak. */
export type SharedDialectId = 'openai-chat' | 'anthropic-messages' | 'openai-responses' | 'gemini';
/** Formats that callers speak. */
export type CallerDialectId = SharedDialectId | 'ollama' | 'ai-sdk' | 'cohere-chat' | 'bedrock-converse';

/** The side that callers speak to. Pure: no I/O, no clock. */
export interface CallerDialect {
  id: CallerDialectId;
  /** Form of its streams on the wire. Absent: server-sent events. */
  wire?: StreamWire;
  /** A recorded answer, where no provider speaks this format. */
  eventsOf?(answer: Buffer): readonly NeutralEvent[];
  /**
   * Checks types, bounds and combinations; the first fault names its field. Unknown fields are kept. Parts that only a
   * conversion needs are built on demand.
   */
  readRequest(raw: Buffer, body: JsonObject, scan: JsonScan): CallerRequest | Failure;
  /** `readRequest` for a body whose tokens are only counted, where that lets more be left out. */
  readForCount?(raw: Buffer, body: JsonObject, scan: JsonScan): CountedRequest | Failure;
  /** JSON Schema of the bodies that `readRequest`, or `readForCount`, takes: of the same table that checks them. */
  requestSchema(purpose: 'answer' | 'count'): JsonSchema;
  /** References of its bodies, as written, to objects at providers. */
  objects: ObjectsInBodies;
  /** A checked body with the content of files in place of their ids; absent: the format has no place for it. */
  inlineFiles?(body: JsonObject, fileOf: FileOf): JsonObject;
  encodeStream(head: AnswerHead): StreamEncoder;
  fold(head: AnswerHead): AnswerFold;
  /** Reads what metering and failover need out of an answer that is forwarded as bytes. */
  readInPassing(options?: DecodeOptions): PassingReader;
  /** HTTP status of an error answer; null or absent: that of the failure. */
  errorStatus?(failure: Failure): number | null;
  /** Headers of an error answer, flat name, value…; absent: none in addition. */
  errorHeaders?(failure: Failure, context: ErrorContext): readonly string[];
  errorBody(failure: Failure, context: ErrorContext): JsonObject;
  /**
   * The last frame of a stream that cannot go on; nothing may follow it. `mark` is the stream's place: absent when no
   * part of an answer was sent.
   */
  errorFrame(failure: Failure, context: ErrorContext, mark?: StreamMark): string;
}

/** Streams that are not the events that encoders write. */
export interface StreamWire {
  /** Their Content-Type. */
  type: string;
  /**
   * Bytes between two events that clients skip, so that no proxy takes the connection for idle. Absent: comments of
   * server-sent events, which leave as they are.
   */
  keepAlive?(): string | Buffer;
  /**
   * An event, which encoders write and providers send as a server-sent one, as it leaves; null: it does not. Absent: what
   * encoders write leaves as it is.
   */
  frameOf?(event: SseEvent): Buffer | null;
  /** Text behind the last event, also where that is an error. Absent: none. */
  end?(): string;
}

/** Place of a stream, for formats whose last frame must continue it. */
export interface StreamMark {
  /** The answer's id, as it was sent. */
  id: string;
  /** Number of the next frame. */
  sequence: number;
}

/** A caller's body that has passed its dialect's check. */
export interface CallerRequest {
  model: string;
  stream: boolean;
  includeUsage: boolean;
  /** Choices wanted. */
  n: number;
  seed: number | null;
  needs: RequestNeeds;
  /** End-user id for ledger and log. */
  user: string | null;
  /** Tag in the body by which its use is summed; null or absent: none. */
  tag?: string | null;
  /** Beginning of the conversation, as text of bounded length: equal for all its turns, for affinity. */
  conversationStart: string;
  neutral(): NeutralRequest;
  /** Features that few requests use; null: it uses none of them, and enters no code for them. */
  extras: RequestExtras | null;
  /** The same request with these in place of the references to them, by id; absent: it has no references. */
  withItems?(items: Readonly<Record<string, JsonObject>>): CallerRequest;
  /** Parts of the request that the answer repeats: plain data that the dialect's encoders read (`AnswerHead.echo`). */
  echo?: JsonObject;
  /**
   * It is converted for a target of the same format, too. `fields`: its format has no place for some. `functions`: it offers
   * custom tools, or tools in the older form of chat completions, unless the model takes those.
   */
  beyondFormat?: 'fields' | 'functions';
  /** The caller's word for a field that an encoder lost or refused by another dialect's. Absent: the words are the same. */
  wordFor?(field: string): string;
  /** Body of the caller for a target of the same dialect. */
  forward(target: ForwardTarget): { bytes: Buffer | string; losses: Loss[] };
}

/** Features of a request that few use; plain data. */
export interface RequestExtras {
  /** Other aliases that the caller wants tried after the first, in order. */
  fallbackModels: readonly string[];
  /** Items of the gateway's answers, named in place of being sent; null: none. */
  references: readonly ItemReference[] | null;
  /** Reason why only a target of the caller's dialect can answer this; null: others can. */
  nativeOnly: Failure | null;
  /**
   * `choice`: a choice of a server tool makes it so, and this gateway may run the tool. `format`: any provider of the
   * format may do it. `cache`: so too, and its answer is empty, as it only fills a cache. `judge`: the provider judges
   * values that the checks here refuse; nothing else can be made of them, such as a neutral form. Null: others would be
   * refused by theirs too, or what is named is not there.
   */
  nativeFor: 'choice' | 'format' | 'cache' | 'judge' | null;
  /** Parts that are to be kept, and the kept response that it continues; null: nothing. */
  state: RequestState | null;
  /** Tools that the answering server runs. The failure is for requests whose tools this gateway must run. Null: none. */
  serverTools: RequestedServerTools | Failure | null;
  /**
   * Ids of the answer that can be named later. `all`: the provider keeps the answer itself. `objects`: only objects
   * that come with it, such as containers and files. Null: none.
   */
  answerGives: 'objects' | 'all' | null;
}

/** Members of a request about responses that are kept. */
export interface RequestState {
  /** The response is to be kept. */
  store: boolean;
  /** Id of the response that it continues. */
  previous: string | null;
  /** Id of the conversation that it belongs to. */
  conversation: string | null;
  background: boolean;
}

export interface ItemReference {
  id: string;
  /** Path as the caller wrote it: `input[0]`. */
  field: string;
  /** `thought`: the answer does not depend on it. */
  use: 'needed' | 'thought';
}

/** A caller's body that nobody answers. */
export type CountedRequest = Pick<CallerRequest, 'model' | 'neutral' | 'forward' | 'extras'>;

/** Defaults of an answer for what the upstream left open. */
export interface AnswerHead {
  /** Id to use if the upstream gave none. */
  fallbackId: string;
  /** Model name to show if the upstream gave none. */
  model: string;
  /** Model name to show in place of the upstream's; absent: the upstream's name. */
  answerModel?: string | undefined;
  createdS: number;
  includeUsage: boolean;
  /**
   * Vendor whose client reads the answer. Mistral's, xAI's and Cerebras's want each call of a function in one piece. Four
   * request no usage and read it where that vendor has it: Groq's in `x_groq`, the others with the finish reason. To
   * Groq's, Cerebras's and OpenRouter's, thoughts are `reasoning`. The AI SDK's are of any vendor: they read whole answers.
   */
  clientOf?: 'mistral' | 'groq' | 'cerebras' | 'perplexity' | 'openrouter' | 'xai' | 'ai-sdk' | undefined;
  /** Ms since the request came, for formats that tell durations; absent: nobody knows. */
  elapsedMs?: () => number;
  /** The request's `CallerRequest.echo`. */
  echo?: JsonObject;
}

/** Parts of an answer without a place in its caller's format, by that format's words for them. Absent: none. */
export interface Leaves {
  lost?: ReadonlySet<string> | undefined;
}

/** Items of an answer that a later request may name by their id. Absent: the format has none. */
export interface Holds {
  /** Items, once the answer has ended. */
  items?(): readonly JsonObject[];
}

/** One answer's events as frames of the wire, in order; state of one stream. */
export interface StreamEncoder extends Leaves, Holds {
  /** The frames for one event, concatenated; '' when the event shows nothing. */
  step(event: NeutralEvent): string;
  /** Place of the stream, for dialects whose error frame must know. */
  mark?(): StreamMark | undefined;
}

/** One whole answer made of the same events. */
export interface AnswerFold extends Leaves, Holds {
  add(event: NeutralEvent): void;
  /** The whole answer in this dialect. Valid once `end` or the last `finish` was added. */
  result(): JsonObject;
}

/** The side that providers speak. Pure: no I/O, no clock. */
export interface UpstreamDialect {
  id: DialectId;
  /**
   * The body for a target. `failure` when the dialect cannot express the request and leaving the part out would change
   * the result; `Loss`es for parts that were left out or changed.
   */
  encodeRequest(request: NeutralRequest, target: EncodeTarget): EncodedRequest | Failure;
  /** `encodeRequest` for one upstream model, whose rules are read once; absent: nothing depends on the model. */
  encoderFor?(model: string): UpstreamDialect['encodeRequest'];
  /** The operator's fields for a target laid over an encoded body; absent: each replaces the member of its name. */
  withOperatorFields?(body: JsonObject, fields: Readonly<Record<string, unknown>>): JsonObject;
  /** `fetch`: it takes pictures and files inline only, so those that callers give by URL are fetched before encoding. */
  mediaByUrl?: 'fetch';
  /** Its streams begin with a usage that counts no output yet, and end with the whole. */
  usageFirst?: true;
  /** `options` come from the encoded request that this answers; absent: nothing to undo. */
  decodeStream(options?: DecodeOptions): StreamDecoder;
  /** A JSON answer as the same events a stream would give, `end` or `failed` last. */
  decodeWhole(body: JsonObject, options?: DecodeOptions): NeutralEvent[];
  /** Puts the provider's whole answer together out of its stream, if that has all of it; absent: it does not. */
  gatherWhole?(): WholeGatherer;
  /** The error of a non-2xx answer, or of an error body inside a 200; null when `body` holds none. */
  readError(body: unknown): UpstreamError | null;
  /** The largest event of its streams, where that is more than `upstreamEventBytesMax`. */
  eventBytesMax?: number;
}

/** Facts of the target for encoders. */
export interface EncodeTarget {
  /** Upstream model id. */
  model: string;
  maxOutputTokens: number | null;
  /** Ask for a stream; converted answers always do unless the target says `stream: false`. */
  stream: boolean;
  /** Provider's quirks; see `providers/provider.ts`. */
  omit: readonly string[];
  /** Type of the provider, which gets its own proofs back; absent: nobody gets any. */
  provider?: string | undefined;
}

export interface EncodedRequest {
  body: JsonObject;
  losses: Loss[];
  /** Fields of the request's `lost` for which this format has a place after all. */
  recovered?: readonly string[];
  /** Changes of the encoder that the decoder of this attempt's answer must undo: for decodeStream and decodeWhole. */
  decode?: DecodeOptions;
}

/** Facts that the answer alone does not give a decoder. */
export interface DecodeOptions {
  /** Structured output was asked for as a forced call of this tool: its arguments are the answer's text. */
  unwrapTool?: string | undefined;
  /** Strings at which the text ends, where the provider knows no such thing. */
  stop?: readonly string[] | undefined;
  /** Reader of the vendor's usage, if it is not in the dialect's usual place. */
  usageOf?: UsageOf | undefined;
  /** Choices that were asked for; absent: one. */
  choices?: number | undefined;
  /** Type of the provider that answers, for proofs that it alone reads; absent: nobody wants them. */
  provider?: string | undefined;
  /** Format of its caller, who gets words and figures that only that format has. Absent: nobody gets any. */
  callers?: CallerDialectId | undefined;
  /** Ids in the answer are wanted: its caller can name them later. Absent: they are not. */
  names?: boolean | undefined;
  /** Estimate of the input for a stream that ends without the usage which its caller asked for; absent: none is shown. */
  shownInputTokens?: number | undefined;
}

/**
 * Member of a chunk or whole answer with the usage, in the dialect's terms; undefined: none. It may have `reportedCost`,
 * what the provider says that it charges.
 */
export type UsageOf = (body: JsonObject) => JsonValue | undefined;

/** One server-sent event, as transport/sse-reader gives it too. */
export interface SseEvent {
  /** The `event:` field, '' when absent. */
  event: string;
  /** The `data:` lines joined by \n. */
  data: string;
}

/** One stream's events in neutral form; state of one answer. Nothing comes after `end` or `failed`. */
export interface StreamDecoder {
  step(event: SseEvent): NeutralEvent[];
  /** At the end of the bytes: `[]` if the terminal event was seen, else a `failed` with class `truncated`. */
  finish(): NeutralEvent[];
  /** Lines skipped because they were not readable. */
  readonly malformedLines: number;
}

/** Fault of the upstream, in its words. */
export interface UpstreamError {
  message: string;
  /** Its code or type, such as `insufficient_quota`, `overloaded_error`; '' when none. */
  code: string;
  param: string | null;
  /** Status of the server behind the one that answered, which passes its error on; absent: the answer's counts. */
  status?: number;
  /** Ms that its body asks to wait; what the headers say goes before it. */
  retryAfterMs?: number;
  /** Further members, such as Groq's `failed_generation`, unchanged. */
  members?: JsonObject;
}

/** The whole answer of a stream. */
export interface WholeGatherer {
  step(event: SseEvent): void;
  /** Null until its last event has come. */
  whole(): JsonObject | null;
}

/** Watches one answer that is forwarded as bytes. */
export interface PassingReader {
  /** Reads one event of a stream. The verdict may be one object for all of its kind: read it, keep nothing of it. */
  step(event: SseEvent): PassingVerdict;
  /** Reads a whole JSON answer. A fault means that it is an error or not an answer. */
  whole(body: unknown): Fault | null;
  readonly seen: PassingFacts;
}

/** Kind of a passing event. */
export interface PassingVerdict {
  /** It shows something of the answer: commits headers, feeds timers. */
  content: boolean;
  /** It is not part of an answer; nothing after it counts. */
  fault: Fault | null;
  /** The chunk exists only because we asked for usage. */
  usageOnly: boolean;
  /** It reports usage together with its content. */
  usageBeside?: true;
  /** Data in place of the provider's, which clients would misread; absent: it passes as it came. */
  data?: string;
  /** Frame that clients need before an event with other data. Absent: none. */
  before?: string;
}

/** Facts of the bytes that have passed so far. */
export interface PassingFacts {
  usage: Usage | null;
  /** Ids that it gave out and that can be named later, in order; absent: none. */
  given?: readonly GivenId[] | undefined;
  /** The upstream's terminal event ([DONE], message_stop) has passed. */
  terminal: boolean;
  /**
   * Rest for the reader at a clean end: `[DONE]`, if the answer was finished and only the end mark of the wire is
   * missing. '' or absent: nothing.
   */
  closing?: string;
  /** Rough count of output tokens that passed, for when the upstream tells no usage. */
  outputTokensSeen: number;
  /** Model that the answer names, and why it ended, in its words; null or absent: it has not said. */
  answeredAs?: string | null;
  finishReason?: string | null;
  /** Clients would misread the whole answer as it came, so its value was changed. Absent: never. */
  mended?: boolean;
  /** Place of the stream, for dialects whose error frame must know. */
  mark?: StreamMark | undefined;
}
