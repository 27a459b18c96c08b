import { z } from 'zod';
import { catalog } from '../../formats/providers/catalog.ts';
import { objectApis } from '../../formats/providers/object-apis.ts';
import { credentialId, duration, httpUrl, name, percentage, positiveInt, secret, someText } from '../scalars.ts';
import { dataFactsSchema } from './schema-data.ts';
import { headersSchema, proxySchema, tlsSchema } from './schema-route.ts';

/** Timeouts of one level. An omitted one comes from the level below (target, alias, provider, built-in). */
export const timeoutsSchema = z
  .strictObject({
    connect: duration({ min: '1ms', max: '5m' })
      .optional()
      .describe('Until the connection is established. Built-in: 3s.'),
    first_token: duration({ min: '1ms', max: '24h' })
      .optional()
      .describe(
        'Until the first content of a streamed answer. Built-in: 30s, 3m for a model that reasons, and 1s more for every 10,000 tokens of the prompt, at most 1m.',
      ),
    idle: duration({ min: '1ms', max: '24h' })
      .optional()
      .describe('Longest silence between two pieces of content. Built-in: 30s; 3m for a model that reasons.'),
    total: duration({ min: '1ms', max: '24h' }).optional().describe('The whole answer. Built-in: 10m.'),
    whole_by_stream: z
      .boolean()
      .optional()
      .describe(
        "true: Culvert asks for a whole answer as a stream and puts it together, so that a provider's silence shows within seconds. It loses fields that it does not know, except in Responses, whose streams hold the whole response. Built-in: false, the provider's own bytes pass.",
      ),
  })
  .describe('Timeouts. A target’s precede its model’s, and those precede its provider’s.');

export const credentialSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'expected up to 32 small letters, digits, _ or -, a letter first')
    .optional()
    .describe('What lists and health call it: provider#id. Default: its place in the list, from 0.'),
  api_key: secret().describe('The secret.'),
  weight: z.number().min(0.001).max(1_000).default(1).describe('Share of requests relative to the other credentials.'),
  rpm: positiveInt()
    .optional()
    .describe('Requests per minute that this credential may carry; above it the next one is used.'),
});

/** The identity that asks Entra ID for tokens; what is omitted comes from the environment. */
const entraSchema = z
  .strictObject({
    tenant_id: credentialId().optional().describe('The directory. Default: AZURE_TENANT_ID.'),
    client_id: credentialId()
      .optional()
      .describe('The application, or a managed identity given by its user. Default: AZURE_CLIENT_ID.'),
    client_secret: secret().optional().describe('The secret of the application. Default: AZURE_CLIENT_SECRET.'),
    certificate_file: someText()
      .optional()
      .describe(
        'A PEM file with the certificate of the application and its private key. Default: AZURE_CLIENT_CERTIFICATE_PATH.',
      ),
    scope: someText()
      .optional()
      .describe(
        'What the token is for. Default: the AI services of the cloud of base_url, such as https://cognitiveservices.azure.com/.default.',
      ),
    authority: httpUrl()
      .optional()
      .describe(
        'Where tokens come from. Default: AZURE_AUTHORITY_HOST, else that of the cloud of base_url, such as https://login.microsoftonline.com.',
      ),
  })
  .describe(
    "Tokens of Entra ID instead of a key, for azure-openai. Without it and without api_key, Culvert uses them at Azure's own addresses alone.",
  );

export const googleSchema = z
  .strictObject({
    credentials_file: someText()
      .optional()
      .describe(
        'JSON of a service account, of workload identity federation or of a user. Default: GOOGLE_APPLICATION_CREDENTIALS, else gcloud, else the metadata server.',
      ),
  })
  .describe(
    "Google's credentials instead of a key, for vertex. Without it and without api_key, Culvert uses them at Google's own addresses alone. The JSON of a service account may also be the api_key.",
  );

/** The identity that signs requests to AWS; what is omitted is found as AWS's own tools find it. */
export const awsSchema = z
  .strictObject({
    access_key_id: credentialId().optional().describe('Id of an access key.'),
    secret_access_key: secret().optional().describe('Its secret.'),
    session_token: secret().optional().describe('Of a key that expires.'),
    profile: someText(200).optional().describe('Profile in ~/.aws/config or ~/.aws/credentials.'),
    role_arn: z
      .string()
      .regex(
        /^arn:aws[\w-]*:iam::\d{12}:role\/.{1,500}$/,
        'expected an ARN such as arn:aws:iam::123456789012:role/name',
      )
      .optional()
      .describe('Role to assume with the other credentials.'),
    external_id: z.string().min(2).max(1_224).optional().describe('External id that the role demands.'),
  })
  .refine(({ access_key_id: id, secret_access_key: key }) => (id === undefined) === (key === undefined), {
    error: 'access_key_id and secret_access_key belong together',
  })
  .describe(
    'AWS credentials, for bedrock and sagemaker. Default: the chain of AWS (environment, profile, SSO, process, web identity, container, machine). For bedrock, an api_key replaces them.',
  );

/** A configured upstream service with its credentials. */
export const providerSchema = z.strictObject({
  type: z
    .enum(catalog.map(({ id }) => id))
    .meta({ mark: 'address' })
    .describe('What kind of service it is; fills in base URL, authentication and quirks.'),
  base_url: httpUrl().optional().describe("Where it is, if not at the type's own address. May be private."),
  api_key: secret().optional().describe('Its key, when there is one only.'),
  credentials: z
    .array(credentialSchema)
    .min(1)
    .max(100)
    .optional()
    .describe('Several keys, picked by weight and health.'),
  caller_credential: z
    .boolean()
    .default(false)
    .describe(
      "true, for types anthropic and openai: each request brings the caller's own credential (a subscription to Claude or ChatGPT) next to its key in `x-culvert-key`, and costs nothing here. Conversations alone. Whether that is allowed, and by which clients, is for the vendor's terms to say.",
    ),
  entra: entraSchema.optional(),
  google: googleSchema.optional(),
  project: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.:-]{1,62}$/, 'expected the id of a project such as my-project-1')
    .optional()
    .describe(
      'Project of Google Cloud, for vertex. Default: GOOGLE_CLOUD_PROJECT, else the one that the credentials are of.',
    ),
  region: z
    .string()
    .regex(/^[a-z]{2}[a-z0-9-]{0,38}$/, 'expected a region such as us-east5')
    .meta({ mark: 'address' })
    .optional()
    .describe(
      'Region of the service, for vertex, bedrock and sagemaker. Default for vertex: GOOGLE_CLOUD_LOCATION, else global; for the others: that of base_url, else AWS_REGION or AWS_DEFAULT_REGION.',
    ),
  iam_url: httpUrl()
    .optional()
    .describe('Where IBM Cloud exchanges the key for tokens. Default: https://iam.cloud.ibm.com.'),
  all_models: z
    .boolean()
    .optional()
    .describe(
      'true: every model that it lists can be called in addition to the aliases, as provider/model. Default: true where `models` names none.',
    ),
  passthrough: z
    .boolean()
    .default(false)
    .describe(
      "true: keys may call every path below its base URL as `/passthrough/NAME/…`, with its credential. They then see all that this credential sees at the provider, other keys' files among it.",
    ),
  object_apis: z
    .array(z.enum(objectApis))
    .max(objectApis.length)
    .default([])
    .describe(
      "APIs of it that keys may call at OpenAI's paths, with its credential: stored `chat_completions`, `containers`, `evals`, `fine_tuning` and `skills`. Each key sees the objects that it was given, and no others. What they cost at the provider is not metered.",
    ),
  headers: headersSchema('Headers sent with every request to it.'),
  proxy: proxySchema('it'),
  http2: z
    .boolean()
    .default(false)
    .describe(
      'Asks an https:// address for HTTP/2: up to 100 requests share a connection where it is offered. Cheaper for many streams at once, dearer for single answers; a cut connection ends all on it.',
    ),
  tls: tlsSchema('at the start and at a reload'),
  api_version: z
    .string()
    .regex(/^[A-Za-z0-9.-]{1,40}$/, 'expected a version such as 2026-05-01')
    .optional()
    .describe('Version of the API, for azure-openai.'),
  aws: awsSchema.optional(),
  dialects: z
    .array(
      z.enum(['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini', 'bedrock-converse', 'cohere-chat']),
    )
    .min(1)
    .optional()
    .describe(
      'What it speaks: callers of one of these are asked through byte for byte, others in the first. Default: what its type speaks; type openai with a base_url: openai-chat only.',
    ),
  server_tools: z
    .array(z.enum(['web_search', 'web_fetch', 'file_search', 'mcp']))
    .optional()
    .describe('Tools that it runs for callers of its formats; Culvert runs the others. Default: what its type does.'),
  prices: name("a provider's id in the price list")
    .optional()
    .describe(
      'Whose prices of the price list are its, such as openai for a proxy in front of OpenAI. Default: derived from its type and base_url.',
    ),
  batches: z
    .strictObject({
      upstream: z
        .enum(['auto', 'always', 'never'])
        .default('auto')
        .describe(
          "Whether lines of batches go to its own batch API, where its type has one. auto: at the vendor's own address alone.",
        ),
      price: percentage()
        .optional()
        .describe('Price of such a line, as a part of the usual price. Default: what its vendor charges, mostly 50%.'),
    })
    .prefault({})
    .describe('How batches (`/v1/batches`, `/v1/messages/batches`) use it.'),
  trace: z
    .boolean()
    .optional()
    .describe(
      "Whether requests to it continue the trace of the caller (`traceparent`), which suits a service of yours. Default: where one of its keys is a Culvert's (`sk-cv-…`).",
    ),
  shared_objects: z
    .array(someText(200))
    .max(1_000)
    .default([])
    .describe(
      'Ids, with * for any characters, of what you keep at it for all callers: files, vector stores, prompts, caches. Other ids serve only the key that they were given to.',
    ),
  data: dataFactsSchema,
  timeouts: timeoutsSchema.prefault({}),
  health: z
    .strictObject({
      path: z
        .string()
        .regex(/^\//, 'expected a path that begins with /')
        .default('/models')
        .describe('Asked with GET below the base URL.'),
      interval: duration({ min: '1s', max: '24h' }).prefault('30s').describe('Pause between two checks.'),
    })
    .optional()
    .describe('Active health checks, for servers of your own.'),
});

export const providersSchema = z
  .record(name("a provider's name"), providerSchema)
  .default({})
  .describe(
    'Upstream services by a name of your choice. Without any, keys in the environment (OPENAI_API_KEY…) configure them.',
  );
