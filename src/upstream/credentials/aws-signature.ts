import { createHash, createHmac, hash } from 'node:crypto';
import type { SignatureV4 } from '@smithy/signature-v4';
import type { Clock } from '../../kernel/clock.ts';
import {
  type Authorizer,
  isUploadBody,
  type UpstreamRequest,
  type UpstreamUpload,
} from '../transport/upstream-call.ts';
import { type AwsKeys, type AwsSource, findAwsKeys } from './aws-chain.ts';
import { createRenewed } from './expiring-credential.ts';

/** Signs each request (Signature Version 4) with keys of AWS's chain, which are renewed before they expire. */
export function awsAuthorizer(source: AwsSource, service: string, clock: Clock): Authorizer {
  const keys = createRenewed(() => findAwsKeys(source, clock.wallMs()), clock);
  let signer: { of: AwsKeys; signature: SignatureV4 } | null = null;

  async function signerFor(current: AwsKeys): Promise<SignatureV4> {
    if (signer?.of === current) return signer.signature;
    const { SignatureV4: Signature } = await import('@smithy/signature-v4');
    const signature = new Signature({
      credentials: current,
      region: source.region,
      service,
      sha256: NodeSha256,
      // Nothing but S3 wants it in a header.
      applyChecksum: false,
    });
    signer = { of: current, signature };
    return signature;
  }

  return async (request) => {
    const signature = await signerFor(await keys.get());
    const digest = isUploadBody(request.body) ? await digestOf(request.body) : undefined;
    const signed = await signature.sign(signable(request, digest), { signingDate: new Date(clock.wallMs()) });
    return ['authorization', 'x-amz-date', 'x-amz-security-token', contentDigest].flatMap((name) => {
      const value = signed.headers[name];
      return value === undefined ? [] : [name, value];
    });
  };
}

/** A request in the signer's form. Host and the service's own headers are signed: proxies may change the others. */
function signable({ origin, path, method, headers, body }: UpstreamRequest, digest: string | undefined) {
  const { protocol, hostname, host, port } = new URL(origin);
  const signedHeaders: Record<string, string> = { host };
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    if (name === 'content-type' || name.startsWith('x-amz')) signedHeaders[name] = headers[i + 1]!;
  }
  if (digest !== undefined) signedHeaders[contentDigest] = digest;
  const at = path.indexOf('?');
  const query: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(at < 0 ? '' : path.slice(at))) query[name] = value;
  return {
    protocol,
    hostname,
    ...(port !== '' && { port: Number(port) }),
    method,
    path: at < 0 ? path : path.slice(0, at),
    query,
    headers: signedHeaders,
    body: isUploadBody(body) ? undefined : (body ?? undefined),
  };
}

/** The signer takes the hash of the body from here where it is not given the body. */
const contentDigest = 'x-amz-content-sha256';

/** An upload is never whole in memory, so it is read once more for its hash. */
async function digestOf(upload: UpstreamUpload): Promise<string> {
  const sha256 = createHash('sha256');
  for await (const chunk of upload.open()) sha256.update(chunk);
  return sha256.digest('hex');
}

/** Node's own SHA-256 in the shape that the signer wants, at once over all that it was given. */
class NodeSha256 {
  readonly #secret: string | Uint8Array | undefined;
  #given: Uint8Array[] = [];

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#secret = secret === undefined || typeof secret === 'string' ? secret : bytesOf(secret);
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#given.push(typeof data === 'string' ? Buffer.from(data) : bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    const all = this.#given.length > 1 ? Buffer.concat(this.#given) : (this.#given[0] ?? Buffer.alloc(0));
    return Promise.resolve(
      this.#secret === undefined
        ? hash('sha256', all, 'buffer')
        : createHmac('sha256', this.#secret).update(all).digest(),
    );
  }

  reset(): void {
    this.#given = [];
  }
}

function bytesOf(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
