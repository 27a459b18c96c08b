import type { UpstreamAddress } from '../../../formats/providers/encode.ts';
import type { Failure } from '../../../kernel/failure.ts';
import type { Transport, UpstreamHeaders } from '../../../upstream/transport/upstream-call.ts';
import type { Delivery, Failed } from '../../spine/sink.ts';
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

type Place = Pick<UpstreamAddress, 'origin' | 'route' | 'path' | 'headers' | 'authorize'>;

/** Headers of a file that its caller needs to show how far it is, and to go on where it broke off. */
const fileHeaders = ['content-length', 'content-range', 'accept-ranges', 'etag', 'last-modified'];
const printable = /^[ -~]+$/;
const plainRange = /^bytes=[\d,\- ]{1,200}$/;

/** Sends a video's bytes as they come; nothing of it is kept here. Ends the client's answer. */
export async function sendVideo(transport: Transport, caller: VideoCaller, content: VideoContent): Promise<void> {
  const { client, headers, takes } = caller;
  if (content.kind === 'bytes') {
    const length = takes === 'embedded' ? [] : ['content-length', String(content.bytes.length)];
    client.start('bytes', [...headers, 'content-type', content.type, ...length], 200);
    if (takes !== 'head') client.chunk(content.bytes);
    return client.end(null);
  }
  let address: Place = content.address;
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
      ...proof,
    };
  }
  client.end({
    failure: { kind: 'overloaded', message: 'The address of the video is one that Culvert does not fetch.' },
    headers,
  });
}

/** Where it leads; null: the client has its answer. */
function streamed(
  transport: Transport,
  { client, headers, takes, range }: VideoCaller,
  address: Place,
): Promise<string | null> {
  return new Promise((resolve) => {
    let isOver = false;
    const part = takes === 'file' && range !== null && plainRange.test(range) ? ['range', range] : [];
    const leave = (leads: string | null) => {
      isOver = true;
      running.abort();
      resolve(leads);
    };
    const end = (failed: Failed | null) => {
      client.end(failed);
      resolve(null);
    };
    const times = { connectTimeoutMs, headersTimeoutMs: silenceMs, bodyTimeoutMs: silenceMs };
    const running = transport.send(
      { ...address, ...times, headers: [...address.headers, ...part], method: 'GET', body: null },
      {
        headers(status, head) {
          const leads = head.get('location');
          if (status >= 300 && status <= 399 && leads !== undefined) return leave(leads);
          if (status !== 200 && (status !== 206 || part.length === 0)) {
            leave(null);
            const lengths = status === 416 ? namedIn(head, ['content-range']) : [];
            return client.end({ failure: whyNot(status), headers: [...headers, ...lengths] });
          }
          client.start('bytes', [...headers, ...fileHeadersOf(head, takes)], status);
          if (takes !== 'head') return;
          leave(null);
          client.end(null);
        },
        data(chunk) {
          if (!isOver && client.chunk(chunk) === 'behind') running.pause();
        },
        ended() {
          if (!isOver) end(null);
        },
        failed({ message: why }) {
          const message = `The provider of the video failed: ${why}. Retry it.`;
          if (!isOver) end({ failure: { kind: 'overloaded', message }, headers });
        },
      },
    );
    client.onDrain(() => running.resume());
    client.onDisconnect(() => leave(null));
  });
}

/** The lengths of an encoded file are not those of the bytes that leave here. */
function fileHeadersOf(head: UpstreamHeaders, takes: VideoCaller['takes']): string[] {
  const type = ['content-type', head.get('content-type') ?? 'video/mp4'];
  const isPlain = takes !== 'embedded' && head.get('content-encoding') === undefined;
  return isPlain ? [...type, ...namedIn(head, fileHeaders)] : type;
}

function namedIn(head: UpstreamHeaders, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const value = head.get(name);
    return value === undefined || !printable.test(value) ? [] : [name, value];
  });
}

function whyNot(status: number): Failure {
  if (status === 416) {
    const provider = 'the provider of the video';
    const message = "it has no bytes in the place that the header 'Range' names.";
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
