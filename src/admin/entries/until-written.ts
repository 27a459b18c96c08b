import { refuse } from '../operation.ts';

const triesMax = 5;

/**
 * The result of a change that others may overtake: `attempt` reads, plans and writes anew, and gives null when it was
 * overtaken. Refuses after five of them. `what` is what they change.
 */
export async function untilWritten<Result>(what: string, attempt: () => Promise<Result | null>): Promise<Result> {
  for (let tries = 0; tries < triesMax; tries++) {
    const result = await attempt();
    if (result !== null) return result;
  }
  return refuse({ kind: 'conflict', message: `Others keep changing the ${what}. Try again.` });
}
