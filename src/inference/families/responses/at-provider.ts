import { encodeGet } from '../../../formats/providers/encode.ts';
import { FailureError } from '../../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { askJson } from '../../../upstream/transport/get-json.ts';
import { responseNotFound } from './expand.ts';
import type { ResponsesServices } from './services.ts';

const timeoutMs = 30_000;

/**
 * Asks for a response that its provider keeps, with the credential that made it. `rest`: what of the path and query
 * follows its id. Throws a FailureError when no provider has it, or none that answers.
 */
export async function atProvider(
  { objects, snapshots, transport }: ResponsesServices,
  tenant: string,
  id: string,
  { method, rest }: { method: 'GET' | 'DELETE'; rest: string },
): Promise<JsonObject> {
  const credential = (await objects.homeOf(tenant, id))?.credential ?? null;
  const home = [...snapshots.current.providers.values()].find(
    ({ connection }) => credential !== null && connection.credentials.has(credential),
  )?.connection;
  if (credential === null || home === undefined || home.responsesPath === null)
    throw new FailureError(responseNotFound(id));
  const path = `${home.responsesPath}/${encodeURIComponent(id)}${rest}`;
  const address = encodeGet(home, path, home.credentials.get(credential));
  const { status, body } = await askJson(transport, { ...address, method, body: null }, timeoutMs).catch(() => {
    throw new FailureError({ kind: 'overloaded', message: `${home.name}, which keeps this response, did not answer.` });
  });
  if (status >= 200 && status <= 299 && isObject(body)) return body;
  if (status === 404) throw new FailureError(responseNotFound(id));
  const message = `${home.name}, which keeps this response, answered ${status}. Retry it.`;
  throw new FailureError({ kind: 'overloaded', message });
}
