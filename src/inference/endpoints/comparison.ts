import type { Principal } from '../../books/auth/principal.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { CompareAnswers } from './compare-answers.ts';
import type { Services } from './services.ts';

/** Kept bodies, and what compares them with answers of other models. Its code is loaded with the first comparison. */
export function comparison(
  services: Services,
  principalOf: (keyId: string) => Principal | Failure,
): { bodyKeeper: Services['bodyKeeper']; compareAnswers(): Promise<CompareAnswers> } {
  return {
    bodyKeeper: services.bodyKeeper,
    compareAnswers: async () => (await import('./compare-answers.ts')).createCompareAnswers(services, principalOf),
  };
}
