import { z } from 'zod';
import { type FormCheckName, formChecks, type OutsideCheckName, outsideChecks } from '../../guards/kinds.ts';
import { schemaFault } from '../../guards/schema-fault.ts';
import { httpUrl, name, secret, webhookSecret } from '../scalars.ts';
import { dataFactsSchema } from './schema-data.ts';
import { modelName } from './schema-models.ts';
import { awsSchema, googleSchema } from './schema-providers.ts';

const limit = (what: string) => z.int().min(1).max(100_000_000).optional().describe(what);

/** Members of guards that ask a service, or look at sizes and forms. */
export const guardMembers = {
  limits: z
    .strictObject({
      chars: limit('Characters of the texts that it reads.'),
      tokens: limit('Tokens of these, estimated: bytes of UTF-8 / 4.'),
      turns: limit('Messages of a conversation, without system prompts. Items of the Responses API count each.'),
      attachments: limit('Pictures, sounds, files and addresses of some.'),
    })
    .refine((limits) => Object.values(limits).some((one) => one !== undefined), { error: 'expected a limit' })
    .optional()
    .describe('The most that `sizes` lets pass, of a request and of each answer.'),
  schema: z
    .record(z.string(), z.json())
    .superRefine((schema, context) => {
      const fault = schemaFault(schema);
      if (fault !== null) context.addIssue({ code: 'custom', path: fault.path, message: fault.message });
    })
    .optional()
    .describe('JSON Schema (2020-12) that answers must meet, for `json-schema`.'),
  repair: z
    .boolean()
    .optional()
    .describe('Whether `json-schema` asks the model once more, with the error. Default: true.'),
  url: httpUrl()
    .optional()
    .describe(
      'Address of the service: of `webhook` the whole one, of others its beginning. OpenAI, Bedrock, Model Armor and Lakera have a default.',
    ),
  secret: webhookSecret()
    .optional()
    .describe('Signs the requests of `webhook` as Standard Webhooks does. At least 32 bytes, or whsec_ and base64.'),
  api_key: secret().optional().describe('Key of `openai-moderation`, `azure-content-safety` or `lakera`.'),
  categories: z
    .array(z.string().min(1).max(100))
    .min(1)
    .optional()
    .describe(
      'Categories of `openai-moderation` and `azure-content-safety`, or entities of `presidio`, that count. Default: all.',
    ),
  threshold: z
    .number()
    .min(0)
    .max(7)
    .optional()
    .describe(
      'From where on a finding counts: a score from 0 to 1 for `openai-moderation` (default: what it flags), `presidio`, `topics` and `grounding`, a severity from 0 to 7 for `azure-content-safety` (default: 4).',
    ),
  guardrail: z
    .strictObject({
      id: z.string().min(1).max(2_048).describe('Its id or ARN.'),
      version: z
        .string()
        .regex(/^(DRAFT|[1-9]\d{0,7})$/, 'expected a version such as 1, or DRAFT')
        .default('DRAFT')
        .describe('Its version.'),
    })
    .optional()
    .describe('Guardrail of `bedrock-guardrails`.'),
  data: dataFactsSchema.describe(
    'What the service does with texts, for the data rules of plans, accounts and keys. Only of checks that ask a service.',
  ),
  region: z
    .string()
    .regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'expected a region such as eu-central-1')
    .meta({ mark: 'address' })
    .optional()
    .describe('Region of `bedrock-guardrails`.'),
  aws: awsSchema.optional(),
  template: z
    .string()
    .regex(
      /^projects\/[\w.:-]+\/locations\/[a-z\d-]+\/templates\/[\w-]+$/,
      'expected projects/…/locations/…/templates/…',
    )
    .optional()
    .describe('Template of `model-armor`, such as projects/acme/locations/europe-west4/templates/strict.'),
  google: googleSchema.optional(),
  project: z.string().min(1).max(200).optional().describe('Project of `lakera`. Default: that of its account.'),
  model: modelName
    .optional()
    .describe(
      'Alias that `model` asks: a model for moderations, or one that chats and answers safe or unsafe. For `topics`, a model for embeddings.',
    ),
  topics: z
    .record(name("a topic's name"), z.array(z.string().min(1).max(400)).min(1).max(100))
    .refine((topics) => Object.keys(topics).length > 0 && Object.values(topics).flat().length <= 500, {
      error: 'expected some topics, with at most 500 examples together',
    })
    .optional()
    .describe('Topics that `topics` finds, each with examples of what people write about it. Or name a collection.'),
  collection: z
    .string()
    .regex(/^[^/\s]+\/[^/\s].*\/[^/\s]+$/, 'expected ACCOUNT/KEY/COLLECTION')
    .optional()
    .describe(
      'Collection of a key, ACCOUNT/KEY/COLLECTION: `grounding` looks up there what answers say. For `topics`, its points are the examples.',
    ),
  language: z
    .string()
    .regex(/^[a-z]{2}$/, 'expected a language such as en')
    .optional()
    .describe('Language of the texts for `presidio`. Default: en.'),
};

/** A proof of this machine goes to the vendor alone, unless the guard names whose it is. */
const identityOf: Readonly<Record<string, 'aws' | 'google'>> = { 'bedrock-guardrails': 'aws', 'model-armor': 'google' };

type Field = keyof typeof guardMembers;

/** Members by check; `places`: its findings have places, so that `mask` can work. */
const fieldsOf: Readonly<
  Record<OutsideCheckName | FormCheckName, { needs: readonly Field[]; may: readonly Field[]; places?: true }>
> = {
  sizes: { needs: ['limits'], may: [] },
  'json-schema': { needs: ['schema'], may: ['repair'] },
  webhook: { needs: ['url'], may: ['secret', 'data'], places: true },
  'openai-moderation': { needs: ['api_key'], may: ['url', 'categories', 'threshold', 'data'] },
  'azure-content-safety': { needs: ['url', 'api_key'], may: ['categories', 'threshold', 'data'] },
  'bedrock-guardrails': { needs: ['guardrail', 'region'], may: ['url', 'aws', 'data'], places: true },
  'model-armor': { needs: ['template'], may: ['url', 'google', 'data'], places: true },
  presidio: { needs: ['url'], may: ['categories', 'threshold', 'language', 'data'], places: true },
  lakera: { needs: ['api_key'], may: ['url', 'project', 'data'], places: true },
  model: { needs: ['model'], may: ['categories', 'threshold'] },
  topics: { needs: ['model', 'topics', 'threshold'], may: [], places: true },
  grounding: { needs: ['collection', 'threshold'], may: [], places: true },
};
/** `topics` where a collection has the examples: it also has their model. */
const topicsOfCollection = fieldsOf.grounding;

/** Members that a check lacks or does not have, and an action that it cannot do. */
export function memberIssues(
  guard: { check: string; action: string; threshold?: number | undefined } & Partial<Record<Field, unknown>>,
): { path: string[]; message: string }[] {
  const { check, action, threshold } = guard;
  const known = [...outsideChecks, ...formChecks].find((name) => name === check);
  const isOfCollection = check === 'topics' && guard.collection !== undefined;
  const fields = isOfCollection ? topicsOfCollection : known === undefined ? null : fieldsOf[known];
  const { needs, may, places } = fields ?? { needs: [], may: [], places: true };
  const lacking = needs
    .filter((field) => guard[field] === undefined)
    .map((field) => issueOf('check', `needs ${field}`));
  const given = (Object.keys(guardMembers) as Field[]).filter((field) => guard[field] !== undefined);
  const odd = given.filter((field) => ![...needs, ...may].includes(field));
  const identity = identityOf[check];
  const isStray = identity !== undefined && guard.url !== undefined && guard[identity] === undefined;
  return [
    ...lacking,
    ...(isStray ? [issueOf('url', `needs ${identity} where it has a url`)] : []),
    ...odd.map((field) => issueOf(field, `has no ${field}`)),
    ...(['json-schema', 'grounding'].includes(check) && action === 'route'
      ? [issueOf('action', 'reads answers; use block or flag')]
      : []),
    ...(action === 'mask' && !places ? [issueOf('action', 'says no places to mask; use block, flag or route')] : []),
    ...(check !== 'azure-content-safety' && (threshold ?? 0) > 1
      ? [issueOf('threshold', 'takes a score from 0 to 1')]
      : []),
  ];

  function issueOf(member: string, what: string) {
    return { path: [member], message: `the check ${check}${isOfCollection ? ' with a collection' : ''} ${what}` };
  }
}
