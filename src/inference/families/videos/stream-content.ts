import type { UpstreamAddress } from '../../../formats/providers/encode.ts';
import type { Failure } from '../../../kernel/failure.ts';
import type { Transport } from '../../../upstream/transport/upstream-call.ts';
import type { Delivery } from '../../spine/sink.ts';
import type { VideoContent } from './jobs.ts';

const connectTimeoutMs = 3_000;
/** Until it begins, and between two pieces. */
const silenceMs = 60_000;
/** Google's links lead to its storage. */
const redirectsMax = 3;
const googleHosts = /\.(googleapis|googleusercontent)\.com$/;

/** Caller of a video. `head`: it takes the headers alone, and the bytes stay at the provider. */
export interface VideoCaller {
  client: Delivery;
  headers: readonly string[];
  takes: 'all' | 'head';
}

/** Sends a video's bytes as they come; nothing of it is kept here. Ends the client's answer. */
export async function sendVideo(transport: Transport, caller: VideoCaller, content: VideoContent): Promise<void> {
  const { client, headers } = caller;
  if (content.kind === 'bytes') {
    client.start('bytes', [...headers, 'content-type', content.type], 200);
    client.chunk(content.bytes);
    client.end(null);
    return;
  }
  let address: Pick<UpstreamAddress, 'origin' | 'route' | 'path' | 'headers' | 'authorize'> = content.address;
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
  { client, headers, takes }: VideoCaller,
  address: Pick<UpstreamAddress, 'origin' | 'route' | 'path' | 'headers' | 'authorize'>,
): Promise<string | null> {
  return new Promise((resolve) => {
    let isOver = false;
    const refused = (failure: Failure) => {
      isOver = true;
      running.abort();
      client.end({ failure, headers });
      resolve(null);
    };
    const running = transport.send(
      {
        ...address,
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
          if (status !== 200) return refused(whyNot(status));
          const type = head.get('content-type') ?? 'video/mp4';
          client.start('bytes', [...headers, 'content-type', type], 200);
          if (takes === 'all') return;
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

function whyNot(status: number): Failure {
  if (status === 404 || status === 400 || status === 409) {
    return {
      kind: 'not-found',
      param: 'video_id',
      message: `The provider has no such content (${status}): the video is not finished, or it has expired.`,
    };
  }
  return { kind: 'overloaded', message: `The provider of the video answered ${status}. Retry it.` };
}
