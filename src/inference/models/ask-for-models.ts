import type { CredentialHeaders } from '../../formats/providers/credential-headers.ts';
import { encodeGet } from '../../formats/providers/encode.ts';
import type { ProviderConnection } from '../../formats/providers/provider-connection.ts';
import { getJson, type JsonAnswer, postJson } from '../../upstream/transport/get-json.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';

/** Asks for one of a provider's lists, with its first credential where none is given. Rejects as `getJson` does. */
export function askForModels(
  transport: Transport,
  connection: ProviderConnection,
  path: string,
  timeoutMs: number,
  credential?: CredentialHeaders,
): Promise<JsonAnswer> {
  const address = encodeGet(connection, path, credential);
  const { listRequest } = connection.provider;
  if (listRequest === undefined) return getJson(transport, address, timeoutMs);
  const headers = [...address.headers, ...listRequest.headers];
  return postJson(transport, { ...address, headers }, listRequest.body, timeoutMs);
}
