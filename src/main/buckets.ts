import type { S3Config } from '../config/schema.ts';
import { amazonDomain } from '../formats/providers/services/bedrock.ts';
import { installCommand, isInstalled } from '../kernel/optional-package.ts';
import { StartRefused } from '../processes/lifetime.ts';
import type { Bucket } from '../stores/s3/bucket.ts';
import type { ProxyOf } from '../upstream/transport/proxy.ts';

export interface BucketParts {
  env: Readonly<Record<string, string | undefined>>;
  proxyOf: ProxyOf;
  /** Has the keys of now, after reloads; those of the start by default. */
  snapshots?: { current: { config: { storage: { s3: S3Config } } } };
}

/** A caller that waits for a picture gets its answer soon. */
const defaultTimeoutMs = 10_000;

/**
 * How the bucket of `url` (`s3://bucket/folder`) is opened. `field` names it in messages. Throws `StartRefused` when there
 * are no keys for it, or not what signs with them.
 */
export function bucketOpener(url: string, s3: S3Config, field: string, parts: BucketParts & { timeoutMs?: number }) {
  const { env, proxyOf, snapshots, timeoutMs = defaultTimeoutMs } = parts;
  const { hostname: bucket, pathname } = new URL(url);
  const folder = pathname.replace(/^\/|\/$/g, '');
  const keysIn = ({ access_key_id, secret_access_key, session_token }: S3Config) => ({
    accessKeyId: access_key_id ?? env.AWS_ACCESS_KEY_ID ?? '',
    secretAccessKey: secret_access_key ?? env.AWS_SECRET_ACCESS_KEY ?? '',
    sessionToken: session_token ?? env.AWS_SESSION_TOKEN ?? '',
  });
  const { accessKeyId, secretAccessKey } = keysIn(s3);
  if (accessKeyId === '' || secretAccessKey === '') {
    throw new StartRefused(
      `${field} is ${url}, but there are no keys for it. Set storage.s3.access_key_id and secret_access_key, or the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`,
    );
  }
  if (!isInstalled('aws4fetch')) {
    throw new StartRefused(`${field} is ${url}, which needs the package aws4fetch. Run ${installCommand('aws4fetch')}`);
  }
  const region = s3.region ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1');
  const configured = s3.endpoint ?? (env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || null);
  const endpoint = configured?.replace(/\/$/, '') ?? `https://s3.${region}.${amazonDomain(region)}`;
  // A certificate of `*.s3.…` does not cover a bucket with a dot in its name.
  const isPath = s3.path_style ?? (configured !== null || bucket.includes('.'));
  return async (): Promise<Bucket> => {
    const { createBucket } = await import('../stores/s3/bucket.ts');
    return createBucket(
      {
        ...{ bucket, endpoint, region, timeoutMs },
        prefix: folder === '' ? '' : `${folder}/`,
        style: isPath ? 'path' : 'host',
      },
      () => keysIn(snapshots?.current.config.storage.s3 ?? s3),
      proxyOf(new URL(endpoint)),
    );
  };
}
