import { openAiResponses } from '../../../formats/dialects/openai-responses/index.ts';
import type { SocketEnd } from '../../../inference/families/realtime/socket-end.ts';
import { dataOf, ResponseFrames } from '../../../inference/families/responses/response-frames.ts';
import type { AnswerForm, Bytes, Delivery, Failed, HeaderList, Pace } from '../../../inference/spine/sink.ts';
import { type ErrorContext, type Failure, statusOf } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, objectIn } from '../../../kernel/json.ts';

/** The client of one response over a WebSocket: it sends each event of the answer as a message. */
export class TurnDelivery implements Delivery {
  disconnected = false;
  /** Sessions are cut as a whole. */
  readonly cutFor = null;
  committed = false;
  /** HTTP status that the same request would have got. */
  status = 200;
  /** Why there is no response, or none to its end; null: nothing has failed. */
  failure: Failure | null = null;
  /** The response at its end; null: it has not come to one. */
  response: JsonObject | null = null;
  readonly #socket: SocketEnd;
  readonly #context: () => ErrorContext;
  readonly #frames = new ResponseFrames();
  #ended = false;
  #disconnectListener: (() => void) | null = null;
  #drainListener: (() => void) | null = null;

  constructor(socket: SocketEnd, context: () => ErrorContext) {
    this.#socket = socket;
    this.#context = context;
  }

  onDisconnect(listener: () => void): void {
    this.#disconnectListener = listener;
  }

  onDrain(listener: () => void): void {
    this.#drainListener = listener;
  }

  /** Pings keep the connection. */
  expect(): void {}

  drained(): void {
    this.#drainListener?.();
  }

  leave(): void {
    if (this.disconnected || this.#ended) return;
    this.disconnected = true;
    this.#disconnectListener?.();
  }

  /** Every answer is a stream, since that is what is asked for. */
  start(_form: AnswerForm, headers: HeaderList, status = 200): void {
    this.committed = true;
    this.status = status;
    const limits = codexLimits(headers);
    if (limits !== null) this.#socket.send(JSON.stringify(limits));
  }

  chunk(chunk: Bytes): Pace {
    return this.disconnected ? 'ready' : this.#take(chunk);
  }

  end(failed: Failed | null): void {
    if (this.disconnected || this.#ended) return;
    this.#ended = true;
    this.failure = failed?.failure ?? null;
    if (failed !== null && this.committed) {
      this.status = statusOf(failed.failure);
      this.#take(openAiResponses.errorFrame(failed.failure, this.#context(), failed.mark));
    } else if (failed !== null) {
      this.refuse(failed.failure, failed.headers);
    }
  }

  /** An error in place of a response. */
  refuse(failure: Failure, headers: HeaderList = []): void {
    this.status = statusOf(failure);
    this.#socket.send(errorMessage(failure, this.#context(), headers));
  }

  #take(chunk: Bytes): Pace {
    let pace: Pace = 'ready';
    for (const { text, type } of this.#frames.push(chunk)) {
      const data = textOf(text);
      if (data === '' || data === '[DONE]') continue;
      if (ends.has(type)) this.#end(dataOf(text));
      pace = this.#socket.send(data);
    }
    return pace;
  }

  #end(event: unknown): void {
    if (isObject(event) && isObject(event.response)) this.response = event.response;
  }
}

/** Message of a failure before a response has begun, in OpenAI's words. `headers`: of the answer that HTTP would give. */
export function errorMessage(failure: Failure, context: ErrorContext, headers: HeaderList = []): string {
  const { error } = openAiResponses.errorBody(failure, context);
  const shown: JsonObject = {};
  for (let at = 0; at < headers.length; at += 2) shown[headers[at] ?? ''] = headers[at + 1] ?? '';
  const named = headers.length > 0 && { headers: shown };
  const whole = { ...objectIn(error), ...named };
  // Codex reads them next to the error, where chatgpt.com has them.
  return JSON.stringify({ type: 'error', status: statusOf(failure), error: whole, ...named });
}

/** Windows of a subscription of ChatGPT. */
const codexWindows = ['primary', 'secondary'] as const;

/**
 * The event that says over a WebSocket how full the caller's subscription is, as chatgpt.com sends it to Codex; null
 * where the answer's headers do not say.
 */
function codexLimits(headers: HeaderList): JsonObject | null {
  const numberOf = (name: string) => {
    const at = headers.findIndex((one, place) => place % 2 === 0 && one === `x-codex-${name}`);
    const value = at < 0 ? Number.NaN : Number(headers[at + 1]);
    return Number.isFinite(value) ? value : null;
  };
  const windows = codexWindows.map((name): [string, JsonObject | null] => {
    const used_percent = numberOf(`${name}-used-percent`);
    if (used_percent === null) return [name, null];
    const [window_minutes, reset_at] = [numberOf(`${name}-window-minutes`), numberOf(`${name}-reset-at`)];
    return [name, { used_percent, window_minutes, reset_at }];
  });
  if (windows.every(([, window]) => window === null)) return null;
  return { type: 'codex.rate_limits', rate_limits: Object.fromEntries(windows) };
}

const ends: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** JSON of a frame's data, as it came. */
function textOf(frame: string): string {
  const lines = frame.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return lines.map((line) => line.slice(5).trimStart()).join('\n');
}
