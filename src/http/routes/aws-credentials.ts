import type { AwsKeys } from '../../books/auth/aws-keys.ts';
import { hashKey, never } from '../../books/auth/key-directory.ts';
import { type KeyRing, keyHeaders } from '../../books/auth/key-ring.ts';
import { bedrockConverse } from '../../formats/dialects/bedrock-converse/index.ts';
import { refuse } from '../../inference/spine/sink.ts';
import type { Clock } from '../../kernel/clock.ts';
import { forbidden, invalid } from '../../kernel/failure.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { writeJson } from '../write-json.ts';
import { keyRoute } from './key-route.ts';

export interface AwsCredentialsParts {
  awsKeys: Pick<AwsKeys, 'issue'>;
  ring: Pick<KeyRing, 'opens'>;
  clock: Pick<Clock, 'wallMs'>;
  addressOf(request: Exchange['request']): string | null;
}

const lifetimeMs = 3_600_000;

/**
 * `GET /v1/aws-credentials`: a pair that signs for the key that asks, in the form in which AWS's SDKs read the credentials
 * of a container (`AWS_CONTAINER_CREDENTIALS_FULL_URI`): for an hour, and with `?lifetime=key` for as long as the key.
 */
export function awsCredentialsRoute(parts: AwsCredentialsParts): Route {
  return keyRoute('GET /v1/aws-credentials', 'free', {
    summary: "Credentials for AWS's SDKs, which sign requests for the key",
    dialect: bedrockConverse,
    handle: (exchange) => answer(parts, exchange),
  });
}

function answer({ awsKeys, ring, clock, addressOf }: AwsCredentialsParts, exchange: Exchange): void {
  const { client, request } = exchange;
  const { tenant } = callerOf(exchange);
  const lifetime = new URLSearchParams(exchange.search).get('lifetime');
  if (lifetime !== null && lifetime !== 'key') {
    return refuse(client, invalid('lifetime', "'lifetime' may be 'key'. Leave it out for an hour."), []);
  }
  const { authorization = '', ...headers } = request.headers;
  const sent = [authorization.replace(/^bearer +/i, ''), ...keyHeaders.map((name) => headers[name])].find((secret) => {
    const isSent = typeof secret === 'string' && secret !== '';
    const opened = isSent ? ring.opens(hashKey(secret), () => addressOf(request)) : null;
    return opened !== null && 'to' in opened && opened.to === 'v1' && opened.principal.tenant === tenant;
  });
  if (typeof sent !== 'string') {
    const message = 'Credentials are for keys alone: sessions, tokens and keys of runs have none. Send a key.';
    return refuse(client, forbidden(message), []);
  }
  const expiresMs = lifetime === 'key' ? never : clock.wallMs() + lifetimeMs;
  const { accessKeyId, secretAccessKey } = awsKeys.issue({ hash: hashKey(sent), expiresMs });
  const pair = { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey };
  // AWS's SDKs want a token where credentials end; the id says all here.
  const ends = { Token: 'culvert', Expiration: new Date(expiresMs === never ? 0 : expiresMs).toISOString() };
  writeJson(exchange, 200, { Version: 1, ...pair, ...(expiresMs !== never && ends) }, ['cache-control', 'no-store']);
}
