import { z } from 'zod';

/** Members of a request that a prompt or a variant sets, under one name in all formats. */
export const parametersSchema = z.strictObject({
  temperature: z.number().min(0).max(2).optional().describe('Chance in the choice of words.'),
  top_p: z.number().min(0).max(1).optional().describe('Share of the likeliest words among which it chooses.'),
  max_tokens: z.int().min(1).max(10_000_000).optional().describe('Most tokens of the answer.'),
  reasoning_effort: z
    .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
    .optional()
    .describe('How long it thinks.'),
});
