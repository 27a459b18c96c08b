import type { GuardConfig } from '../../config/schema.ts';
import { webhookCheck } from '../../guards/outside/webhook.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import { type AskOutside, createAsker, type OutsideService } from './outside-asker.ts';

/** Parts of the server that ask services. */
export interface AskingParts {
  transport: Transport;
  clock: Clock;
}

/** By configuration: what a guard knows of its service outlives each look at the lists of models. */
const askers = new WeakMap<GuardConfig, AskOutside>();

/** The asker of a guard whose check is outside. */
export async function openOutside(config: GuardConfig, { transport, clock }: AskingParts): Promise<AskOutside> {
  const known = askers.get(config);
  if (known !== undefined) return known;
  const asker = createAsker(transport, clock, await serviceOf(config));
  askers.set(config, asker);
  return asker;
}

async function serviceOf({ check, deadline: deadlineMs, url = '', secret }: GuardConfig): Promise<OutsideService> {
  const service = { deadlineMs, headers: {} };
  switch (check) {
    case 'webhook':
      return { ...service, check: webhookCheck(url), secret };
    default:
      throw new Error(`the check ${check} asks nobody outside`);
  }
}
