import { invalid } from '../kernel/failure.ts';
import { refuse } from './operation.ts';

/**
 * Refuses what would have tokens of this machine sent to an address that is set at run time: whoever may set up
 * providers could read them there. `members`: of a provider's definition, or of a change to one.
 */
export function refuseMachineTokens(members: object): void {
  if (!('entra' in members)) return;
  refuse(
    invalid('entra', "entra: write it in culvert.yaml; providers set up here use Entra ID at Azure's addresses alone"),
  );
}
