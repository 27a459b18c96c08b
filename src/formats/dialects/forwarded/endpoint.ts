import type { Failure } from '../../../kernel/failure.ts';
import type { JsonObject, JsonScan, JsonValue } from '../../../kernel/json.ts';
import type { JsonSchema } from '../../neutral/described-check.ts';
import type { CallerRequest, DecodeOptions, PassingReader } from '../dialect.ts';

/** Endpoints that have one format at every provider: bodies go on as they came, answers come back as they are. */
export type ForwardedEndpointId =
  | 'completions'
  | 'decisions'
  | 'fim'
  | 'image-embeddings'
  | 'moderations'
  | 'ocr'
  | 'rerank';

/** One of them. Pure: no I/O, no clock. Its errors are chat completions'. */
export interface ForwardedEndpoint {
  id: ForwardedEndpointId;
  /** The line of `costs` that it is charged by, or units. */
  cost: 'chat' | 0 | 1;
  /** Its path, for messages to callers. */
  path: `/v1/${string}`;
  /** Short description. */
  summary: string;
  /** Checks what routing and metering must know; all else is the upstream's to judge. */
  readRequest(raw: Buffer, body: JsonObject, scan: JsonScan): ForwardedRequest | Failure;
  /** JSON Schema of its bodies, for `/openapi.json`: what `readRequest` leaves to the upstream is named, not checked. */
  requestSchema(): JsonSchema;
  readInPassing(
    options?: Pick<DecodeOptions, 'shownInputTokens' | 'usageOf'> & Pick<ForwardedRequest, 'answerShape'>,
  ): PassingReader;
  /** The answer in the shape that callers get, with `inputTokens` where a service counts none. Absent: as it came. */
  shape?(answer: JsonValue, echo: JsonObject, inputTokens: number): JsonObject;
}

/** A body that can go to targets serving the same endpoint, and to no other. */
export type ForwardedRequest = Omit<CallerRequest, 'neutral' | 'extras' | 'echo' | 'wordFor' | 'withItems'> & {
  /** Plain data of the request that the endpoint's `shape` needs; absent: nothing. */
  answerShape?: JsonObject;
  /** The place of media that the body names by address; undefined: it names none. Absent: nobody reads addresses in it. */
  address?: () => string | undefined;
};
