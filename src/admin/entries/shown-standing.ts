import { z } from 'zod';
import type { Clock } from '../../kernel/clock.ts';
import type { Standing } from '../../tools/mcp/service-health.ts';
import { timeField } from '../fields.ts';

/** Health of a service elsewhere, in lists. */
export const standingFields = {
  status: z
    .enum(['up', 'down', 'needs-login', 'unknown'])
    .describe('As the last look found it; needs-login: an operator has to log in; unknown: not checked yet.'),
  why: z.string().nullable().describe('Why it is down, or needs a login.'),
  checked_at: timeField.nullable(),
  again_at: timeField.nullable().describe('When it is asked again; null while it is up.'),
};

/** `standing`: undefined where no server runs that could have looked. */
export function shownStanding(clock: Clock, standing: Standing = { at: 'unknown' }) {
  const at = (monotonicMs: number) => new Date(clock.wallMs() + monotonicMs - clock.monotonicMs()).toISOString();
  const needsLogin = standing.at === 'down' && standing.why.reason === 'needs-login';
  return {
    status: needsLogin ? ('needs-login' as const) : standing.at,
    why: standing.at === 'down' ? `It ${standing.why.message}.` : null,
    checked_at: standing.at === 'unknown' ? null : at(standing.checkedMs),
    again_at: standing.at === 'down' ? at(standing.againMs) : null,
  };
}
