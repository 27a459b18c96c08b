import { z } from 'zod';
import { keyPlacesMax } from '../../kernel/limits.ts';
import type { Records } from '../directory.ts';
import { timeField } from '../fields.ts';
import { jsonOperation, type Operation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { keyOf } from './keys.ts';

const keyAddressesReply = z.object({
  key: z.string(),
  data: z
    .array(
      z.object({
        address: z.string().describe('Of the caller; behind trusted proxies, as they tell it.'),
        requests: z.int(),
        first_used_at: timeField,
        last_used_at: timeField.describe('To the minute.'),
      }),
    )
    .describe(
      `The last ${keyPlacesMax} addresses, the one of the last request first. Other processes add theirs once a minute.`,
    ),
});

export type KeyAddresses = z.output<typeof keyAddressesReply>;

/** From where one key is used. */
export function keyAddressesOperation(parts: AdminParts, records: Records): Operation {
  return jsonOperation({
    route: 'GET /keys/{id}/addresses',
    area: 'keys',
    summary: 'The addresses that a key was last used from, with the number of requests and the times.',
    reply: keyAddressesReply,
    async run({ params, operator }) {
      const { id } = keyOf(await records.current(operator.accounts), params.id);
      const places = await records.asking(async () => {
        await parts.writePlaces?.();
        return parts.store.places(id);
      });
      const iso = (ms: number) => new Date(ms).toISOString();
      return {
        key: id,
        data: places.map(({ address, requests, firstMs, lastMs }) => {
          return { address, requests, first_used_at: iso(firstMs), last_used_at: iso(lastMs) };
        }),
      };
    },
  });
}
