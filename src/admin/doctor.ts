import { z } from 'zod';
import { findingSchema } from './finding.ts';
import { jsonOperation, type Operation } from './operation.ts';
import type { AdminParts } from './parts.ts';
import type { TroubleWatch } from './troubles/wrong.ts';

const doctorReply = z.object({ ok: z.boolean(), version: z.string(), findings: z.array(findingSchema) });

export type DoctorReply = z.output<typeof doctorReply>;

/** `/doctor`: `culvert doctor` by the running server, with the problems that the overview shows. */
export function doctorOperations(parts: AdminParts, watch: TroubleWatch): Operation[] {
  return [
    jsonOperation({
      route: 'GET /doctor',
      area: 'settings',
      summary: 'Checks everything that serving needs: machine, data folder, stores, providers. Changes nothing.',
      reply: doctorReply,
      async run({ operator }) {
        const [now, capabilities] = await Promise.all([watch.findings(operator), parts.capabilities()]);
        const findings = [...now, ...capabilities];
        return { ok: findings.every(({ state }) => state !== 'problem'), version: parts.version, findings };
      },
    }),
  ];
}
