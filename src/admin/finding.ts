import { z } from 'zod';

/** Page of the dashboard that shows more of the problem. */
export const pageField = z.enum([
  'providers',
  'models',
  'mcp-servers',
  'accounts',
  'keys',
  'plans',
  'requests',
  'settings',
]);

export const findingSchema = z.object({
  check: z.string().describe('What was looked at.'),
  state: z.enum(['ok', 'warning', 'problem']).describe('problem: requests fail, or the next start would be refused.'),
  message: z.string(),
  fix: z.string().nullable().describe('What to do about it; null when there is nothing to do.'),
  page: pageField.optional().describe('The page of the dashboard that shows more.'),
  id: z.string().nullable().optional().describe('Which one there; null: the page as a whole.'),
});

/** One thing that was looked at. */
export type Finding = z.output<typeof findingSchema>;
