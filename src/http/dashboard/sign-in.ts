import { hashKey } from '../../books/auth/key-directory.ts';
import { type KeyRing, unknownKey } from '../../books/auth/key-ring.ts';
import { adminOperator, type Operator } from '../../books/auth/operator.ts';
import type { ProviderLogin } from '../../books/auth/session-store.ts';
import type { Proof, Session } from '../../books/auth/sessions.ts';
import type { SharedTally } from '../../books/metering/tally.ts';
import { refuse } from '../../inference/spine/sink.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, forbidden, invalid, isFailure, unauthenticated } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { parseObject } from '../../kernel/parse-object.ts';
import { type Exchange, headerOf } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { writeJson } from '../write-json.ts';
import { sessionAddressOf, sessionCookie } from './cookie.ts';
import { noStore, readLogin } from './login-attempt.ts';
import { createLoginThrottle } from './login-throttle.ts';
import { type DoorParts, sessionOf, sessionSecret } from './session-door.ts';

export interface SignInParts extends DoorParts {
  ring: Pick<KeyRing, 'principalOf' | 'opens'>;
  /** Looks whether another process has made a key that is not known. */
  lookForKey(): Promise<void>;
  clock: Clock;
  /** Counts logins that failed on other replicas; null: there are none. */
  tally: SharedTally | null;
  version: string;
  /** Logins at a provider, as configured now. */
  providers(): Readonly<Record<ProviderLogin, { name: string } | null>>;
  /** Writes a login of an operator into the audit trail. Never rejects: who mends a full disk must get in. */
  onOperator(operator: Operator, session: Session, address: string | null): Promise<void>;
  /** Address where a browser that has logged out here logs out at the provider; null: none. */
  endSessionUrl(exchange: Exchange): Promise<string | null>;
}

/** `/dashboard/session`: shows who is logged in, logs in and out. */
export type SignIn = ReturnType<typeof createSignIn>;

export type OpenedSession = Session | Failure;

const bodyBytesMax = 4 * 1024;
const secretCharsMax = 256;

const ways = ['token', 'admin_key', 'key'] as const;
type Way = (typeof ways)[number];

/** One answer for whatever is wrong with it, so that none tells which. */
const refused: Readonly<Record<Way, Failure>> = {
  token: unauthenticated("This login link was used or has expired. 'culvert dashboard' makes another one."),
  admin_key: unauthenticated('This is neither the admin key of this server nor the key of an operator.'),
  key: unauthenticated('The API key is not valid.'),
};
const adminInPlaceOfKey = forbidden('This is an admin key, not an API key. Log in with it as an operator.');

const keyInPlaceOfAdmin = forbidden('This is an API key, not an admin key. Log in with it as an API key.');

export function createSignIn(parts: SignInParts) {
  const { sessions, clock, addressOf, server } = parts;
  const throttle = createLoginThrottle(clock, parts.tally, 'logins');
  const addressFor = ({ request }: Exchange) => sessionAddressOf(request, server());

  /** Makes a new secret each time and ends the browser's earlier session: nobody can have planted it. */
  async function open(
    exchange: Exchange,
    proof: Proof,
    address: string | null,
    earlier: string | null = null,
  ): Promise<OpenedSession> {
    const before = sessionSecret(exchange.request, server()) ?? earlier;
    const agent = headerOf(exchange, 'user-agent') ?? '';
    const opened = await sessions.open(proof, { address, agent });
    if (isFailure(opened)) return opened;
    if (before !== null) await sessions.end(before);
    const { secret, session } = opened;
    if (session.who.to === 'admin') await parts.onOperator(session.who.operator, session, address);
    const cookie = sessionCookie(secret, session.endsMs - clock.wallMs(), addressFor(exchange));
    exchange.response.appendHeader('set-cookie', cookie);
    return session;
  }

  return {
    /** Opens a session for a proof, and gives the browser its cookie. */
    open,
    async start(exchange: Exchange): Promise<void> {
      const deny = (failure: Failure) => refuse(exchange.client, failure, noStore);
      const address = addressOf(exchange.request);
      const login = await readLogin(exchange, address, { throttle, server, read: presentedIn });
      if (login === null) return;
      const { given, attempt } = login;
      const proof = await proofOf(parts, given, address);
      if (isFailure(proof)) {
        attempt.failed();
        return deny(proof);
      }
      attempt.passed();
      const session = await open(exchange, proof, address);
      if (isFailure(session)) return deny(session);
      writeJson(exchange, 200, { session: shownSession(session, parts.version) }, noStore);
    },
    async read(exchange: Exchange): Promise<void> {
      const session = await sessionOf(parts, exchange, 'not-needed');
      if (!isFailure(session)) return writeJson(exchange, 200, shownSession(session, parts.version), noStore);
      if (session.kind !== 'unauthenticated') return refuse(exchange.client, session, noStore);
      // Every visit of the login page asks this: its browser's console would show a 401 as an error.
      writeJson(exchange, 200, { kind: 'nobody', login: parts.providers() }, noStore);
    },
    async end(exchange: Exchange): Promise<void> {
      const session = await sessionOf(parts, exchange, 'needed');
      if (isFailure(session)) return refuse(exchange.client, session, noStore);
      await sessions.end(sessionSecret(exchange.request, server()) ?? '');
      exchange.response.setHeader('set-cookie', sessionCookie(null, 0, addressFor(exchange)));
      const elsewhere = session.login === 'oidc' ? await parts.endSessionUrl(exchange) : null;
      writeJson(exchange, 200, { ended: true, end_session_url: elsewhere }, noStore);
    },
  };
}

interface Presented {
  way: Way;
  secret: string;
}

async function proofOf(
  { sessions, ring, lookForKey }: SignInParts,
  { way, secret }: Presented,
  address: string | null,
): Promise<Proof | Failure> {
  if (way === 'token') return (await sessions.redeemToken(secret)) ?? refused.token;
  const credential = hashKey(secret);
  const open = () => ring.opens(credential, () => address);
  const known = open();
  const opened = known === unknownKey ? await lookForKey().then(open) : known;
  // A key of a suspended account, or from a wrong address: its holder may know why.
  if (isFailure(opened)) return opened.kind === 'forbidden' && way === 'key' ? opened : refused[way];
  if (way === 'key') return opened.to === 'v1' ? { login: 'key', credential } : adminInPlaceOfKey;
  if (opened.to !== 'admin') return keyInPlaceOfAdmin;
  return { login: opened.operator === adminOperator ? 'admin_key' : 'operator_key', credential };
}

/** Null: the caller left while sending. */
async function presentedIn(exchange: Exchange): Promise<Presented | Failure | null> {
  const body = await readJsonBody(exchange, bodyBytesMax);
  if (!Buffer.isBuffer(body)) return body;
  const parsed = parseObject(body);
  if (isFailure(parsed)) return parsed;
  const given = Object.entries(parsed.body);
  const [name, value] = given[0] ?? [];
  const way = ways.find((one) => one === name);
  if (way === undefined || given.length !== 1) {
    return invalid(null, 'Send one of {"token": …}, {"admin_key": …} and {"key": …}.');
  }
  if (typeof value !== 'string' || value === '' || value.length > secretCharsMax) {
    return invalid(way, `${way}: expected 1 to ${secretCharsMax} characters`);
  }
  return { way, secret: value.trim() };
}

/** A session as its page sees it; `csrf` goes in `x-culvert-csrf`. */
export function shownSession({ id, login, who, csrf, endsMs }: Session, version: string): JsonObject {
  const rest = { id, login, csrf, expires_at: new Date(endsMs).toISOString(), version };
  if (who.to === 'admin') {
    const { name, role, accounts } = who.operator;
    return { kind: 'operator', name, role, accounts: accounts === null ? null : [...accounts], ...rest };
  }
  const { account, keyId, keyName } = who.principal;
  return { kind: 'key', account, key: { id: keyId, name: keyName }, ...rest };
}
