import { randomBytes } from 'node:crypto';
import { createSamlLogin, type SamlLogin, type SamlPlaces } from '../../books/auth/saml/saml-login.ts';
import { createSamlThread } from '../../books/auth/saml/saml-thread.ts';
import type { SignedIdentity } from '../../books/auth/saml/signed-identity.ts';
import type { SamlConfig } from '../../config/schema/schema-dashboard.ts';
import { sendWhole } from '../../inference/spine/sink.ts';
import { isFailure, statusOf } from '../../kernel/failure.ts';
import { clientNetwork } from '../../kernel/network.ts';
import type { Exchange } from '../exchange.ts';
import { linkBaseOf } from '../link-base.ts';
import { readBody } from '../read-body.ts';
import { noStore } from './login-attempt.ts';
import { createLoginThrottle } from './login-throttle.ts';
import {
  type Begun,
  createBegunCookie,
  enter,
  loginMaxMs,
  notBegunHere,
  type ProviderSignInParts,
  safePlace,
  sendLoginPage,
  sendTo,
  tooManyFailed,
} from './provider-sign-in.ts';

export interface SamlSignInParts extends ProviderSignInParts {
  saml(): SamlConfig | undefined;
}

/** Login by a SAML identity provider: a browser goes there by a link, and comes back with a form. */
export type SamlSignIn = ReturnType<typeof createSamlSignIn>;

interface BegunSaml extends Begun {
  /** Id of its request, which a signed assertion must name. */
  requestId: string;
}

const startPath = '/dashboard/saml/start';
/** A thousand groups with long names are 200 KB of XML; base64 and the form make more of it. */
const formBytesMax = 512 * 1024;
const notConfigured = 'This server has no login by SAML.';
const noResponse = 'The identity provider sent no readable response. Begin again.';
const notConfirmed = 'This server did not accept the response of the identity provider. Begin again.';

export function createSamlSignIn(parts: SamlSignInParts) {
  const { clock, addressOf } = parts;
  const door = openDoor(parts);
  const { throttle, cookie, login, failed } = door;

  return {
    async start(exchange: Exchange): Promise<void> {
      const config = parts.saml();
      if (config === undefined) return failed(exchange, 404, notConfigured);
      try {
        const query = new URLSearchParams(exchange.search);
        // An id of XML begins with no digit.
        const requestId = `_${randomBytes(20).toString('hex')}`;
        const ask = query.has('another') ? 'anew' : 'as-usual';
        const url = await login(config).begin(requestId, placesOf(exchange, parts), ask);
        cookie.keep(exchange, { requestId, to: safePlace(query.get('to')), untilMs: clock.wallMs() + loginMaxMs });
        sendTo(exchange, url);
      } catch (error) {
        failed(exchange, 502, 'The identity provider does not answer right now. Try again in a moment.', error);
      }
    },
    /** The assertion consumer service. */
    async consume(exchange: Exchange): Promise<void> {
      const config = parts.saml();
      if (config === undefined) return failed(exchange, 404, notConfigured);
      if ((await throttle.refusal(addressOf(exchange.request))) !== null) return failed(exchange, 429, tooManyFailed);
      const form = await formIn(exchange);
      if (form === null) return;
      if ('status' in form) return failed(exchange, form.status, noResponse);
      const { to = safePlace(form.relayState), before = null } = cookie.read(exchange) ?? {};
      const signed = await signedIn(exchange, { config, form, door, parts });
      if (signed === null || !(await isFirstUse(exchange, signed, { door, parts }))) return;
      const another = `${startPath}?another`;
      const { identity } = signed;
      await enter(exchange, { identity, roles: config.roles, login: 'saml', to, before, another }, parts);
    },
    async metadata(exchange: Exchange): Promise<void> {
      const config = parts.saml();
      if (config === undefined) return failed(exchange, 404, notConfigured);
      try {
        const xml = await login(config).metadata(placesOf(exchange, parts));
        sendWhole(exchange.client, ['content-type', 'application/samlmetadata+xml', ...noStore], xml, 200);
      } catch (error) {
        failed(exchange, 503, 'The metadata cannot be written now. Try again in a moment.', error);
      }
    },
  };
}

type Door = ReturnType<typeof openDoor>;

/** State and words that all steps of a login share. */
function openDoor(parts: SamlSignInParts) {
  const { clock, onTrouble } = parts;
  const thread = createSamlThread();
  let known: { config: SamlConfig; login: SamlLogin } | null = null;
  return {
    throttle: createLoginThrottle(clock, parts.tally, 'logins'),
    cookie: createBegunCookie<BegunSaml>('saml', 'post', parts),
    login(config: SamlConfig): SamlLogin {
      if (known?.config !== config) known = { config, login: createSamlLogin(config, { clock, thread, onTrouble }) };
      return known.login;
    },
    /** The log says why; the browser gets words that tell an attacker nothing. */
    failed(exchange: Exchange, status: number, message: string, why?: unknown): void {
      if (why !== undefined) onTrouble(`login by SAML failed: ${String(why).slice(0, 500)}`);
      sendLoginPage(exchange, status, message);
    },
  };
}

function placesOf({ request }: Exchange, { server, addressOf }: SamlSignInParts): SamlPlaces {
  const base = `${linkBaseOf(request, server())}/dashboard/saml`;
  return { acs: `${base}/acs`, metadata: `${base}/metadata`, client: clientNetwork(addressOf(request)) };
}

/** The identity of a response for this browser. Null: it was refused, with a page. */
async function signedIn(
  exchange: Exchange,
  { config, form, door, parts }: { config: SamlConfig; form: Form; door: Door; parts: SamlSignInParts },
): Promise<SignedIdentity | null> {
  const refuse = (status: number, message: string, why?: string) => {
    door.failed(exchange, status, message, why);
    return null;
  };
  const begun = door.cookie.read(exchange);
  door.cookie.drop(exchange);
  if (begun === null && !config.idp_initiated) return refuse(400, notBegunHere);
  const attempt = await door.throttle.attempt(parts.addressOf(exchange.request));
  if (isFailure(attempt)) return refuse(429, tooManyFailed);
  const brought = { xml: form.xml, requestId: begun?.requestId ?? null };
  const signed = await door
    .login(config)
    .finish(brought, placesOf(exchange, parts))
    .catch((error: unknown) => ({ why: String(error) }));
  if ('why' in signed) {
    attempt.failed();
    return refuse(401, notConfirmed, signed.why);
  }
  attempt.passed();
  return signed;
}

/** Whether an assertion logs a browser in for the first time, at any replica. Otherwise it was refused, with a page. */
async function isFirstUse(
  exchange: Exchange,
  { identity, assertionId, endsMs }: SignedIdentity,
  { door, parts }: { door: Door; parts: SamlSignInParts },
): Promise<boolean> {
  const isFirst = await parts.sessions
    .useAssertion({ issuer: identity.issuer, id: assertionId, endsMs })
    .catch((error: unknown) => door.failed(exchange, 503, 'The login cannot be stored now. Try again.', error));
  if (isFirst === false) {
    door.failed(exchange, 401, notConfirmed, `the assertion '${assertionId.slice(0, 100)}' was used before`);
  }
  return isFirst === true;
}

interface Form {
  xml: string;
  relayState: string | null;
}

/** Null: the caller left while sending. `status`: of the page that refuses it. */
async function formIn(exchange: Exchange): Promise<Form | { status: number } | null> {
  const type = exchange.request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') return { status: 415 };
  const body = await readBody(exchange, formBytesMax);
  if (body === null) return null;
  if (!Buffer.isBuffer(body)) return { status: statusOf(body) };
  const fields = new URLSearchParams(body.toString());
  const [response, another] = fields.getAll('SAMLResponse');
  if (response === undefined || another !== undefined) return { status: 400 };
  const xml = Buffer.from(response, 'base64').toString();
  return xml === '' ? { status: 400 } : { xml, relayState: fields.get('RelayState') };
}
