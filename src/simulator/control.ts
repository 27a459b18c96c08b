import { parsedData } from '../kernel/json.ts';
import type { Script } from './faults/fault-script.ts';
import { faultHelp, mockHelp } from './help.ts';
import type { Recording } from './recording.ts';

/** Target of a bare `redirect`. */
export const redirectedPath = '/_mock/redirected';

/** True for our own endpoints, which are neither recorded nor disturbed; the place that `redirect` names is not one. */
export function isControlPath(path: string): boolean {
  return path === '/_mock' || (path.startsWith('/_mock/') && path !== redirectedPath);
}

export interface ControlReply {
  status: number;
  contentType: 'application/json' | 'text/plain; charset=utf-8';
  body: string;
}

export interface ControlRequest {
  method: string;
  /** Without the query. */
  path: string;
  query: URLSearchParams;
  accept: string;
  bodyText: string;
}

export interface Controlled {
  script: Script;
  recording: Recording;
  /** Forgets script, requests and the rows of chance. */
  clear(): void;
}

/** The `/_mock` endpoints. */
export function control(request: ControlRequest, controlled: Controlled): ControlReply {
  const { method, path } = request;
  if (path === '/_mock') {
    if (method === 'DELETE') {
      controlled.clear();
      return json(200, { cleared: true });
    }
    if (method !== 'GET') return problem(405, 'Use GET or DELETE on /_mock.');
    if (request.accept.includes('application/json')) return json(200, { faults: faultHelp });
    return { status: 200, contentType: 'text/plain; charset=utf-8', body: mockHelp() };
  }
  if (path === '/_mock/requests') {
    if (method !== 'GET') return problem(405, 'Use GET on /_mock/requests.');
    const since = Number(request.query.get('since') ?? Number.NEGATIVE_INFINITY);
    if (Number.isNaN(since)) return problem(400, 'since must be a number of ms, such as the at_ms of a request.');
    return json(200, controlled.recording.list(since));
  }
  if (path === '/_mock/script') {
    if (method !== 'POST') return problem(405, 'Use POST on /_mock/script.');
    const queues = queuesOf(request.bodyText);
    if (queues === null) return problem(400, 'Send {"<path>": ["<fault spec>", …]}; GET /_mock explains.');
    const wrong = controlled.script.set(queues);
    if (wrong !== null) return problem(400, wrong);
    return json(200, { queued: Object.fromEntries(Object.entries(queues).map(([name, list]) => [name, list.length])) });
  }
  return problem(404, `${path} is unknown; GET /_mock explains.`);
}

function queuesOf(text: string): Record<string, string[]> | null {
  const parsed = parsedData(text);
  if (parsed === null) return null;
  const queues: Record<string, string[]> = {};
  for (const [name, list] of Object.entries(parsed)) {
    if (!Array.isArray(list)) return null;
    const specs = list.filter((entry) => typeof entry === 'string');
    if (specs.length !== list.length) return null;
    queues[name] = specs;
  }
  return queues;
}

function json(status: number, value: unknown): ControlReply {
  return { status, contentType: 'application/json', body: JSON.stringify(value) };
}

function problem(status: number, message: string): ControlReply {
  return json(status, { error: { message } });
}
