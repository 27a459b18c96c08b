import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '../kernel/clock.ts';
import { createServer } from '../kernel/web/node-http.ts';
import type { Purpose } from './compose-answer.ts';
import type { ArrivedBody } from './compose-reply.ts';
import { control, isControlPath, redirectedPath } from './control.ts';
import type { OtherFormats } from './endpoints/endpoint.ts';
import { isMultipart, readMultipart } from './endpoints/read-form.ts';
import { createFaultChoice } from './faults/choose-fault.ts';
import { createScript } from './faults/fault-script.ts';
import { type FaultSpec, healthy, parseFaultSpec } from './faults/fault-spec.ts';
import { createRecording, type RecordedRequest, unrecorded } from './recording.ts';
import { bodyOf, createService } from './simulated-service.ts';

export interface SimulatorOptions {
  /**
   * `mock` (default): the scriptable fault upstream. `zero-key`: answers begin with `[simulated]`; no faults, no
   * `/_mock`, and nothing that callers send is kept.
   */
  purpose?: Purpose;
  /** Shown in answers and in `x-mock-name`, to tell one mock from another. */
  name?: string;
  /** Models that `GET /v1/models` lists. */
  models?: readonly string[];
  /** A fault spec for requests that bring none; throws when it cannot be read. */
  faults?: string;
  /** Formats other than OpenAI's and Anthropic's, which tests bring along. */
  otherFormats?: OtherFormats;
  /** Sees every request once, when it has ended: what `culvert mock` prints. */
  onEnded?: (request: RecordedRequest) => void;
  /** Stamps records and answers. */
  clock?: Clock;
}

export interface Simulator {
  /** Port 0 takes a free one. `url` has neither path nor final slash. */
  listen(at: { host: string; port: number }): Promise<{ url: string; port: number }>;
  /** The same as `POST /_mock/script`; throws when a spec cannot be read. */
  script(queues: Readonly<Record<string, readonly string[]>>): void;
  /** The same as `GET /_mock/requests`: oldest first, the newest 10,000. */
  requests(sinceMs?: number): RecordedRequest[];
  /** The first request that matches, recorded already or to come; asked when its body is there and when it ends. */
  when(matches: (request: RecordedRequest) => boolean): Promise<RecordedRequest>;
  /** The same as `DELETE /_mock`. */
  clear(): void;
  /** Breaks every open connection. */
  close(): Promise<void>;
}

const mediaModels: readonly string[] = ['sim/embedding', 'sim/speech', 'sim/transcription', 'sim/image'];
const simulatorModels: readonly string[] = ['sim/chat', ...mediaModels];
const mockModels: readonly string[] = ['sim/chat', 'sim/reason', ...mediaModels, 'mock/ok'];

// Longer than any client's own idle time, so that a connection never ends just as it is used again.
const keepAliveTimeoutMs = 600_000;
const backlog = 4_096;

export function createSimulator(options: SimulatorOptions = {}): Simulator {
  const { purpose = 'mock', clock = systemClock } = options;
  const context = {
    voice: { purpose, name: options.name ?? '' },
    models: options.models ?? (purpose === 'mock' ? mockModels : simulatorModels),
  };
  const recording = createRecording(clock, options.onEnded);
  // The zero-key upstream keeps no records, because nobody reads them.
  const forgotten = unrecorded();
  const script = createScript();
  const faults = createFaultChoice(script, serverSpecOf(options.faults), clock);
  const service = createService({ ...context, clock, faults, otherFormats: options.otherFormats ?? (() => null) });

  function clear(): void {
    script.clear();
    faults.clear();
    recording.clear();
  }

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const target = request.url ?? '/';
    const [path = ''] = target.split('?', 1);
    if (purpose === 'zero-key') {
      arrived(request, (body) => service.healthy({ request, response, path, body, exchange: forgotten }));
      return;
    }
    if (isControlPath(path)) {
      collectBody(request, (text) => steer(request, response, target, text ?? ''));
      return;
    }
    const exchange = recording.begin(target, request.method ?? '', request.rawHeaders);
    response.once('close', () => recording.end(exchange, response.writableFinished ? 'finished' : 'aborted'));
    arrived(request, (body, text) => {
      recording.body(exchange, text);
      const arrival = { request, response, path, body, exchange };
      // Default target of `redirect`: the record shows it, and no fault strikes twice.
      if (path === redirectedPath) service.healthy(arrival);
      else service.withFaults(arrival);
    });
  }

  function steer(request: IncomingMessage, response: ServerResponse, target: string, bodyText: string): void {
    const url = new URL(target, 'http://mock');
    const { method = '', headers } = request;
    const answer = control(
      { method, path: url.pathname, query: url.searchParams, accept: headers.accept ?? '', bodyText },
      { script, recording, clear },
    );
    response.writeHead(answer.status, { 'content-type': answer.contentType });
    response.end(answer.body);
  }

  const server: Server = createServer({ keepAliveTimeout: keepAliveTimeoutMs, requestTimeout: 0 }, onRequest);

  return {
    listen: (place) => listening(server, place),
    script(queues) {
      const wrong = script.set(queues);
      if (wrong !== null) throw new Error(wrong);
    },
    requests: (sinceMs = Number.NEGATIVE_INFINITY) => recording.list(sinceMs),
    when: (matches) => recording.when(matches),
    clear,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server, { host, port }: { host: string; port: number }): ReturnType<Simulator['listen']> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog, exclusive: true }, () => {
      server.off('error', reject);
      const bound = (server.address() as AddressInfo).port;
      resolve({ url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`, port: bound });
    });
  });
}

/** `text`: what is recorded of it; for a form its fields, as JSON. */
function arrived(request: IncomingMessage, then: (body: ArrivedBody, text: string) => void): void {
  if (isMultipart(request)) {
    void readMultipart(request, (fields) => then(fields, fields === null ? '' : JSON.stringify(fields)));
  } else collectBody(request, (text) => then(bodyOf(text), text ?? ''));
}

function serverSpecOf(source: string | undefined): FaultSpec {
  if (source === undefined) return healthy;
  const parsed = parseFaultSpec(source);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.spec;
}

const bodyBytesMax = 64 * 1024 * 1024;

/** Reads a request's body and calls back once, at its end; null when it is larger than 64 MB. Never, if it breaks off. */
function collectBody(request: IncomingMessage, then: (text: string | null) => void): void {
  let first: Buffer | null = null;
  let rest: Buffer[] | null = null;
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) {
      first = null;
      rest = null;
    } else if (first === null) first = chunk;
    else if (rest === null) rest = [first, chunk];
    else rest.push(chunk);
  });
  request.on('end', () => {
    if (bytes > bodyBytesMax) then(null);
    else then(rest === null ? (first === null ? '' : first.toString()) : Buffer.concat(rest).toString());
  });
}
