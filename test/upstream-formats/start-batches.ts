import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

/**
 * An upstream with the batch APIs of OpenAI (below /v1), Anthropic (below /v1/messages/batches), Mistral (/v1/batch/jobs)
 * and Gemini (/v1beta). It asks another upstream what each line of a batch would have been answered; everything else passes on to that one.
 * Results come back in reverse order. Hand-made from the published formats.
 */
export interface BatchUpstream {
  url: string;
  /** What lines are asked of, and requests that are no batch. */
  direct: Upstream;
  batches: readonly VendorBatch[];
  /** Calls of batch APIs, `METHOD /path`. */
  calls: readonly string[];
  /** Bytes of files that are there. */
  files: ReadonlyMap<string, string>;
  /** New batches wait until `finish`. */
  hold(): void;
  /** Works at all batches that wait, and at new ones at once again; `count`: only so many lines of each, the rest expires. */
  finish(count?: number): Promise<void>;
  /** Of those that wait, so many lines are answered; they go on waiting. */
  progress(count: number): Promise<void>;
  /** The next batches get these statuses when they are begun, or fail when their file is looked at. */
  refuse(...how: readonly (number | 'invalid')[]): void;
  /** Calls whose `METHOD /path` this matches get this status, until `forget`; `times`: only so many of them. */
  fail(which: RegExp, status: number, times?: number): void;
  /** Batches end right before they would be cancelled, until `forget`. */
  endBeforeCancel(): void;
  /** Forgets batches and calls. */
  forget(): void;
  /** The next batch is begun without an answer: `onBegun` is called with the response instead, and may break it off. */
  swallow(onBegun: (response: ServerResponse) => void): void;
}

export interface VendorBatch {
  id: string;
  api: 'openai' | 'anthropic' | 'mistral' | 'gemini';
  key: string;
  /** As it was begun. */
  order: JsonObject;
  lines: readonly JsonObject[];
  headers: IncomingMessage['headers'];
  state: 'waiting' | 'ended' | 'invalid' | 'cancelled' | 'expired';
  results: JsonObject[];
  errors: JsonObject[];
  createdMs: number;
}

export async function startBatches(t: Pick<TestContext, 'after'>): Promise<BatchUpstream> {
  const direct = await startUpstream();
  t.after(() => direct.close());
  const batches: VendorBatch[] = [];
  const calls: string[] = [];
  const files = new Map<string, string>();
  const refusals: (number | 'invalid')[] = [];
  let isHeld = false;
  let endsBeforeCancel = false;
  let failing: { which: RegExp; status: number; times: number } | null = null;
  let swallowed: ((response: ServerResponse) => void) | null = null;
  let made = 0;
  const newId = (prefix: string) => `${prefix}${++made}`;

  /** Answers lines that have none, up to `count` in all. */
  async function work(batch: VendorBatch, count = batch.lines.length): Promise<void> {
    for (const line of batch.lines.slice(batch.results.length + batch.errors.length, count)) {
      const paths = { anthropic: '/v1/messages', gemini: `/v1beta${batch.order.model}:generateContent` };
      const path = (paths as Record<string, string>)[batch.api] ?? String(line.url ?? batch.order.endpoint);
      const sent = line.params ?? line.request ?? line.body;
      const model = batch.api === 'mistral' ? { model: batch.order.model } : {};
      const answered = await fetch(`${direct.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer k', 'x-mock-batch': batch.id },
        body: JSON.stringify({ ...model, ...(sent as JsonObject) }),
      });
      const body = (await answered.json()) as JsonObject;
      const { custom_id, key } = line;
      if (batch.api === 'gemini') {
        const given = answered.ok ? { response: body } : { error: body.error! };
        (answered.ok ? batch.results : batch.errors).unshift({ key: key!, ...given });
      } else if (batch.api === 'anthropic') {
        const result = answered.ok ? { type: 'succeeded', message: body } : { type: 'errored', error: body };
        (answered.ok ? batch.results : batch.errors).unshift({ custom_id: custom_id!, result });
      } else {
        const response = { status_code: answered.status, request_id: 'r', body };
        (answered.ok ? batch.results : batch.errors).unshift({
          ...{ id: newId('batch_req_'), custom_id: custom_id!, response },
          error: null,
        });
      }
    }
  }

  async function run(batch: VendorBatch, count?: number): Promise<void> {
    if (batch.state !== 'waiting') return;
    await work(batch, count);
    end(batch, count === undefined ? 'ended' : 'expired');
  }

  function end(batch: VendorBatch, state: VendorBatch['state']): void {
    batch.state = state;
    const written = (lines: readonly JsonObject[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    if (batch.api === 'gemini') {
      // All lines of a batch are in one file. One that was cut has none.
      if (state === 'ended') files.set(`${batch.id}-out`, written([...batch.results, ...batch.errors]));
      return;
    }
    if (batch.results.length > 0) files.set(`${batch.id}-out`, written(batch.results));
    if (batch.errors.length > 0) files.set(`${batch.id}-err`, written(batch.errors));
  }

  function begin(api: VendorBatch['api'], order: JsonObject, lines: JsonObject[], request: IncomingMessage) {
    const id = newId(api === 'anthropic' ? 'msgbatch_' : 'batch_');
    const key = keyOf(request);
    const batch: VendorBatch = {
      ...{ id, api, key, order, lines, headers: request.headers },
      ...{ state: 'waiting', results: [], errors: [], createdMs: Date.now() },
    };
    batches.unshift(batch);
    if (refusals[0] === 'invalid') {
      refusals.shift();
      batch.state = 'invalid';
    } else if (!isHeld) void run(batch);
    return batch;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://mock');
    const { method = '' } = request;
    const path = url.pathname.replace(/^(\/openai)?\/v1/, '');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const json = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    const [, google] =
      /^(?:\/upload|\/download)?\/v1beta(\/(?:batches|files|models\/[^/]+:batchGen).*)$/.exec(url.pathname) ?? [];
    if (google !== undefined) return answerOfGemini(request, response, google, text);
    const [, api, id, action] =
      /^(\/batches|\/messages\/batches|\/batch\/jobs|\/files)(?:\/([^/]+)(?:\/(\w+))?)?$/.exec(path) ?? [null, null];
    if (api === null) return pass(request, response, text);
    calls.push(`${method} ${path}`);
    if (failing?.which.test(calls.at(-1)!) && failing.times-- > 0) {
      return void json(failing.status, { error: { message: 'not now' } });
    }
    if (api === '/files') {
      if (method === 'POST') {
        const content = /filename="[^"]*"\r\n(?:[^\r\n]+\r\n)*\r\n([\s\S]*)\r\n--/.exec(text)![1]!;
        const file = newId('file-');
        files.set(file, content);
        return void json(200, { id: file, object: 'file', purpose: 'batch' });
      }
      const content = files.get(id!);
      if (content === undefined) return void json(404, { error: { message: 'No such file' } });
      if (method === 'DELETE') {
        files.delete(id!);
        return void json(200, { id, deleted: true });
      }
      return void response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(content);
    }
    const kind = api === '/batches' ? 'openai' : api === '/batch/jobs' ? 'mistral' : 'anthropic';
    const mine = batches.filter((batch) => batch.api === kind && batch.key === keyOf(request));
    if (id === undefined && method === 'GET') {
      return void json(200, { data: mine.map(shown), has_more: false, last_id: mine.at(-1)?.id ?? null });
    }
    if (id === undefined) {
      if (typeof refusals[0] === 'number') {
        return void json(refusals.shift() as number, { error: { message: 'no batches here' } });
      }
      const body = JSON.parse(text) as JsonObject;
      const input = body.input_file_id ?? (body.input_files as string[] | undefined)?.[0];
      const lines =
        kind === 'anthropic'
          ? (body.requests as JsonObject[])
          : files
              .get(String(input))!
              .split('\n')
              .map((line) => JSON.parse(line) as JsonObject);
      const batch = begin(kind, body, lines, request);
      if (swallowed === null) return void json(200, shown(batch));
      const heard = swallowed;
      swallowed = null;
      return heard(response);
    }
    const batch = mine.find((one) => one.id === id);
    if (batch === undefined) return void json(404, { error: { message: 'No such batch' } });
    if (method === 'DELETE') {
      batches.splice(batches.indexOf(batch), 1);
      return void json(200, { id });
    }
    if (action === 'results') {
      const all = [...batch.results, ...batch.errors, ...unanswered(batch)];
      return void response.writeHead(200).end(all.map((line) => `${JSON.stringify(line)}\n`).join(''));
    }
    if (action === 'cancel' && endsBeforeCancel) await run(batch);
    if (action === 'cancel' && batch.state !== 'waiting') return void json(409, { error: { message: 'it has ended' } });
    if (action === 'cancel') end(batch, 'cancelled');
    json(200, shown(batch));
  }

  async function answerOfGemini(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    text: string,
  ): Promise<void> {
    const json = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    const refused = (code: number, message: string) => json(code, { error: { code, message, status: 'FAILED' } });
    calls.push(`${request.method} ${path}`);
    const mine = batches.filter((batch) => batch.api === 'gemini' && batch.key === keyOf(request));
    const [, kind, id, action] = /^\/(\w+)(?:\/([^/:]+))?(?::(\w+))?$/.exec(path) ?? [];
    if (kind === 'files' && request.method === 'POST') {
      const { 'x-goog-upload-protocol': protocol, 'content-type': type } = request.headers;
      const [, boundary] = /^multipart\/related; boundary=(.+)$/.exec(type ?? '') ?? [];
      const [, facts, content] = text.split(`--${boundary}`).map((part) => part.split('\r\n\r\n')[1]?.trim());
      if (protocol !== 'multipart' || !request.url!.startsWith('/upload/')) return void refused(400, 'No such upload');
      const file = newId('file-');
      files.set(file, content!);
      return void json(200, { file: { ...(JSON.parse(facts!) as { file: JsonObject }).file, name: `files/${file}` } });
    }
    if (kind === 'files' && action === 'download') {
      const isDownload = request.url!.startsWith('/download/') && request.url!.endsWith('?alt=media');
      const content = isDownload ? files.get(id!.replace(/^batch-/, '')) : undefined;
      return void (content === undefined ? refused(404, 'No such file') : response.writeHead(200).end(content));
    }
    if (kind === 'files') {
      if (id!.startsWith('batch-')) return void refused(400, 'File ID cannot be more than 40 characters.');
      return void (files.delete(id!) ? json(200, {}) : refused(404, 'No such file'));
    }
    if (kind === 'models') {
      if (typeof refusals[0] === 'number') return void refused(refusals.shift() as number, 'no batches here');
      const { batch: order } = JSON.parse(text) as { batch: { inputConfig: { fileName: string } } & JsonObject };
      const lines = files.get(order.inputConfig.fileName.replace('files/', ''))!.split('\n');
      const asked = lines.map((line) => JSON.parse(line) as JsonObject);
      const batch = begin('gemini', { ...order, model: `/models/${id}` }, asked, request);
      if (swallowed === null) return void json(200, shown(batch));
      const heard = swallowed;
      swallowed = null;
      return heard(response);
    }
    if (id === undefined) {
      // The first page is empty, so that there are several.
      const isFirst = !request.url!.includes('pageToken=');
      return void json(200, isFirst ? { nextPageToken: 'next' } : { operations: mine.map(shown) });
    }
    const batch = mine.find((one) => one.id === id);
    if (batch === undefined) return void refused(404, 'No such batch');
    if (request.method === 'DELETE') {
      batches.splice(batches.indexOf(batch), 1);
      files.delete(`${id}-out`);
      return void json(200, {});
    }
    if (action === 'cancel' && batch.state !== 'waiting') return void refused(400, 'it has ended');
    if (action === 'cancel') end(batch, 'cancelled');
    json(200, action === 'cancel' ? {} : shown(batch));
  }

  function unanswered({ lines, results, errors, state }: VendorBatch): JsonObject[] {
    const told = new Set([...results, ...errors].map(({ custom_id }) => custom_id));
    const type = state === 'cancelled' ? 'canceled' : 'expired';
    return lines
      .filter(({ custom_id }) => !told.has(custom_id))
      .map(({ custom_id }) => ({ custom_id, result: { type } }));
  }

  async function pass(request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
    const { host: _, 'content-length': __, connection: ___, ...headers } = request.headers;
    const answered = await fetch(direct.url + request.url!, {
      method: request.method!,
      headers: headers as Record<string, string>,
      ...(body !== '' && { body }),
    });
    response.writeHead(answered.status, { 'content-type': answered.headers.get('content-type') ?? '' });
    response.end(Buffer.from(await answered.arrayBuffer()));
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  const url = await listening(t, server);

  return {
    url,
    ...{ direct, batches, calls, files },
    hold() {
      isHeld = true;
    },
    async finish(count) {
      isHeld = false;
      for (const batch of [...batches]) await run(batch, count);
    },
    async progress(count) {
      for (const batch of batches) if (batch.state === 'waiting') await work(batch, count);
    },
    refuse(...how) {
      refusals.push(...how);
    },
    fail(which, status, times = Number.POSITIVE_INFINITY) {
      failing = { which, status, times };
    },
    endBeforeCancel() {
      endsBeforeCancel = true;
    },
    forget() {
      endsBeforeCancel = false;
      failing = null;
      batches.length = 0;
      calls.length = 0;
    },
    swallow(onBegun) {
      swallowed = onBegun;
    },
  };

  function shown(batch: VendorBatch): JsonObject {
    const { id, api, order, lines, results, errors, state, createdMs } = batch;
    const out = files.has(`${id}-out`) ? `${id}-out` : null;
    const err = files.has(`${id}-err`) ? `${id}-err` : null;
    const created = Math.floor(createdMs / 1_000);
    if (api === 'anthropic') {
      const left = lines.length - results.length - errors.length;
      const isOpen = state === 'waiting';
      const counts = { processing: isOpen ? left : 0, succeeded: results.length, errored: errors.length };
      const rest = { canceled: state === 'cancelled' ? left : 0, expired: state === 'expired' ? left : 0 };
      return {
        ...{ id, type: 'message_batch', processing_status: isOpen ? 'in_progress' : 'ended' },
        request_counts: { ...counts, ...rest },
        created_at: new Date(createdMs).toISOString(),
      };
    }
    if (api === 'gemini') {
      const states = { waiting: 'RUNNING', ended: 'SUCCEEDED', invalid: 'FAILED' } as Record<string, string>;
      const given = out === null ? { error: { code: 1 } } : { response: { responsesFile: `files/batch-${out}` } };
      const counts = { requestCount: `${lines.length}`, successfulRequestCount: `${results.length}` };
      const { displayName, inputConfig, model } = order;
      return {
        name: `batches/${id}`,
        metadata: {
          ...{
            model: String(model).slice(1),
            displayName: displayName!,
            inputConfig: inputConfig!,
            batchStats: counts,
          },
          ...{
            createTime: new Date(createdMs).toISOString(),
            state: `BATCH_STATE_${states[state] ?? state.toUpperCase()}`,
          },
        },
        ...(state !== 'waiting' && { done: true, ...given }),
      };
    }
    if (api === 'mistral') {
      const status = { waiting: 'RUNNING', ended: 'SUCCESS', invalid: 'FAILED', cancelled: 'CANCELLED' };
      return {
        ...{ id, object: 'batch', created_at: created, input_files: order.input_files! },
        ...{ metadata: order.metadata!, output_file: out, error_file: err },
        ...{ succeeded_requests: results.length, failed_requests: errors.length },
        status: (status as Record<string, string>)[state] ?? 'TIMEOUT_EXCEEDED',
      };
    }
    const status = { waiting: 'in_progress', ended: 'completed', invalid: 'failed' } as Record<string, string>;
    return {
      ...{ id, object: 'batch', created_at: created, status: status[state] ?? state, metadata: order.metadata! },
      ...{ input_file_id: order.input_file_id!, output_file_id: out, error_file_id: err },
      request_counts: { total: lines.length, completed: results.length, failed: errors.length },
    };
  }
}

function keyOf({ headers }: IncomingMessage): string {
  return String(headers.authorization ?? headers['x-api-key'] ?? headers['x-goog-api-key']);
}

/** Resolves once `is` holds. */
export async function until(is: () => boolean): Promise<void> {
  while (!is()) await after(20);
}
