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
