import type { UsageReply } from '../../../../src/admin/usage/usage.ts';
import { short, usd } from '../../parts/format.ts';

export type UsageRow = UsageReply['data'][number];

/** Measures of a sum that a chart can show. */
export const measures = {
  cost_usd: { label: 'Cost', of: ({ cost_usd }: UsageRow) => cost_usd, format: usd },
  requests: { label: 'Requests', of: ({ requests }: UsageRow) => requests, format: short },
  tokens: {
    label: 'Tokens',
    of: ({ input_tokens, output_tokens }: UsageRow) => input_tokens + output_tokens,
    format: short,
  },
  units: { label: 'Units', of: ({ units }: UsageRow) => units, format: short },
  unpriced_requests: {
    label: 'Requests without a price',
    of: ({ unpriced_requests }: UsageRow) => unpriced_requests,
    format: short,
  },
  errors: { label: 'Failed requests', of: ({ errors }: UsageRow) => errors, format: short },
} as const;

export type Measure = keyof typeof measures;
