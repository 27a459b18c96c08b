import { type Clock, systemClock } from '../../kernel/clock.ts';
import { objectIn } from '../../kernel/json.ts';
import { withoutSecrets } from '../../kernel/secret-spellings.ts';
import { postJson } from '../transport/get-json.ts';
import { type Authorizer, NotAuthorized, type Transport, type UpstreamRoute } from '../transport/upstream-call.ts';
import { bearerOf, createRenewed, type Perishable } from './expiring-credential.ts';

const publicAddress = 'https://iam.cloud.ibm.com';
const timeoutMs = 10_000;
const reasonCharsMax = 300;

/**
 * Exchanges an API key of IBM Cloud for tokens, which serve for an hour at most
 * (https://cloud.ibm.com/docs/account?topic=account-iamtoken_from_apikey). `address` is that of IAM, if it is not the
 * public one.
 */
export function ibmIamAuthorizer(apiKey: string, address: string | undefined, clock: Clock = systemClock): Authorizer {
  let way: { route: UpstreamRoute | undefined; transport: Transport } | null = null;
  const token = createRenewed(() => fetchToken(apiKey, address ?? publicAddress, way!, clock), clock);
  return ({ route }, transport) => {
    way = { route, transport };
    return bearerOf(token);
  };
}

async function fetchToken(
  apiKey: string,
  address: string,
  { route, transport }: { route: UpstreamRoute | undefined; transport: Transport },
  clock: Clock,
): Promise<Perishable<string>> {
  const { origin, pathname } = new URL(address);
  const form = new URLSearchParams({ grant_type: 'urn:ibm:params:oauth:grant-type:apikey', apikey: apiKey });
  const headers = ['content-type', 'application/x-www-form-urlencoded', 'accept', 'application/json'];
  const path = `${pathname.replace(/\/$/, '')}/identity/token`;
  const { status, body } = await postJson(
    transport,
    { origin, path, headers, route },
    form.toString(),
    timeoutMs,
  ).catch((error: unknown) => {
    throw new NotAuthorized(`IBM Cloud IAM did not answer: ${error instanceof Error ? error.message : error}`);
  });
  const { access_token: token, expires_in: seconds, errorMessage: why } = objectIn(body);
  if (status !== 200 || typeof token !== 'string') {
    const reason = typeof why === 'string' ? withoutSecrets(why, [apiKey]).slice(0, reasonCharsMax) : '';
    throw new NotAuthorized(`IBM Cloud IAM gave no token for the key: ${status} ${reason}`.trimEnd());
  }
  const lastsMs = typeof seconds === 'number' ? seconds * 1_000 : 0;
  return { value: token, expiresAtMs: clock.wallMs() + lastsMs };
}
