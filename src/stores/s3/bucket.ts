import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { AwsV4Signer } from 'aws4fetch';
import { Parser } from 'htmlparser2';
import { Agent, type Dispatcher, interceptors, ProxyAgent, request } from 'undici';

/** A folder in a bucket of S3-compatible storage. Keys are relative to it. Every call may reject with `S3Error`. */
export type Bucket = ReturnType<typeof createBucket>;

export interface BucketPlace {
  bucket: string;
  /** Begins every key; empty, or with a slash at its end. */
  prefix: string;
  /** Without a slash at its end. */
  endpoint: string;
  region: string;
  /** `path`: https://endpoint/bucket/key. `host`: https://bucket.endpoint/key. */
  style: 'path' | 'host';
  /** Limit of a whole call with its retries and its answer; of a read until its headers. */
  timeoutMs: number;
}

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  /** Empty: there is none. */
  sessionToken?: string;
}

/** The storage refused a call, or did not answer. Its message names the bucket and the storage's own code. */
class S3Error extends Error {
  /** Status of the answer; null when there was none. */
  readonly status: number | null;
  constructor(message: string, status: number | null) {
    super(message);
    this.status = status;
  }
}

const connectTimeoutMs = 3_000;
const bodyTimeoutMs = 30_000;
/** Read of an answer that is no object: 1,000 objects take less, and nobody needs more of an error. */
const textBytesMax = 4 * 1024 * 1024;
const errorBytesMax = 64 * 1024;
const reasonCharsMax = 500;
const retries = { maxRetries: 2, minTimeout: 100, maxTimeout: 1_000, throwOnError: false };

/** `credentials`: those of now, since they may end. `proxy`: that leads there; null for none. */
export function createBucket(
  place: BucketPlace,
  credentials: () => S3Credentials,
  proxy: { origin: URL; authorization: string | null } | null,
) {
  const timeouts = {
    connect: { timeout: connectTimeoutMs },
    headersTimeout: place.timeoutMs,
    bodyTimeout: bodyTimeoutMs,
  };
  const agent =
    proxy === null
      ? new Agent(timeouts)
      : new ProxyAgent({
          ...timeouts,
          uri: proxy.origin.href,
          ...(proxy.authorization !== null && { token: proxy.authorization }),
        });
  const dispatcher = agent.compose(interceptors.retry(retries));
  const base = new URL(place.endpoint);
  if (place.style === 'host') base.host = `${place.bucket}.${base.host}`;
  const root = `${base.href.replace(/\/$/, '')}${place.style === 'path' ? `/${place.bucket}` : ''}/`;

  async function call(method: 'GET' | 'PUT' | 'DELETE', path: string, body?: Uint8Array, type?: string) {
    const signer = new AwsV4Signer({
      method,
      url: root + path,
      headers: {
        'x-amz-content-sha256': createHash('sha256')
          .update(body ?? '')
          .digest('hex'),
        ...(type !== undefined && { 'content-type': type }),
      },
      ...credentials(),
      service: 's3',
      region: place.region,
    });
    const { url, headers } = await signer.sign();
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(new Error(`no answer within ${place.timeoutMs / 1_000} s`)),
      place.timeoutMs,
    );
    const inTime = () => clearTimeout(timer);
    try {
      const answer = await request(url, {
        method,
        headers: Object.fromEntries(headers),
        body: body ?? null,
        dispatcher,
        signal: late.signal,
      });
      answer.body.once('close', inTime);
      return { ...answer, inTime };
    } catch (error) {
      inTime();
      throw new S3Error(`${place.bucket} at ${base.host}: ${reasonOf(error)}`, null);
    }
  }

  async function refused({ statusCode, body }: Pick<Dispatcher.ResponseData, 'statusCode' | 'body'>): Promise<S3Error> {
    const fields = new Map(elements(await textOf(body, errorBytesMax).catch(() => '')));
    const words = [fields.get('Code'), fields.get('Message')].filter((word) => word !== undefined).join(': ');
    const reason = `${place.bucket} at ${base.host} answers ${statusCode} ${words}`;
    return new S3Error(reason.slice(0, reasonCharsMax).trimEnd(), statusCode);
  }

  /** Content of an answer that is no object. */
  async function read({ body }: Pick<Dispatcher.ResponseData, 'body'>, bytesMax = errorBytesMax): Promise<string> {
    try {
      return await textOf(body, bytesMax);
    } catch (error) {
      throw new S3Error(`${place.bucket} at ${base.host}: ${reasonOf(error)}`, null);
    }
  }

  const keyOf = (key: string) => (place.prefix + key).split('/').map(encodeURIComponent).join('/');

  return {
    async put(key: string, bytes: Uint8Array, type: string): Promise<void> {
      const answer = await call('PUT', keyOf(key), bytes, type);
      if (answer.statusCode !== 200) throw await refused(answer);
      await read(answer);
    },
    /** Null when there is no such object. The caller reads it to its end or destroys it. */
    async get(key: string): Promise<{ bytes: number; content: Readable } | null> {
      const answer = await call('GET', keyOf(key));
      if (answer.statusCode === 200) {
        answer.inTime();
        return { bytes: Number(answer.headers['content-length']), content: answer.body };
      }
      const error = await refused(answer);
      // A bucket that is missing is 404 too, and no answer to the question.
      if (error.status === 404 && !error.message.includes('NoSuchBucket')) return null;
      throw error;
    },
    async delete(key: string): Promise<void> {
      const answer = await call('DELETE', keyOf(key));
      if (answer.statusCode >= 300 && answer.statusCode !== 404) throw await refused(answer);
      await read(answer);
    },
    /** Up to 1,000 objects, by key, and where the next page begins; null after the last. */
    async list(after: string | null): Promise<{ objects: { key: string; atMs: number }[]; next: string | null }> {
      const query = new URLSearchParams({ 'list-type': '2', prefix: place.prefix });
      if (after !== null) query.set('continuation-token', after);
      const answer = await call('GET', `?${query}`);
      if (answer.statusCode !== 200) throw await refused(answer);
      const objects: { key: string; atMs: number }[] = [];
      let next: string | null = null;
      let fields = new Map<string, string>();
      for (const [name, text] of elements(await read(answer, textBytesMax))) {
        fields.set(name, text);
        if (name === 'NextContinuationToken') next = text;
        if (name !== 'Contents') continue;
        const key = (fields.get('Key') ?? '').slice(place.prefix.length);
        objects.push({ key, atMs: Date.parse(fields.get('LastModified') ?? '') });
        fields = new Map();
      }
      return { objects, next };
    },
    close: (): Promise<void> => agent.destroy(),
  };
}

/** The beginning of a body; the rest is not read. */
async function textOf(body: Readable, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes >= bytesMax) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, bytesMax);
}

/** Elements of an XML text as they end, the inner before the outer, each with the text after its last inner one. */
function elements(xml: string): [name: string, text: string][] {
  const found: [string, string][] = [];
  let text = '';
  const parser = new Parser(
    {
      onopentag() {
        text = '';
      },
      ontext(more) {
        text += more;
      },
      onclosetag(name) {
        found.push([name, text]);
        text = '';
      },
    },
    { xmlMode: true },
  );
  parser.end(xml);
  return found;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // When several addresses were tried, the first one's error counts.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error ? first.message : String(first);
}
