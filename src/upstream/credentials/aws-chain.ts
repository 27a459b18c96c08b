import { installCommand, isInstalled } from '../../kernel/optional-package.ts';
import { NotAuthorized } from '../transport/upstream-call.ts';
import type { Perishable } from './expiring-credential.ts';

/** Keys that sign requests to AWS. */
export interface AwsKeys {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** Where the keys come from; what is absent is looked for as AWS's own tools do. */
export interface AwsSource {
  keys?: AwsKeys | undefined;
  /** Profile of ~/.aws/config and ~/.aws/credentials. */
  profile?: string | undefined;
  /** Assumed with whatever the rest gives. */
  roleArn?: string | undefined;
  externalId?: string | undefined;
  region: string;
}

const chainPackage = '@aws-sdk/credential-providers';

/** `$source`: the SDK's marks of the steps that gave them. */
type Found = AwsKeys & { expiration?: Date; $source?: object };
type Step = readonly [name: string, find: () => Promise<Found>];

/** Keys of a file are read again after this time: nothing says when a tool renews them. */
const fileServesMs = 5_000;

/**
 * The first keys that a step of AWS's chain gives: the configuration, else the environment, SSO and profiles, a process,
 * a web identity, and the container or the machine. Rejects with `NotAuthorized`, which names each step that was tried.
 */
export async function findAwsKeys(source: AwsSource, nowMs: number): Promise<Perishable<AwsKeys>> {
  const { roleArn, externalId, region } = source;
  const found = roleArn === undefined ? await sourceKeys(source) : await assumed(roleArn, externalId, region, source);
  const { accessKeyId, secretAccessKey, sessionToken, expiration, $source = {} } = found;
  const unlimited = 'CREDENTIALS_PROFILE' in $source ? nowMs + fileServesMs : null;
  return {
    value: { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
    expiresAtMs: expiration === undefined ? unlimited : expiration.getTime(),
  };
}

async function assumed(
  roleArn: string,
  externalId: string | undefined,
  region: string,
  source: AwsSource,
): Promise<Found> {
  const { fromTemporaryCredentials } = await loadChain();
  const masterCredentials = async () => {
    try {
      return await sourceKeys(source);
    } catch (error) {
      if (!(error instanceof NotAuthorized)) throw error;
      throw new NotAuthorized(`role ${roleArn} cannot be assumed: ${error.message}`);
    }
  };
  const params = { RoleArn: roleArn, RoleSessionName: 'culvert', ...(externalId && { ExternalId: externalId }) };
  const assume = fromTemporaryCredentials({ masterCredentials, params, clientConfig: { region } });
  return firstOf([[`role ${roleArn}`, assume]]);
}

async function sourceKeys({ keys, profile }: AwsSource): Promise<Found> {
  if (keys !== undefined) return keys;
  const fromEnvironment = profile === undefined && !process.env.AWS_PROFILE ? environmentKeys() : null;
  if (fromEnvironment !== null) return fromEnvironment;
  const chain = await loadChain();
  // The SDK reads each file once otherwise, and a missing one never again.
  const named = { ignoreCache: true, ...(profile !== undefined && { profile }) };
  const shown = profile ?? (process.env.AWS_PROFILE || 'default');
  const ofProfile: Step[] = [
    [`profile ${shown}`, chain.fromIni(named)],
    [`SSO of profile ${shown}`, chain.fromSSO(named)],
    [`process of profile ${shown}`, chain.fromProcess(named)],
  ];
  if (profile !== undefined) return firstOf(ofProfile);
  const inContainer = ['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI', 'AWS_CONTAINER_CREDENTIALS_FULL_URI'];
  const machine: Step = inContainer.some((name) => process.env[name] !== undefined)
    ? ['container', chain.fromHttp({ timeout: remoteTimeoutMs })]
    : ['instance metadata', instanceKeys(chain)];
  return firstOf([
    ['environment', () => Promise.reject(new Error('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set'))],
    ...ofProfile,
    ['web identity', chain.fromTokenFile()],
    machine,
  ]);
}

const remoteTimeoutMs = 2_000;

function instanceKeys(chain: Awaited<ReturnType<typeof loadChain>>): () => Promise<Found> {
  const disabled = process.env.AWS_EC2_METADATA_DISABLED === 'true';
  if (disabled) return () => Promise.reject(new Error('AWS_EC2_METADATA_DISABLED is true'));
  return chain.fromInstanceMetadata({ timeout: remoteTimeoutMs, maxRetries: 1 });
}

function environmentKeys(): Found | null {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) return null;
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
  };
}

const reasonCharsMax = 160;

async function firstOf(steps: readonly Step[]): Promise<Found> {
  const tried: string[] = [];
  for (const [name, find] of steps) {
    try {
      return await find();
    } catch (error) {
      if (error instanceof NotAuthorized) throw error;
      tried.push(`${name} (${reasonOf(error)})`);
    }
  }
  throw new NotAuthorized(`AWS gave no credentials; tried: ${tried.join(', ')}`);
}

/** On one line, and without the keys that a broken file might be quoted with. */
function reasonOf(error: unknown): string {
  const [text = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
  // Names of variables are no keys.
  const line = text.replace(/\b(?!AWS_[A-Z0-9_]+\b)[A-Za-z0-9+/=_-]{20,}/g, '…');
  return line.length <= reasonCharsMax ? line : `${line.slice(0, reasonCharsMax)}…`;
}

async function loadChain() {
  if (!isInstalled(chainPackage)) {
    throw new NotAuthorized(
      `AWS credentials of a profile, SSO, a role or a machine need a package. Run ${installCommand(chainPackage)}`,
    );
  }
  return import('@aws-sdk/credential-providers');
}
