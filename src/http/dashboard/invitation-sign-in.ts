import {
  acceptInvitation,
  type InvitationParts,
  noInvitation,
  openedInvitation,
} from '../../books/auth/invitations.ts';
import type { Proof } from '../../books/auth/sessions.ts';
import type { SharedTally } from '../../books/metering/tally.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { parseObject } from '../../kernel/parse-object.ts';
import type { Exchange } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { writeJson } from '../write-json.ts';
import { noStore, readLogin } from './login-attempt.ts';
import { createLoginThrottle } from './login-throttle.ts';
import type { DoorParts } from './session-door.ts';
import { type OpenedSession, shownSession } from './sign-in.ts';

export interface InvitationSignInParts extends DoorParts, InvitationParts {
  /** Counts links that failed on other replicas; null: there are none. */
  tally: SharedTally | null;
  version: string;
  /** The ring of this process knows the operator once it resolves. */
  refresh(): Promise<unknown>;
  open(exchange: Exchange, proof: Proof, address: string | null): Promise<OpenedSession>;
}

/** `/dashboard/invitation`: who opens a link sees what it gives, and accepts. */
export type InvitationSignIn = ReturnType<typeof createInvitationSignIn>;

const bodyBytesMax = 4 * 1024;
const textCharsMax = 256;

export function createInvitationSignIn(parts: InvitationSignInParts) {
  const { clock, addressOf, server } = parts;
  const throttle = createLoginThrottle(clock, parts.tally, 'logins');

  /** Counts a wrong link as a login that failed, so that nobody tries many. */
  function guarded(
    work: (given: Given, exchange: Exchange, address: string | null) => Promise<JsonObject | Failure>,
  ): (exchange: Exchange) => Promise<void> {
    return async (exchange) => {
      const address = addressOf(exchange.request);
      const login = await readLogin(exchange, address, { throttle, server, read: givenIn });
      if (login === null) return;
      const { given, attempt } = login;
      const reply = await work(given, exchange, address);
      if (reply === noInvitation) attempt.failed();
      else attempt.passed();
      return isFailure(reply) ? refuse(exchange.client, reply, noStore) : writeJson(exchange, 200, reply, noStore);
    };
  }

  return {
    look: guarded(async ({ token }) => {
      const invitation = await openedInvitation(token, parts);
      if (invitation === null) return noInvitation;
      const { role, accounts, name, email, createdBy, endsMs } = invitation;
      return {
        invitation: {
          role,
          accounts: accounts === null ? null : [...accounts],
          name,
          email,
          created_by: createdBy,
          expires: new Date(endsMs).toISOString(),
        },
      };
    }),
    accept: guarded(async ({ token, name }, exchange, address) => {
      const accepted = await acceptInvitation(token, name, parts);
      if (isFailure(accepted)) return accepted;
      const { key, credential } = accepted;
      // The operator is there: without a session, the key still opens one. Nobody could show the key again.
      const session = await parts
        .refresh()
        .then(() => parts.open(exchange, { login: 'operator_key', credential }, address))
        .catch(() => null);
      return { key, session: session === null || isFailure(session) ? null : shownSession(session, parts.version) };
    }),
  };
}

interface Given {
  token: string;
  name: string | undefined;
}

/** Null: the caller left while sending. */
async function givenIn(exchange: Exchange): Promise<Given | Failure | null> {
  const body = await readJsonBody(exchange, bodyBytesMax);
  if (!Buffer.isBuffer(body)) return body;
  const parsed = parseObject(body);
  if (isFailure(parsed)) return parsed;
  const { token, name, ...others } = parsed.body;
  const [other] = Object.keys(others);
  if (other !== undefined) return invalid(other.slice(0, textCharsMax), 'Send {"token": …, "name": …}.');
  if (!isText(token)) return invalid('token', `token: expected 1 to ${textCharsMax} characters`);
  if (name !== undefined && !isText(name)) return invalid('name', `name: expected 1 to ${textCharsMax} characters`);
  return { token: token.trim(), name: name?.trim() };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= textCharsMax;
}
