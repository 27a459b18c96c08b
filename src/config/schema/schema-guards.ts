import { z } from 'zod';
import { patternSize } from '../../guards/checks/pattern-length.ts';
import * as kinds from '../../guards/kinds.ts';
import { type FormCheckName, formChecks, type OutsideCheckName, outsideChecks } from '../../guards/kinds.ts';
import { schemaFault } from '../../guards/schema-fault.ts';
import { duration, httpUrl, name, secret, someText, webhookSecret } from '../scalars.ts';
import { dataFactsSchema } from './schema-data.ts';
import { modelName } from './schema-models.ts';
import { awsSchema, googleSchema } from './schema-providers.ts';

const limit = (what: string) => z.int().min(1).max(100_000_000).optional().describe(what);

/** Members of guards that ask a service, or look at sizes and forms. */
const guardMembers = {
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
    .array(someText(100))
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
      id: someText(2_048).describe('Its id or ARN.'),
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
  project: someText(200).optional().describe('Project of `lakera`. Default: that of its account.'),
  model: modelName
    .optional()
    .describe(
      'Alias that `model` asks: a model for moderations, or one that chats and answers safe or unsafe. For `topics`, a model for embeddings.',
    ),
  topics: z
    .record(name("a topic's name"), z.array(someText(400)).min(1).max(100))
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
function memberIssues(
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

const kindsOf: Readonly<Record<string, readonly string[]>> = {
  'personal-data': kinds.personalKinds,
  secrets: kinds.secretKinds,
  links: kinds.linkKinds,
  injection: kinds.injectionKinds,
};

const patternSchema = someText(1_000).superRefine((pattern, context) => {
  const size = patternSize(pattern);
  if ('why' in size) context.addIssue({ code: 'custom', message: size.why });
});

export const guardSchema = z
  .strictObject({
    check: z
      .enum([...kinds.builtInChecks, ...kinds.formChecks, ...kinds.outsideChecks])
      .describe('What it looks for, or the service that it asks. docs/guards.md says what each finds.'),
    kinds: z
      .array(z.enum([...kinds.personalKinds, ...kinds.secretKinds, ...kinds.linkKinds, ...kinds.injectionKinds]))
      .min(1)
      .optional()
      .describe('Kinds that `personal-data`, `secrets`, `links` or `injection` looks for. Default: all.'),
    countries: z
      .array(z.enum(kinds.phoneCountries))
      .min(1)
      .max(10)
      .optional()
      .describe(
        'Countries, by ISO 3166-1, whose phone numbers `personal-data` finds in every valid form, also without separators and country code.',
      ),
    hosts: z
      .array(z.string().regex(/^[a-z\d-]+(\.[a-z\d-]+)*$/, 'a host is written like docs.example.org, in lower case'))
      .min(1)
      .max(1_000)
      .optional()
      .describe('Hosts that `links` lets pass, each with what is below it. Default: none.'),
    languages: z
      .array(z.enum(kinds.knownLanguages))
      .min(1)
      .optional()
      .describe('Languages that `languages` lets pass, by ISO 639-1. Lines in others are findings.'),
    parts: z
      .array(z.enum(kinds.guardedParts))
      .min(1)
      .optional()
      .describe(
        'Parts of a request or an answer that it reads. Default: all; for `injection`, results of tools, documents and texts of files; for `languages`, what users and models say.',
      ),
    patterns: z
      .array(patternSchema)
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'Regular expressions for `patterns`. Each repetition needs a bound, such as {1,40}; `(?i)` ignores case.',
      ),
    words: z.array(someText(200)).min(1).max(10_000).optional().describe('Words and phrases for `words`, in any case.'),
    ...guardMembers,
    deadline: duration({ min: '1ms', max: '60s' })
      .prefault('300ms')
      .describe('How long a service outside may take to answer.'),
    action: z
      .enum(['block', 'mask', 'flag', 'route'])
      .describe(
        'What it does with a finding: refuse, put a word such as `<EMAIL_1>` in its place, only say so, or ask another model.',
      ),
    route_to: modelName.optional().describe('The alias that `route` asks.'),
    on: z
      .array(z.enum(['input', 'output']))
      .min(1)
      .default(['input', 'output'])
      .describe('Whether it reads requests, answers or both. `route` reads requests alone.'),
    mode: z
      .enum(['enforce', 'observe'])
      .default('enforce')
      .describe('`observe` changes nothing and says what it would do.'),
    on_error: z
      .enum(['deny', 'allow'])
      .default('deny')
      .describe(
        'What happens where it cannot read a part, such as a picture, or where the service that it asks gives no answer.',
      ),
  })
  .superRefine((guard, context) => {
    const { check, kinds, countries, hosts, languages, patterns, words, action, route_to } = guard;
    const issue = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
    const known = kindsOf[check] ?? [];
    kinds?.forEach((kind, index) => {
      if (!known.includes(kind)) issue(['kinds', index], `the check ${check} has no such kind`);
    });
    if ((check === 'languages') !== (languages !== undefined)) {
      issue(languages === undefined ? ['check'] : ['languages'], 'the check languages and its list need each other');
    }
    if (check === 'languages' && action === 'mask')
      issue(['action'], 'a language has no mask; use block, flag or route');
    if (countries !== undefined && (check !== 'personal-data' || kinds?.includes('phone') === false)) {
      issue(['countries'], 'the check personal-data alone has countries, where it looks for phones');
    }
    if (hosts !== undefined && check !== 'links') issue(['hosts'], 'the check links alone has hosts');
    if ((check === 'patterns') !== (patterns !== undefined)) {
      issue(
        patterns === undefined ? ['check'] : ['patterns'],
        'the check patterns and the list patterns need each other',
      );
    }
    if ((check === 'words') !== (words !== undefined)) {
      issue(words === undefined ? ['check'] : ['words'], 'the check words and the list words need each other');
    }
    for (const { path, message } of memberIssues(guard)) issue(path, message);
    if ((action === 'route') !== (route_to !== undefined)) {
      issue(route_to === undefined ? ['action'] : ['route_to'], 'the action route and route_to need each other');
    }
  });

export const guardsSchema = z
  .record(name("a guard's name"), guardSchema)
  .default({})
  .describe(
    'Guards: what requests and answers are looked through for. Models, plans and `server` name those they have.',
  );
