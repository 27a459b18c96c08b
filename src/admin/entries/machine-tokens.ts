import { invalid } from '../../kernel/failure.ts';
import { refuse } from '../operation.ts';

/**
 * Refuses what would have tokens of this machine sent to an address that is set at run time: operators who may set
 * up providers could read them there. `members`: of a definition, or of a change to one.
 */
export function refuseMachineTokens(members: object): void {
  const issuer = (['entra', 'google'] as const).find((each) => each in members);
  if (issuer === undefined) return;
  const message = `${issuer}: write it in culvert.yaml; what is set up here uses such tokens at the vendor's addresses alone`;
  refuse(invalid(issuer, message));
}
