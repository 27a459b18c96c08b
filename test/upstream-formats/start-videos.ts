import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/**
 * An upstream that makes videos: OpenAI's jobs below /v1, Gemini's and Vertex' operations elsewhere. A job of OpenAI's is
 * seen by its key alone. Hand-made from the published formats.
 */
export interface VideoUpstream {
  url: string;
  requests: readonly VideoRequest[];
  /** Everything that was begun is finished. */
  finish(): void;
  /** Everything that was begun fails. */
  failAll(): void;
  /** The next jobs of OpenAI's get these statuses. */
  refuse(...statuses: number[]): void;
  /** The next looks at jobs of OpenAI's, lists and deletions get these statuses. */
  refuseLooks(...statuses: number[]): void;
  /** The bytes of a finished video come in pieces without an end. */
  sendForEver(): void;
  /** Pieces of such a video that were sent. */
  readonly pieces: number;
  /** Where Google's links to files lead. */
  leadTo(url: string): void;
  /** It answers nothing any more. */
  leave(): void;
}

export interface VideoRequest {
  method: string;
  path: string;
  key: string;
  contentType: string;
  body: string;
  range: string | undefined;
}

export const clip = Buffer.from('the bytes of a clip\0\xff', 'latin1');

/** The clip, or the part of it from one byte on. */
function sendClip(range: string | undefined, response: ServerResponse): void {
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? Number.NaN);
  const type = { 'content-type': 'video/mp4', 'accept-ranges': 'bytes' };
  const of = (first: number) => `bytes ${first}-${clip.length - 1}/${clip.length}`;
  if (Number.isNaN(from)) response.writeHead(200, { ...type, 'content-length': clip.length }).end(clip);
  else if (from >= clip.length) response.writeHead(416, { 'content-range': `bytes */${clip.length}` }).end();
  else {
    const head = { ...type, 'content-length': clip.length - from, 'content-range': of(from) };
    response.writeHead(206, head).end(clip.subarray(from));
  }
}

interface Job {
  id: string;
  key: string;
  state: 'queued' | 'completed' | 'failed';
  facts: Record<string, unknown>;
}

export async function startVideos(t: Pick<TestContext, 'after'>): Promise<VideoUpstream> {
  const jobs = new Map<string, Job>();
  const requests: VideoRequest[] = [];
  const refusals: number[] = [];
  const lookRefusals: number[] = [];
  let isEndless = false;
  let pieces = 0;
  let made = 0;
  let storage = '/storage';
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const begin = (key: string, facts: Record<string, unknown>): Job => {
    made += 1;
    const job: Job = { id: `video_${made}`, key, state: 'queued', facts: { created_at: made, ...facts } };
    jobs.set(job.id, job);
    return job;
  };
  const shown = ({ id, state, facts }: Job) => ({
    id,
    object: 'video',
    status: state,
    progress: state === 'completed' ? 100 : 0,
    error: state === 'failed' ? { code: 'moderation_blocked', message: 'no' } : null,
    ...facts,
  });

  function answer(request: VideoRequest, response: ServerResponse): void {
    const json = (status: number, value: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const { method, key } = request;
    const [path = '', search] = request.path.split('?');
    const query = new URLSearchParams(search);
    const refusal = method === 'POST' && path === '/v1/videos' ? refusals.shift() : undefined;
    if (refusal !== undefined) return json(refusal, { error: { message: 'refused', code: refusal } });

    const [, rest] = /^\/v1\/videos(\/.*)?$/.exec(path) ?? [null, null];
    if (rest !== null) {
      const lookRefusal = method === 'POST' ? undefined : lookRefusals.shift();
      if (lookRefusal !== undefined) {
        return json(lookRefusal, { error: { message: `not now, ${key}`, type: 'invalid_request_error' } });
      }
      if (rest === undefined && method === 'POST') {
        const field = (name: string) =>
          new RegExp(`name="${name}"\\r\\n(?:[^\\r\\n]+\\r\\n)*\\r\\n([^\\r]*)\\r\\n`).exec(request.body)?.[1];
        const isForm = request.contentType.startsWith('multipart/');
        const body = isForm ? {} : (JSON.parse(request.body) as Record<string, unknown>);
        const told = Object.fromEntries(
          ['model', 'prompt', 'seconds', 'size'].map((name) => [name, isForm ? field(name) : body[name]]),
        );
        return json(200, shown(begin(key, told)));
      }
      if (rest === undefined) {
        const own = [...jobs.values()].filter((job) => job.key === key).toReversed();
        const from = own.findIndex(({ id }) => id === query.get('after')) + 1;
        const data = own.slice(from, from + Number(query.get('limit') ?? 20)).map(shown);
        return json(200, { object: 'list', data, has_more: from + data.length < own.length });
      }
      const [, id = '', more] = rest.split('/');
      const job = jobs.get(id);
      if (job === undefined || job.key !== key) return json(404, { error: { message: 'no such video' } });
      if (more === 'remix') {
        const { prompt } = JSON.parse(request.body) as { prompt: string };
        return json(200, shown(begin(key, { ...job.facts, prompt, remixed_from_video_id: id })));
      }
      if (more === 'content') {
        if (job.state !== 'completed') return json(404, { error: { message: 'not ready' } });
        if (!isEndless) return sendClip(request.range, response);
        response.writeHead(200, { 'content-type': 'video/mp4' });
        const timer = setInterval(() => {
          pieces += 1;
          response.write(clip);
        }, 5);
        response.on('close', () => clearInterval(timer));
        return;
      }
      if (method === 'DELETE') {
        jobs.delete(id);
        return json(200, { id, object: 'video.deleted', deleted: true });
      }
      return json(200, shown(job));
    }

    const started = /^\/(v1beta|v1\/projects\/[^/]+\/locations\/[^/]+)\/(.*models\/[^/:]+):predictLongRunning$/.exec(
      path,
    );
    if (started !== null) {
      const job = begin(key, { body: JSON.parse(request.body) });
      const place = started[1] === 'v1beta' ? '' : `${started[1]!.slice(3)}/`;
      return json(200, { name: `${place}${started[2]}/operations/${job.id}` });
    }
    const operation =
      method === 'GET'
        ? /^\/v1beta\/(models\/.*\/operations\/.*)$/.exec(path)?.[1]
        : (JSON.parse(request.body) as { operationName?: string }).operationName;
    const job = jobs.get(operation?.split('/').at(-1) ?? '');
    if (job !== undefined && job.key === key) {
      const isGemini = method === 'GET';
      const done = {
        generateVideoResponse: { generatedSamples: [{ video: { uri: `${url()}/v1beta/files/${job.id}` } }] },
      };
      const inline = { videos: [{ bytesBase64Encoded: clip.toString('base64'), mimeType: 'video/mp4' }] };
      if (job.state === 'queued') return json(200, { name: operation });
      if (job.state === 'failed') return json(200, { name: operation, done: true, error: { code: 3, message: 'no' } });
      return json(200, { name: operation, done: true, response: isGemini ? done : inline });
    }
    if (path.startsWith('/v1beta/files/')) {
      if (jobs.get(path.split('/').at(-1)!)?.key !== key) return json(403, { error: { message: 'not yours' } });
      // Google leads to its storage, which wants no key.
      response.writeHead(302, { location: storage }).end();
      return;
    }
    if (path === '/storage') {
      return sendClip(request.range, response);
    }
    json(404, { error: { message: `nothing at ${method} ${path}` } });
  }

  const server = createServer((incoming: IncomingMessage, response) => {
    const pieces: Buffer[] = [];
    incoming.on('data', (piece: Buffer) => pieces.push(piece));
    incoming.on('end', () => {
      const { headers, method = '', url: path = '' } = incoming;
      const key = String(headers['x-goog-api-key'] ?? headers['api-key'] ?? headers.authorization ?? '');
      const body = Buffer.concat(pieces).toString('latin1');
      const contentType = headers['content-type'] ?? '';
      const request = { method, path, key, contentType, body, range: headers.range };
      // The lists of models that a start asks for are nothing to these tests.
      if (!/\/(models|deployments)(\?.*)?$/.test(path)) requests.push(request);
      answer(request, response);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const leave = () => {
    server.closeAllConnections();
    server.close();
  };
  t.after(leave);
  const become = (state: Job['state']) => {
    for (const job of jobs.values()) if (job.state === 'queued') job.state = state;
  };
  return {
    url: url(),
    requests,
    finish: () => become('completed'),
    failAll: () => become('failed'),
    refuse: (...statuses) => refusals.push(...statuses),
    refuseLooks: (...statuses) => lookRefusals.push(...statuses),
    sendForEver: () => {
      isEndless = true;
    },
    get pieces() {
      return pieces;
    },
    leadTo: (url) => {
      storage = url;
    },
    leave,
  };
}
