import { z } from 'zod';
import { jsonOperation, type Operation, refuse } from './operation.ts';
import type { AdminParts } from './parts.ts';

const triedSchema = z.object({
  ok: z.boolean().describe('Whether all receivers took it.'),
  data: z.array(
    z.object({
      name: z.string(),
      ok: z.boolean(),
      message: z.string().nullable().describe('Why it did not arrive; null when it did.'),
    }),
  ),
});

export type AlertsTriedReply = z.output<typeof triedSchema>;

/** `/alerts/test`: whether alerts would arrive. */
export function alertOperations({ snapshots, tryAlert }: AdminParts): Operation[] {
  return [
    jsonOperation({
      route: 'POST /alerts/test',
      area: 'settings',
      summary: 'Sends a test message to every receiver of alerts, once and at once, and says which of them took it.',
      reply: triedSchema,
      async run() {
        const { to } = snapshots.current.config.telemetry.alerts;
        if (to.length === 0) {
          const message = 'There is no receiver of alerts. Name one under telemetry.alerts.to.';
          refuse({ kind: 'invalid-request', param: null, message });
        }
        const data = await Promise.all(
          to.map(async ({ name }) => {
            const message = await tryAlert(name);
            return { name, ok: message === null, message };
          }),
        );
        return { ok: data.every(({ ok }) => ok), data };
      },
    }),
  ];
}
