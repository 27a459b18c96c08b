import type { UpstreamAddress } from '../../../formats/providers/encode.ts';
import type { Failure } from '../../../kernel/failure.ts';
import type { Transport, UpstreamHeaders } from '../../../upstream/transport/upstream-call.ts';
import type { Delivery } from '../../spine/sink.ts';
import type { VideoContent } from './jobs.ts';

const connectTimeoutMs = 3_000;
/** Until it begins, and between two pieces. */
const silenceMs = 60_000;
/** Google's links lead to its storage. */
const redirectsMax = 3;
const googleHosts = /\.(googleapis|googleusercontent)\.com$/;

/**
 * Caller of a video. `file`: its bytes, of which `range` (the header of RFC 9110 §14.2) may ask for a part. `head`: the
 * headers alone, and the bytes stay at the provider. `embedded`: the bytes within another answer.
 */
export interface VideoCaller {
  client: Delivery;
  headers: readonly string[];
  takes: 'file' | 'head' | 'embedded';
  range: string | null;
}

interface Place extends Pick<UpstreamAddress, 'origin' | 'route' | 'path' | 'headers' | 'authorize'> {
  provider: string;
}

/** Headers of a file that its caller needs to show how far it is, and to go on where it broke off. */
const fileHeaders = ['content-length', 'content-range', 'accept-ranges', 'etag', 'last-modified'];
const printable = /^[ -~]+$/;
const plainRange = /^bytes=[\d,\- ]{1,200}$/;

/** Sends a video's bytes as they come; nothing of it is kept here. Ends the client's answer. */
export async function sendVideo(transport: Transport, caller: VideoCaller, content: VideoContent): Promise<void> {
  const { client, headers } = caller;
  if (content.kind === 'bytes') return sendBytes(caller, content);
  const { provider } = content;
  let address: Place = { ...content.address, provider };
  for (let redirects = 0; redirects <= redirectsMax; redirects++) {
    const leads = await streamed(transport, caller, address);
    if (leads === null) return;
    const url = URL.parse(leads, address.origin + address.path);
    if (
      url === null ||
      (url.origin !== address.origin && !(url.protocol === 'https:' && googleHosts.test(url.hostname)))
    )
      break;
    const isUpstream = url.origin === content.address.origin;
    const proof = isUpstream
      ? { headers: content.address.headers, authorize: content.address.authorize }
      : { headers: [] };
    address = {
      origin: url.origin,
      route: isUpstream ? content.address.route : undefined,
      path: url.pathname + url.search,
      provider,
      ...proof,
    };
  }
  client.end({
    failure: { kind: 'overloaded', message: 'The address of the video is one that Culvert does not fetch.' },
    headers,
  });
}

/** A range that a server does not know is ignored (RFC 9110 §14.2). */
function sendBytes({ client, headers, takes }: VideoCaller, { bytes, type }: Extract<VideoContent, { kind: 'bytes' }>) {
  const length = takes === 'embedded' ? [] : ['content-length', String(bytes.length)];
  client.start('bytes', [...headers, 'content-type', type, ...length], 200);
  if (takes !== 'head') client.chunk(bytes);
  client.end(null);
}

/** Where it leads; null: the client has its answer. */
function streamed(
  transport: Transport,
  { client, headers, takes, range }: VideoCaller,
  { provider, ...address }: Place,
): Promise<string | null> {
  return new Promise((resolve) => {
    let isOver = false;
    const part = takes === 'file' && range !== null && plainRange.test(range) ? ['range', range] : [];
    const refused = (failure: Failure, more: readonly string[] = []) => {
      isOver = true;
      running.abort();
      client.end({ failure, headers: [...headers, ...more] });
      resolve(null);
    };
    const running = transport.send(
      {
        ...address,
        headers: [...address.headers, ...part],
        method: 'GET',
        body: null,
        connectTimeoutMs,
        headersTimeoutMs: silenceMs,
        bodyTimeoutMs: silenceMs,
      },
      {
        headers(status, head) {
          const leads = head.get('location');
          if (status >= 300 && status <= 399 && leads !== undefined) {
            isOver = true;
            running.abort();
            return resolve(leads);
          }
          const isPart = status === 206 && part.length > 0;
          if (status !== 200 && !isPart)
            return refused(whyNot(status, provider), status === 416 ? namedIn(head, ['content-range']) : []);
          const type = head.get('content-type') ?? 'video/mp4';
          // The lengths of an encoded file are not those of the bytes that leave here.
          const isFile = takes !== 'embedded' && head.get('content-encoding') === undefined;
          client.start(
            'bytes',
            [...headers, 'content-type', type, ...(isFile ? namedIn(head, fileHeaders) : [])],
            status,
          );
          if (takes !== 'head') return;
          isOver = true;
          running.abort();
          client.end(null);
          resolve(null);
        },
        data(chunk) {
          if (!isOver && client.chunk(chunk) === 'behind') running.pause();
        },
        ended() {
          if (isOver) return;
          client.end(null);
          resolve(null);
        },
        failed({ message }) {
          if (isOver) return;
          const failure = { kind: 'overloaded', message: `The provider of the video ${message}. Retry it.` } as const;
          client.end({ failure, headers });
          resolve(null);
        },
      },
    );
    client.onDrain(() => running.resume());
    client.onDisconnect(() => {
      isOver = true;
      running.abort();
      resolve(null);
    });
  });
}

function namedIn(head: UpstreamHeaders, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const value = head.get(name);
    return value === undefined || !printable.test(value) ? [] : [name, value];
  });
}

function whyNot(status: number, provider: string): Failure {
  if (status === 416) {
    const message = "the video has no bytes in the place that the header 'Range' names.";
    return { kind: 'upstream-refused', status, provider, message, param: null };
  }
  if (status === 404 || status === 400 || status === 409) {
    return {
      kind: 'not-found',
      param: 'video_id',
      message: `The provider has no such content (${status}): the video is not finished, or it has expired.`,
    };
  }
  return { kind: 'overloaded', message: `The provider of the video answered ${status}. Retry it.` };
}
