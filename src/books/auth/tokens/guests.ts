import { hash } from 'node:crypto';
import { type Failure, forbidden } from '../../../kernel/failure.ts';
import { putNewest } from '../../../kernel/put-newest.ts';
import { type AccountFacts, principalFacts } from '../key-directory.ts';
import type { Principal } from '../principal.ts';
import type { TokenCaller } from './token-caller.ts';

/** Ids of callers that a process remembers, two for each, for work that goes on after they have left. */
const callersMax = 20_000;

const suspended = forbidden("The account of this token's caller is suspended.");

/** The principals of callers without a key. */
export class Guests {
  /** By the id of their principal, and by that of the caller with the rights of its token, oldest first. */
  readonly #byId = new Map<string, TokenCaller>();
  /** Made of `#accounts`. */
  #principals = new WeakMap<TokenCaller, Principal>();
  #accounts: ReadonlyMap<string, AccountFacts> | null = null;

  /** `accounts`: those that are known now; another map when they have changed. */
  principal(
    caller: TokenCaller,
    accounts: ReadonlyMap<string, AccountFacts>,
    defaultPlan: string,
  ): Principal | Failure {
    if (accounts !== this.#accounts) {
      this.#accounts = accounts;
      this.#principals = new WeakMap();
    }
    const account = accounts.get(caller.account);
    if (account === undefined) return unknownAccount(caller.account);
    if (account.status === 'suspended') return suspended;
    let principal = this.#principals.get(caller);
    if (principal === undefined) {
      principal = principalOf(caller, account, defaultPlan);
      this.#principals.set(caller, principal);
      this.#remember(caller);
    }
    return principal;
  }

  /** The last caller with this id, which may be one with rights; null: none of this process. */
  byId(keyId: string): TokenCaller | null {
    return this.#byId.get(keyId) ?? null;
  }

  /** Remembers a caller of another process, unless this one has seen it: that may be newer. */
  recall(caller: TokenCaller): void {
    for (const id of [caller.keyId, idWithRights(caller)]) {
      if (!this.#byId.has(id)) putNewest(this.#byId, id, caller, callersMax);
    }
  }

  #remember(caller: TokenCaller): void {
    for (const id of [caller.keyId, idWithRights(caller)]) putNewest(this.#byId, id, caller, callersMax);
  }
}

/** Tokens of one caller may allow different things: one id for each. */
function idWithRights({ keyId, plan, models, user }: TokenCaller): string {
  const rights = JSON.stringify({ plan, models, user });
  return `${keyId}.${hash('sha256', rights, 'hex').slice(0, 16)}`;
}

function unknownAccount(account: string): Failure {
  return forbidden(
    `There is no account '${account.replace(/\p{C}/gu, '').slice(0, 64)}', which the token names. Ask the operator to add it.`,
  );
}

function principalOf(caller: TokenCaller, account: AccountFacts, defaultPlan: string): Principal {
  const { keyId, name, account: id, plan, models, user } = caller;
  const facts = principalFacts(account, defaultPlan);
  return {
    keyId,
    callerId: idWithRights(caller),
    keyName: name,
    tenant: `${id}/${keyId}`,
    account: id,
    ...facts,
    plan: plan ?? facts.plan,
    allowedModels: models,
    limits: null,
    guards: [...account.guards],
    ...(user !== undefined && { user }),
  };
}
