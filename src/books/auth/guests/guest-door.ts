import type { CallersConfig } from '../../../config/schema/schema-callers.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { type Failure, forbidden, isFailure } from '../../../kernel/failure.ts';
import { type AccountFacts, keyPrefix } from '../key-directory.ts';
import type { Principal } from '../principal.ts';
import { createCallerTokens } from '../tokens/caller-tokens.ts';
import { Guests } from '../tokens/guests.ts';
import type { TokenCaller } from '../tokens/token-caller.ts';
import type { KeyWebhook } from './key-webhook.ts';

/** A request without a valid key of this server. */
export interface GuestRequest {
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The first value in the place of a key; null: none. */
  key: string | null;
  /** Its client's address; null: unknown. */
  address(): string | null;
  /** Whether it comes straight from a proxy of `server.trusted_proxies`. */
  fromProxy(): boolean;
}

/** Callers without a key of this server: by token, by certificate, or by a key of another system. */
export type GuestDoor = ReturnType<typeof createGuestDoor>;

interface InForce {
  guests: CallersConfig;
  accounts: ReadonlyMap<string, AccountFacts>;
  plans: ReadonlySet<string>;
  defaultPlan: string;
}

/** The sources that count are those of `inForce`; what was learnt from others is forgotten. */
export function createGuestDoor(clock: Clock, inForce: () => InForce) {
  const guests = new Guests();
  const admitted = (caller: TokenCaller | Failure): Principal | Failure => {
    if (isFailure(caller)) return caller;
    const { accounts, plans, defaultPlan } = inForce();
    // An unknown plan would count as the default one, which may allow more than the one that was meant.
    if (caller.plan !== null && !plans.has(caller.plan)) return unknownPlan(caller.plan);
    return guests.principal(caller, accounts, defaultPlan);
  };
  const tokens = createCallerTokens(clock, () => inForce().guests.tokens, admitted);
  const webhook = ofConfig(
    () => inForce().guests.webhook,
    async (config) => new (await import('./key-webhook.ts')).KeyWebhook(config, clock),
  );
  const certificates = ofConfig(
    () => inForce().guests.certificates,
    async (config) => new (await import('./certificates.ts')).Certificates(config, clock),
  );

  async function byCertificate({ headers, key, fromProxy }: GuestRequest) {
    // SDKs cannot do without a key, so any text in its place does no harm. A key of this server must be right.
    if (key?.startsWith(keyPrefix) === true || !fromProxy()) return null;
    const caller = (await certificates())?.caller(headers) ?? null;
    return caller === null ? null : admitted(caller);
  }

  async function byWebhook(from: Promise<KeyWebhook>, key: string, request: GuestRequest) {
    const caller = await (await from).caller(key, request.address());
    if (isFailure(caller) && caller.kind === 'unauthenticated') return (await byCertificate(request)) ?? caller;
    return admitted(caller);
  }

  return {
    /** The caller of a request; null: nothing in it could name one. */
    principal(request: GuestRequest): Promise<Principal | Failure | null> | Principal | Failure | null {
      // Next to a key of this server's header, a token is for a provider.
      const token = request.headers['x-culvert-key'] === undefined ? tokens.principal(request.headers) : null;
      if (token !== null) return token;
      const answer = request.key === null ? null : webhook();
      if (request.key !== null && answer !== null) return byWebhook(answer, request.key, request);
      return inForce().guests.certificates === undefined ? null : byCertificate(request);
    },
    /** A caller that this process knows, as its account is now; null: none has this id. */
    principalOf(keyId: string): Principal | Failure | null {
      const caller = guests.byId(keyId);
      return caller === null || !isConfigured(inForce().guests, caller) ? null : admitted(caller);
    },
    /** The last caller with this id. */
    seen: (keyId: string): TokenCaller | null => guests.byId(keyId),
    /** Knows a caller of another process. */
    recall: (caller: TokenCaller): void => guests.recall(caller),
  };
}

function unknownPlan(plan: string): Failure {
  const shown = plan.replace(/\p{C}/gu, '').slice(0, 64);
  return forbidden(`There is no plan '${shown}', which this caller has. Ask the operator to add it.`);
}

/** Whether callers of its source are still let in. */
function isConfigured({ tokens, webhook, certificates }: CallersConfig, { source }: TokenCaller): boolean {
  if (source === 'webhook') return webhook !== undefined;
  if (source === 'certificates') return certificates !== undefined;
  return tokens.some(({ issuer }) => issuer === source.issuer);
}

/** One of what a configuration makes, until it is another one; null where there is none. */
function ofConfig<Config extends object, Made>(
  configured: () => Config | undefined,
  make: (config: Config) => Promise<Made>,
): () => Promise<Made> | null {
  let of: Config | undefined;
  let made: Promise<Made> | null = null;
  return () => {
    const now = configured();
    if (now !== of) [of, made] = [now, null];
    if (now !== undefined) made ??= make(now);
    return made;
  };
}
