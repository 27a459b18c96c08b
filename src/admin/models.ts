import { z } from 'zod';
import type { Alias } from '../inference/models/model-table.ts';
import { filter, healthField, listOf, pageFields } from './fields.ts';
import { jsonOperation, type Operation } from './operation.ts';
import { inOrderOf, pageByText } from './page.ts';
import type { AdminParts } from './parts.ts';

const modelSchema = z.object({
  id: z.string().describe('What callers name.'),
  type: z.string(),
  tier: z.string().nullable(),
  cost: z.number().describe('Units a request costs, times the endpoint’s own.'),
  attempts: z.int(),
  status: healthField,
  targets: z.array(
    z.object({
      target: z.string().describe('provider/model'),
      rank: z.int().describe('0: its own; 1…: of its fallbacks.'),
      priority: z.int(),
      weight: z.number(),
      status: healthField,
      price: z
        .object({ input: z.number(), output: z.number(), cached_input: z.number().nullable() })
        .nullable()
        .describe('USD per million tokens; null when unknown.'),
    }),
  ),
});

/** `/models`: every alias, whoever may use it, with its targets. */
export function modelOperations(parts: AdminParts): Operation[] {
  return [
    jsonOperation({
      method: 'GET',
      path: '/models',
      area: 'models',
      summary: 'Every model with its targets and their health, by id.',
      query: z.strictObject({ ...pageFields, provider: filter('Only those with a target of this provider.') }),
      body: null,
      reply: listOf(modelSchema),
      run({ query }) {
        const ordered = inOrderOf(parts.snapshot().models.all(), ({ id }) => id);
        const { provider } = query;
        const page = pageByText(
          ordered,
          ({ id }) => id,
          query,
          ({ candidates }) => provider === undefined || candidates.some(({ target }) => target.provider === provider),
        );
        return { data: page.rows.map((alias) => shown(parts, alias)), next_cursor: page.next };
      },
    }),
  ];
}

function shown({ health, clock }: AdminParts, alias: Alias): z.input<typeof modelSchema> {
  const nowMs = clock.monotonicMs();
  return {
    id: alias.id,
    type: alias.type,
    tier: alias.tier,
    cost: alias.cost,
    attempts: alias.attempts,
    status: health.status(
      alias.candidates.map(({ target }) => target),
      nowMs,
    ),
    targets: alias.candidates.map(({ target, rank }) => ({
      target: target.id,
      rank,
      priority: target.priority,
      weight: target.weight,
      status: health.status([target], nowMs),
      price:
        target.price === null
          ? null
          : { input: target.price.input, output: target.price.output, cached_input: target.price.cachedInput },
    })),
  };
}
