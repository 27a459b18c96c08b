import { isObject, type JsonObject, type JsonValue, type JsonWidth, scanJson } from '../../kernel/json.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';
import { createSseReader } from '../../upstream/transport/sse-reader.ts';
import type { Transport, UpstreamHeaders, UpstreamRequest } from '../../upstream/transport/upstream-call.ts';
import { NoAnswer, wholeAnswer } from '../../upstream/transport/whole-answer.ts';
import { McpFault, tookLongerThan } from '../mcp/mcp-fault.ts';
import type { CallBounds } from '../mcp/session.ts';

export interface AgentRequest {
  url: URL;
  method: 'GET' | 'POST';
  headers: readonly string[];
  body: string | null;
}

export interface AgentBounds extends CallBounds {
  bytesMax: number;
  /** Credentials that an answer must not tell. */
  secrets: readonly string[];
}

/** An error of JSON-RPC: the agent understood the message and refuses it. */
export class AgentError {
  readonly code: number;
  readonly message: string;

  constructor(code: number, message: string) {
    this.code = code;
    this.message = message;
  }
}

/** A message of JSON-RPC with a result. */
export interface AgentReply {
  result: JsonValue | undefined;
}

const connectTimeoutMs = 5_000;
/** The exchange's own guards end far behind the deadline. */
const guardMs = 24 * 60 * 60_000;
/** One message, such as a task with all of its history. */
const messageWidth: JsonWidth = { structure: 65_536, commas: 655_360 };
/** Events of one stream. Each is read in some 20 µs. */
const eventsMax = 65_536;
const errorCharsMax = 1_000;

/** An answer in one piece, whatever its status. */
export async function askWhole(transport: Transport, request: AgentRequest, bounds: AgentBounds) {
  const { timeoutMs, signal, bytesMax } = bounds;
  const deadline = AbortSignal.any([AbortSignal.timeout(Math.ceil(timeoutMs)), ...(signal ? [signal] : [])]);
  try {
    return await wholeAnswer(transport, upstreamRequest(request), { connectTimeoutMs, bytesMax, deadline });
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    return transportFault(error, bounds);
  }
}

/** Receives the events of a stream. After `ended` nothing more is called. */
export interface AgentStreamObserver {
  begun(headers: UpstreamHeaders): void;
  event(reply: AgentReply | AgentError): void;
  /** Null: the agent has said all. */
  ended(fault: McpFault | AgentError | null): void;
}

export type AgentStream = ReturnType<typeof askStream>;

/** An answer as a stream of events, each of which is a message of JSON-RPC. */
export function askStream(
  transport: Transport,
  request: AgentRequest,
  bounds: AgentBounds,
  observer: AgentStreamObserver,
) {
  const { bytesMax, secrets, timeoutMs } = bounds;
  const reader = createSseReader({ eventBytesMax: bytesMax });
  const whole: Buffer[] = [];
  let status = 0;
  let type = '';
  let bytes = 0;
  let events = 0;
  let open = true;
  const end = (fault: McpFault | AgentError | null): void => {
    if (!open) return;
    open = false;
    clearTimeout(timer);
    call.abort();
    observer.ended(fault);
  };
  const timer = setTimeout(() => end(transportFault(new NoAnswer('timed-out', 'timed out'), bounds)), timeoutMs);
  const isStream = () => status === 200 && type.startsWith('text/event-stream');
  const take = (data: string): void => {
    events += 1;
    if (events > eventsMax) return end(new McpFault('too-large', `answered with more than ${eventsMax} events`));
    const reply = readReply(Buffer.from(data), secrets);
    if (reply instanceof McpFault) end(reply);
    else observer.event(reply);
  };
  const call = transport.send(
    { ...upstreamRequest(request), connectTimeoutMs, headersTimeoutMs: guardMs, bodyTimeoutMs: guardMs },
    {
      headers(received, head) {
        status = received;
        type = (head.get('content-type') ?? '').toLowerCase();
        if (isStream()) observer.begun(head);
      },
      data(chunk) {
        bytes += chunk.length;
        if (bytes > bytesMax) return end(tooLarge());
        if (!isStream()) return void whole.push(chunk);
        for (const { data } of reader.push(chunk)) if (open) take(data);
        if (open && reader.tooLarge) end(tooLarge());
      },
      ended() {
        if (!isStream()) return end(refusalIn({ status, type, bytes: Buffer.concat(whole) }, secrets));
        end(events > 0 ? null : new McpFault('broken', 'ended its answer without a result'));
      },
      failed: ({ kind, message }) => end(transportFault(new NoAnswer(kind, message), bounds)),
    },
  );
  return {
    pause: (): void => call.pause(),
    resume: (): void => call.resume(),
    /** Ends it; nothing more is called. */
    abort(): void {
      open = false;
      clearTimeout(timer);
      call.abort();
    },
  };
}

/** The message of JSON-RPC in a whole answer. */
export function replyIn(
  answer: { status: number; headers: UpstreamHeaders; bytes: Buffer },
  secrets: readonly string[],
): AgentReply | AgentError | McpFault {
  const { status, bytes } = answer;
  const type = (answer.headers.get('content-type') ?? '').toLowerCase();
  if (status === 200 && type.includes('json')) return readReply(bytes, secrets);
  return refusalIn({ status, type, bytes }, secrets);
}

/** Why an answer has no result: the agent's words, where it is an error of JSON-RPC. */
function refusalIn(
  { status, type, bytes }: { status: number; type: string; bytes: Buffer },
  secrets: readonly string[],
): AgentError | McpFault {
  if (status === 401 || status === 403) return new McpFault('unauthorized', `does not let Culvert in (${status})`);
  const reply = type.includes('json') ? readReply(bytes, secrets) : null;
  if (reply instanceof AgentError) return reply;
  if (status >= 300 && status < 400) return new McpFault('broken', 'redirects, which Culvert does not follow');
  if (status === 200) return new McpFault('broken', 'answered with something that is not an A2A message for this call');
  return new McpFault('broken', `answered ${status}, without a message of A2A`);
}

/** One message of JSON-RPC, scanned before it is parsed. */
function readReply(bytes: Buffer, secrets: readonly string[]): AgentReply | AgentError | McpFault {
  const message = readJson(bytes, secrets);
  if (message instanceof McpFault) return message;
  const { error } = message;
  if (isObject(error)) {
    const code = typeof error.code === 'number' && Number.isInteger(error.code) ? error.code : -32_603;
    const text = typeof error.message === 'string' ? error.message : 'The agent refuses the message.';
    return new AgentError(code, text.slice(0, errorCharsMax));
  }
  if (message.result === undefined) return new McpFault('broken', 'answered with neither a result nor an error');
  return { result: message.result };
}

/** An object of JSON that came from an agent, without the operator's credentials, which it may repeat. */
export function readJson(bytes: Buffer, secrets: readonly string[]): JsonObject | McpFault {
  const scan = scanJson(bytes, jsonDepthMax, messageWidth);
  if (scan.tooDeep) return new McpFault('broken', `answered with more than ${jsonDepthMax} levels of JSON`);
  if (scan.tooWide) return new McpFault('too-large', 'answered with more members and values than a message may have');
  const text = secrets.reduce((json, secret) => json.replaceAll(secret, '[redacted]'), bytes.toString('utf8'));
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Said below.
  }
  return new McpFault('broken', 'answered with something that is not a JSON object');
}

function upstreamRequest(
  request: AgentRequest,
): Omit<UpstreamRequest, 'connectTimeoutMs' | 'headersTimeoutMs' | 'bodyTimeoutMs'> {
  const { url, method, headers, body } = request;
  return { origin: url.origin, path: url.pathname + url.search, method, headers, body };
}

function tooLarge(): McpFault {
  return new McpFault('too-large', 'answered with more bytes than max_bytes');
}

function transportFault({ kind, message }: NoAnswer, { timeoutMs, signal }: CallBounds): McpFault {
  if (signal?.aborted === true) return new McpFault('aborted', 'was cut off, because the caller left');
  if (kind === 'timed-out') return tookLongerThan(timeoutMs);
  return kind === 'too-large' ? tooLarge() : new McpFault('unreachable', `cannot be reached: ${message}`);
}
