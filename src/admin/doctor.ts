import { z } from 'zod';
import { noQuery } from './fields.ts';
import { jsonOperation, type Operation } from './operation.ts';
import type { AdminParts } from './parts.ts';

const findingSchema = z.object({
  check: z.string().describe('What was looked at.'),
  state: z.enum(['ok', 'warning', 'problem']).describe('problem: requests fail, or the next start would be refused.'),
  message: z.string(),
  fix: z.string().nullable().describe('What to do about it.'),
});

const doctorReply = z.object({ ok: z.boolean(), version: z.string(), findings: z.array(findingSchema) });

export type DoctorReply = z.output<typeof doctorReply>;

/** `/doctor`: `culvert doctor`, by the server that runs. */
export function doctorOperations(parts: AdminParts): Operation[] {
  return [
    jsonOperation({
      method: 'GET',
      path: '/doctor',
      area: 'settings',
      summary: 'Looks at everything that serving needs: machine, data folder, stores, providers. Changes nothing.',
      query: noQuery,
      body: null,
      reply: doctorReply,
      async run() {
        const findings = await parts.findings();
        return {
          ok: findings.every(({ state }) => state !== 'problem'),
          version: parts.version,
          findings: [...findings],
        };
      },
    }),
  ];
}

export type Finding = z.output<typeof findingSchema>;
