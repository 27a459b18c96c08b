import { isObject } from '../../kernel/json.ts';

/** The identity that a provider of logins gives. `name` and `groups` hold untrusted text. */
export interface Identity {
  issuer: string;
  subject: string;
  name: string;
  /** Name that the directory of the provider gave, unique there; null: it sent none. */
  username: string | null;
  /** Address that the provider says is theirs; null: it does not. */
  email: string | null;
  groups: readonly string[];
  /** The provider says that it left the groups out, since they are too many. */
  groupsWithheld?: true;
}

/** The claim of this name, or the one at this path: Keycloak has `realm_access.roles`. */
export function claimAt(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const outer = name.slice(0, dot);
    const within = Object.hasOwn(claims, outer) ? claims[outer] : undefined;
    const found = isObject(within) ? claimAt(within, name.slice(dot + 1)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

const groupsMax = 1_000;
const groupCharsMax = 256;

/** Groups of a claim or an attribute: a list, or one group alone, as some providers write it. */
export function groupsIn(claim: unknown): string[] {
  const listed: unknown[] = Array.isArray(claim) ? claim : [claim];
  return listed
    .slice(0, groupsMax)
    .filter((one): one is string => typeof one === 'string' && one !== '' && one.length <= groupCharsMax);
}
