import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, isFailure, unauthenticated } from '../../kernel/failure.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import { hashKey } from './key-directory.ts';
import type { KeyRing, Opened } from './key-ring.ts';
import { type Login, type ProviderLogin, providerLogins, type SessionRow, type SessionStore } from './session-store.ts';

/** How one proved who they are; the session is over when that no longer opens anything. */
export type Proof =
  | { login: Exclude<Login, ProviderLogin> /** Hash of a key. */; credential: string }
  | { login: ProviderLogin /** Its id. */; operator: string };

/** One logged-in browser, as of now. */
export interface Session {
  id: string;
  login: Login;
  who: Opened;
  /** Goes in `x-culvert-csrf` with whatever changes something. */
  csrf: string;
  /** Wall-clock ms: its absolute end, or the idle one where that is nearer. */
  endsMs: number;
}

/** Sessions of the dashboard, over their store. Store errors are FailureErrors. */
export type Sessions = ReturnType<typeof createSessions>;

/** A session of a row, with its present key or operator. */
export type KnownSession = Omit<SessionRow, 'hash' | 'credential' | 'operator'> & { who: Opened };

export interface SessionRules {
  /** Ms. */
  session_idle: number;
  session_max: number;
  /** Without them nobody logs in this way, and existing sessions end. */
  oidc?: unknown;
  saml?: unknown;
}

const secretBytes = 32;
/** Characters that `secretBytes` have in base64url. */
const secretPattern = /^[\w-]{43}$/;
const publicIdLength = 16;
/** Largest number of one key or operator; opening one more ends the oldest. */
export const sessionsMax = 100;
export const loginTokenMs = 10 * 60_000;
/** `seen` is written at most so often. */
const seenStepMs = 60_000;
const agentCharsMax = 200;

export function createSessions(parts: {
  /** Opened when it is first needed. */
  store(): Promise<SessionStore>;
  ring: Pick<KeyRing, 'opens' | 'operator' | 'adminHash'>;
  clock: Clock;
  rules(): SessionRules;
}) {
  const { store, ring, clock, rules } = parts;

  function endOf(row: SessionRow): number {
    return Math.min(row.endsMs, row.seenMs + rules().session_idle);
  }

  /** Null: it is over. */
  function whoOf(row: SessionRow, address: () => string | null): Opened | null {
    if (endOf(row) <= clock.wallMs()) return null;
    const who = opened(row, address);
    return isFailure(who) ? null : who;
  }

  function opened(
    { login, credential, operator: id }: Pick<SessionRow, 'login' | 'credential' | 'operator'>,
    address: () => string | null,
  ): Opened | Failure {
    if (credential !== null) return ring.opens(credential, address);
    const isOn = providerLogins.some((one) => one === login && rules()[one] !== undefined);
    const operator = id === null || !isOn ? null : ring.operator(id);
    return operator === null ? operatorRemoved : { to: 'admin', operator };
  }

  function sessionOf(row: SessionRow, secret: string, who: Opened): Session {
    return { id: row.id, login: row.login, who, csrf: csrfOf(secret), endsMs: endOf(row) };
  }

  async function rowOf(secret: string): Promise<SessionRow | null> {
    return secretPattern.test(secret) ? (await store()).find(hashKey(secret)) : null;
  }

  return {
    /** `secret` is the cookie's, and kept nowhere. */
    async open(
      proof: Proof,
      { address, agent }: { address: string | null; agent: string },
    ): Promise<{ secret: string; session: Session } | Failure> {
      const { login } = proof;
      const credential = 'credential' in proof ? proof.credential : null;
      const operator = 'operator' in proof ? proof.operator : null;
      const who = opened({ login, credential, operator }, () => address);
      if (isFailure(who)) return who;
      const secret = randomBytes(secretBytes).toString('base64url');
      const nowMs = clock.wallMs();
      const row: SessionRow = {
        id: `ses_${randomBase62(publicIdLength)}`,
        hash: hashKey(secret),
        login,
        credential,
        operator,
        address: address ?? '',
        agent: agent.slice(0, agentCharsMax),
        createdMs: nowMs,
        seenMs: nowMs,
        endsMs: nowMs + rules().session_max,
      };
      await (await store()).open(row, sessionsMax);
      return { secret, session: sessionOf(row, secret, who) };
    },
    /** Null: there is none, it is over, or its key or operator is gone. `address`: for keys that are bound to some. */
    async find(secret: string, address: () => string | null): Promise<Session | null> {
      const row = await rowOf(secret);
      const who = row === null ? null : whoOf(row, address);
      if (row === null || who === null) return null;
      const nowMs = clock.wallMs();
      if (nowMs - row.seenMs >= seenStepMs) {
        row.seenMs = nowMs;
        // An operator who repairs a full disk must stay logged in.
        await (await store()).seen(row.id, nowMs).catch(() => undefined);
      }
      return sessionOf(row, secret, who);
    },
    /** Ends the one with this secret, if there is one. */
    async end(secret: string): Promise<void> {
      const row = await rowOf(secret);
      if (row !== null) await (await store()).end(row.id);
    },
    /** Sessions that are not over, newest first. */
    async list(): Promise<readonly KnownSession[]> {
      const rows = await (await store()).list();
      return rows.flatMap((row) => {
        const { hash: _hash, credential: _credential, operator: _operator, ...rest } = row;
        const who = whoOf(row, () => row.address);
        return who === null ? [] : [{ ...rest, endsMs: endOf(row), who }];
      });
    },
    /** False when there is none. */
    async endById(id: string): Promise<boolean> {
      return (await store()).end(id);
    },
    /** Credential that a login link gives; null: there is no admin key. */
    adminCredential: (): string | null => ring.adminHash(),
    /** A login that works once, for the holder of this credential. */
    async issueToken(credential: string): Promise<{ token: string; endsMs: number }> {
      const token = randomBytes(secretBytes).toString('base64url');
      const endsMs = clock.wallMs() + loginTokenMs;
      await (await store()).issueToken({ hash: hashKey(token), credential, endsMs });
      return { token, endsMs };
    },
    /** Null: it never was, was used, or is over. */
    async redeemToken(token: string): Promise<Proof | null> {
      if (!secretPattern.test(token)) return null;
      const row = await (await store()).redeemToken(hashKey(token), clock.wallMs());
      return row === null ? null : { login: 'token', credential: row.credential };
    },
    /** False when this assertion of this issuer has logged a browser in before, at any replica. */
    useAssertion: async ({ issuer, id, endsMs }: { issuer: string; id: string; endsMs: number }): Promise<boolean> =>
      (await store()).useAssertion(hashKey(`${issuer}\n${id}`), endsMs, clock.wallMs()),
  };
}

const operatorRemoved = unauthenticated('This operator was removed.');

/** Follows from the cookie's secret, which no page can read: nothing more is kept. */
function csrfOf(secret: string): string {
  return hash('sha256', `culvert csrf ${secret}`, 'base64url');
}

/** Compares in constant time. */
export function isCsrf(session: Session, given: string | undefined): boolean {
  const expected = Buffer.from(session.csrf);
  const got = Buffer.from(given ?? '');
  return got.length === expected.length && timingSafeEqual(got, expected);
}
