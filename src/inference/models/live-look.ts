import { readError } from '../../formats/dialects/openai-chat/errors.ts';
import type { CredentialHeaders } from '../../formats/providers/credential-headers.ts';
import { type Discovery, discoverModels } from '../../formats/providers/discover.ts';
import { encodeGet, type UpstreamAddress } from '../../formats/providers/encode.ts';
import type { DiscoveredModel } from '../../formats/providers/provider.ts';
import { type ProviderConnection, pathOf } from '../../formats/providers/provider-connection.ts';
import { scrub } from '../../formats/providers/scrub.ts';
import { getJson } from '../../upstream/transport/get-json.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import { askForModels } from './ask-for-models.ts';

/** The answer to one credential of a provider when it was asked for its list of models, right now. */
export interface LiveLook {
  provider: string;
  /** `provider#0`… */
  credential: string;
  verdict: 'ok' | 'not listed' | 'bad credential' | 'unreachable' | 'failed';
  /** The provider's message without secrets; '' when all is well. Of an `ok`, that the key was not tested. */
  message: string;
  models: number;
  listed: readonly DiscoveredModel[];
  ms: number;
}

const lookTimeoutMs = 10_000;

/** Asks a provider for its list of models, once with each credential, all at the same time. Never rejects. */
export function lookAtProvider(transport: Transport, connection: ProviderConnection): Promise<LiveLook[]> {
  return Promise.all([...connection.credentials].map(([id, headers]) => lookAt(transport, connection, id, headers)));
}

async function lookAt(
  transport: Transport,
  connection: ProviderConnection,
  credential: string,
  headers: CredentialHeaders,
): Promise<LiveLook> {
  const startedMs = performance.now();
  let unreachable: string | null = null;
  const found = await discoverModels(connection, async (_, path) => {
    unreachable = null;
    return askForModels(transport, connection, path, lookTimeoutMs, headers).catch((error: unknown) => {
      unreachable = error instanceof Error ? error.message : String(error);
      throw error;
    });
  });
  const refused = found.ok ? await refusalOf(transport, connection, headers) : null;
  return {
    provider: connection.name,
    credential,
    ...judged(refused ?? found, unreachable),
    ...(found.ok && keyCallOf(connection, headers) === null && { message: unproven }),
    ms: Math.round(performance.now() - startedMs),
  };
}

const unproven = 'Everybody may read its list of models, so the key was not tested.';

/** The call that says who a key is; null: no free call does. Undefined: its list does. */
function keyCallOf(connection: ProviderConnection, headers: CredentialHeaders): UpstreamAddress | null | undefined {
  const { basePath, isAtHome, provider } = connection;
  const { key } = provider.paths;
  if (key == null) return key;
  if (typeof key === 'string' || 'fromOrigin' in key) return encodeGet(connection, pathOf(key, basePath), headers);
  return isAtHome ? { ...encodeGet(connection, key.path, headers), origin: key.origin } : null;
}

/** The answer to this key of a provider whose list is public; null when it accepts it, or cannot be asked. */
async function refusalOf(
  transport: Transport,
  connection: ProviderConnection,
  headers: CredentialHeaders,
): Promise<Discovery | null> {
  const { name } = connection;
  const address = keyCallOf(connection, headers) ?? null;
  if (address === null) return null;
  const answer = await getJson(transport, address, lookTimeoutMs).catch(() => null);
  if (answer?.status !== 401 && answer?.status !== 403) return null;
  const detail = readError(answer.body)?.message;
  return {
    ok: false,
    reason: 'bad_credential',
    message: `${name} answered ${answer.status} to its key`,
    ...(detail !== undefined && { detail: scrub(detail, connection) }),
  };
}

type Judged = Pick<LiveLook, 'verdict' | 'message' | 'models' | 'listed'>;

function judged(found: Discovery, unreachable: string | null): Judged {
  if (found.ok) return { verdict: 'ok', message: '', models: found.models.length, listed: found.models };
  const nothing = { models: 0, listed: [] };
  if (unreachable !== null) return { verdict: 'unreachable', message: unreachable, ...nothing };
  if (found.reason === 'not-listed') return { verdict: 'not listed', message: found.message, ...nothing };
  const verdict = found.reason === 'bad_credential' ? 'bad credential' : 'failed';
  const detail = found.detail === undefined ? '' : `: ${found.detail}`;
  return { verdict, message: `${found.message}${detail}`, ...nothing };
}
