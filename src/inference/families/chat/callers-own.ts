import { bringsCredential } from '../../../formats/providers/callers-credential.ts';
import { type Failure, unauthenticated } from '../../../kernel/failure.ts';
import type { RouteCandidate, Verdict } from '../../../routing/route.ts';
import type { Alias } from '../../models/alias.ts';
import type { Snapshot } from '../../models/snapshot.ts';

/* Providers that are asked with their callers' own credentials. A request for other models enters nothing of this file. */

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Candidates that the request brings a credential for, and the others as verdicts. */
export interface ProvenCandidates {
  candidates: readonly RouteCandidate[];
  barred: readonly Verdict[];
}

/** Leaves out the candidates that need a credential which the request does not bring; a 401 where no others are left. */
export function provenCandidates(
  { providers }: Snapshot,
  { id, barred = [] }: Pick<Alias, 'id' | 'barred'>,
  candidates: readonly RouteCandidate[],
  headers: Headers,
): ProvenCandidates | Failure {
  const without: string[] = [];
  const left = candidates.filter(({ target }) => {
    const connection = providers.get(target.provider)?.connection;
    if (connection === undefined || connection.callers === null || bringsCredential(connection, headers)) return true;
    without.push(target.id);
    return false;
  });
  if (left.length === 0) return credentialMissing(id, candidates);
  const verdict = 'not allowed: the request brings no credential of its caller';
  return { candidates: left, barred: [...barred, ...without.map((target) => ({ target, verdict }))] };
}

function credentialMissing(model: string, candidates: readonly RouteCandidate[]): Failure {
  const names = [...new Set(candidates.map(({ target }) => target.provider))].join(', ');
  const message = `The model '${model}' uses its caller's own credential at provider ${names}, and this request brings none. Send the key of this server in the header x-culvert-key, and your credential for the provider in Authorization, as its own client does. Batches and other work without a caller cannot use this model.`;
  return unauthenticated(message);
}
