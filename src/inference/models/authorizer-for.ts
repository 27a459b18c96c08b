import type { ProviderConfig } from '../../config/schema.ts';
import type { Provider, TokenIssuer } from '../../formats/providers/provider.ts';
import { systemClock } from '../../kernel/clock.ts';
import type { AwsSource } from '../../upstream/credentials/aws-chain.ts';
import { awsAuthorizer } from '../../upstream/credentials/aws-signature.ts';
import { type AzureCloud, entraAuthorizer } from '../../upstream/credentials/entra.ts';
import { googleAuthorizer } from '../../upstream/credentials/google.ts';
import { ibmIamAuthorizer } from '../../upstream/credentials/ibm-iam.ts';
import type { Authorizer } from '../../upstream/transport/upstream-call.ts';

/** By who asks: a reload, and every look at the lists of models, goes on with the credentials that are held. */
const held = new Map<string, Authorizer>();
const heldMax = 1_000;

/**
 * The authorizer of a provider whose credential is no header of a fixed value; undefined: it is such a header, or there
 * is none. A token of this machine goes to the issuer's own services, or where the configuration names the
 * issuer: one who may set a provider's address cannot have it sent there.
 */
export function authorizerFor(
  provider: Provider,
  config: ProviderConfig,
  secret: string | null,
): Authorizer | undefined {
  const { auth, tokens, regional } = provider;
  if (auth === 'ibm-iam' && secret !== null) {
    const { iam_url: iamUrl } = config;
    return once([auth, secret, iamUrl], () => ibmIamAuthorizer(secret, iamUrl));
  }
  if (regional !== undefined) return awsAuthorizerFor(regional.service, config, bearerFor(provider, config, secret));
  if (tokens === undefined) return undefined;
  // The JSON of a service account is in the place of a key.
  if (tokens.id === 'google' && secret?.startsWith('{')) {
    return once(['google key', secret], () => googleAuthorizer({ credentials: secret }));
  }
  if (secret !== null || !mayHaveTokens(tokens, config)) return undefined;
  if (tokens.id === 'google') {
    const credentialsFile = config.google?.credentials_file;
    return once(['google', credentialsFile], () => googleAuthorizer({ credentialsFile }));
  }
  const { entra, base_url: baseUrl } = config;
  const [, cloud] = /\.azure\.(us|cn)$/.exec(baseUrl === undefined ? '' : new URL(baseUrl).hostname) ?? [];
  const facts = {
    tenantId: entra?.tenant_id,
    clientId: entra?.client_id,
    clientSecret: entra?.client_secret,
    certificateFile: entra?.certificate_file,
    scope: entra?.scope,
    authority: entra?.authority,
    cloud: cloud as AzureCloud | undefined,
  };
  return once(['entra', facts], () => entraAuthorizer(facts, process.env));
}

function mayHaveTokens(tokens: TokenIssuer, config: ProviderConfig): boolean {
  if (config[tokens.id] !== undefined) return true;
  const { base_url: baseUrl, proxy, tls } = config;
  if (proxy !== undefined || tls !== undefined) return false;
  // Without an address of the operator's, it is the service's own.
  if (baseUrl === undefined) return true;
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'https:' && tokens.hosts.test(hostname);
}

function awsAuthorizerFor(service: string, config: ProviderConfig, token: string | null): Authorizer | undefined {
  const region = regionOf(config);
  if (region === undefined) return undefined;
  if (token !== null) {
    const headers = ['authorization', `Bearer ${token}`];
    return () => headers;
  }
  const source = awsSourceOf(config.aws, region);
  return once(['aws', source, service], () => awsAuthorizer(source, service, systemClock));
}

/** Where keys of AWS come from, as the configuration writes it. */
export function awsSourceOf(aws: NonNullable<ProviderConfig['aws']> = {}, region: string): AwsSource {
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token: sessionToken } = aws;
  const keys =
    accessKeyId === undefined || secretAccessKey === undefined
      ? undefined
      : { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
  return { keys, profile: aws.profile, roleArn: aws.role_arn, externalId: aws.external_id, region };
}

/** A key of the service instead of a signature, which not each service of AWS has; the environment's is for AWS alone. */
function bearerFor(
  { auth, envKey }: Provider,
  { aws, base_url: baseUrl, tls }: ProviderConfig,
  secret: string | null,
): string | null {
  if (auth === 'none' || secret !== null) return auth === 'none' ? null : secret;
  // With certificates of the operator's to trust, a proxy could pose as AWS.
  const isAws =
    tls === undefined &&
    (baseUrl === undefined || /^https:\/\/[^/]+\.amazonaws\.com(\.cn)?(:443)?(\/|$)/.test(baseUrl));
  return (aws === undefined && isAws && envKey !== null && process.env[envKey]?.trim()) || null;
}

/** The region that the configuration names, else that of the address, else the environment's. */
export function regionOf({
  region,
  base_url: baseUrl,
}: Pick<ProviderConfig, 'region' | 'base_url'>): string | undefined {
  const inAddress = /\.([a-z]{2}(?:-[a-z]+)+-\d)\.(?:amazonaws\.com|vpce\.)/.exec(baseUrl ?? '')?.[1];
  return region ?? inAddress ?? (process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION || undefined);
}

function once(who: unknown, make: () => Authorizer): Authorizer {
  const key = JSON.stringify(who);
  let authorizer = held.get(key);
  if (authorizer === undefined) {
    if (held.size >= heldMax) held.clear();
    authorizer = make();
    held.set(key, authorizer);
  }
  return authorizer;
}
