import { z } from 'zod';
import { duration } from '../scalars.ts';

const region = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,38}$/, 'expected a region in small letters, such as eu or eu-west-1');

/** Facts of a service that data rules look at. */
export const dataFactsSchema = z
  .strictObject({
    region: region
      .optional()
      .describe(
        'Where it processes requests, such as eu or eu-west-1. Default: nobody knows; of bedrock, sagemaker and vertex, the region.',
      ),
    trains: z
      .boolean()
      .optional()
      .describe('Whether it trains models on requests. Default: as its vendor documents, else nobody knows.'),
    retention: z
      .union([z.literal('none'), duration({ min: '1s', max: '3650d' })], {
        error: 'expected none or a duration such as 30d',
      })
      .optional()
      .describe(
        'How long it keeps requests: none, or a duration such as 30d. Default: as its vendor documents, else nobody knows.',
      ),
  })
  .optional()
  .describe('What it does with requests, for the data rules of plans, accounts and keys.');

/** A rule for where requests may go. */
export const dataRuleSchema = z
  .strictObject({
    regions: z
      .array(region)
      .min(1)
      .max(50)
      .optional()
      .describe('Regions that may process requests; eu also allows eu-west-1. Default: all.'),
    no_training: z.boolean().default(false).describe('true: no provider that trains models on requests.'),
    zero_retention: z.boolean().default(false).describe('true: no provider that keeps requests.'),
  })
  .optional()
  .describe('Which providers may get its requests. What nobody knows of a provider is not allowed.');
