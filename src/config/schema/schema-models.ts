import { z } from 'zod';
import { guardNames } from '../guard-names.ts';
import { costUnitsMax, duration, milliMultiple, name, percentage, positiveInt, someText } from '../scalars.ts';
import { dataFactsSchema } from './schema-data.ts';
import { parametersSchema } from './schema-parameters.ts';
import { timeoutsSchema } from './schema-providers.ts';

/** Members of a setting that keeps answers for equal requests. */
export const cachedAnswerMembers = {
  ttl: duration({ min: '1s', max: '30d' }).describe('How long an answer is kept.'),
  scope: z
    .enum(['key', 'account', 'plan', 'all'])
    .default('key')
    .describe('Who shares answers: one key, the keys of an account, those of a plan, or everybody.'),
};

const modelTypes = [
  'chat',
  'embedding',
  'speech',
  'transcription',
  'image',
  'video',
  'rerank',
  'moderation',
  'ocr',
  'realtime',
] as const;

export const modelName = z
  .string({ error: 'expected a model name' })
  .min(1, 'a model name cannot be empty')
  .max(256, 'a model name has at most 256 characters')
  .regex(
    // Names that people read have single spaces, at LiteLLM too.
    /^([^\p{Cc}\p{Cf}\p{Cs}\s*]+( [^\p{Cc}\p{Cf}\p{Cs}\s*]+)*)?(\*[^\p{Cc}\p{Cf}\p{Cs}\s*]*( [^\p{Cc}\p{Cf}\p{Cs}\s*]+)*)?$/u,
    'a model name holds single spaces inside alone, no control characters, and at most one *',
  )
  // No URL can hold the dots alone: such a model could not be removed.
  .refine((text) => !['__proto__', '.', '..'].includes(text), 'this name cannot be used');

const price = (unit: string) => z.number().min(0).max(1_000_000).optional().describe(`USD per ${unit}.`);

const rates = {
  input: price('million input tokens'),
  output: price('million output tokens'),
  cached_input: price("million input tokens read from the provider's cache"),
  cache_write: price("million input tokens written to the provider's cache"),
  cache_write_1h: price('million of these that are kept for an hour, or for 12 at OpenAI'),
  reasoning: price('million output tokens that are thoughts'),
  audio_input: price('million input tokens that are sound'),
  cached_audio_input: price('million of these read from the cache'),
  audio_output: price('million output tokens that are sound'),
  image_input: price('million input tokens that are pictures'),
  cached_image_input: price('million of these read from the cache'),
  image_output: price('million output tokens that are pictures'),
};

const priceSchema = z
  .strictObject({
    ...rates,
    image: price('image'),
    minute: price('minute of audio'),
    million_chars: price('million characters of speech'),
    video_second: price('second of video'),
    web_search: price('search of the web that the provider makes'),
    request: price('request'),
    above: z
      .array(
        z.strictObject({ input_tokens: positiveInt().describe('Input tokens that are still below it.'), ...rates }),
      )
      .max(8)
      .optional()
      .describe('Prices of requests with more input, in the place of those above that they name.'),
    served_as: z
      .record(z.string().regex(/^[a-z_\d]{1,64}$/), z.number().min(0).max(1_000))
      .optional()
      .describe(
        "Factors of the prices of tokens, by how the provider says that it served the request: a service tier such as flex or priority, Anthropic's speed (fast) or place (us). Alone, they change those of the listed price.",
      ),
  })
  .describe(
    'What it costs, for the ledger and budgets: all of it, in the place of the price list. A part without a price costs what the whole costs.',
  );

const capability = z.boolean().optional();

export const capabilitiesSchema = z
  .strictObject({
    vision: capability.describe('Reads images.'),
    tools: capability.describe('Calls tools.'),
    reasoning: capability.describe('Has a reasoning mode.'),
    streaming: capability.describe(
      'Streams its answer. false: it is asked whole, and streams are made from the whole answer.',
    ),
    audio_in: capability.describe('Reads audio.'),
    files: capability.describe('Reads PDFs and other files in messages.'),
    logprobs: capability.describe('Gives log probabilities.'),
    json_schema: capability.describe('Keeps to a JSON schema.'),
    native_n: capability.describe('Gives several choices in one call.'),
  })
  .describe("What it can and cannot do, where that differs from the provider's; requests avoid targets that cannot.");

const promptCache = z.enum(['off', 'auto']);

const targetObjectSchema = z.strictObject({
  provider: name("a provider's name").describe('Name of a provider above.'),
  model: modelName.describe("The model's id at that provider. In a pattern alias, * is what the alias's * matched."),
  priority: z.int().min(1).max(100).default(1).describe('1 is tried first; higher ones only when all below failed.'),
  weight: z.number().min(0.001).max(1_000).default(1).describe('Share of requests among targets of one priority.'),
  max_first_token: duration({ min: '1ms', max: '24h' })
    .optional()
    .describe(
      'Longest first token of its streams. One that takes longer is also asked elsewhere; while that is usual, other targets go first, of higher priorities too.',
    ),
  price: priceSchema.optional(),
  priced_as: modelName
    .optional()
    .describe(
      'The model whose price and size in the price list it has, where its own id says neither, such as a deployment of Azure.',
    ),
  context_window: positiveInt()
    .optional()
    .describe('Tokens it can read; longer requests avoid it where another is larger.'),
  max_output_tokens: positiveInt().optional().describe('Tokens it can write; a higher max_tokens is lowered to it.'),
  capabilities: capabilitiesSchema.optional(),
  body: z
    .record(z.string(), z.json())
    .default({})
    .meta({ mark: 'body' })
    .describe("Top-level fields set in every request to it, over the caller's."),
  prompt_cache: promptCache
    .optional()
    .describe("The alias's setting for this target alone. auto here holds at another address than the vendor's too."),
  stream: z
    .boolean()
    .default(true)
    .describe('false: ask for a whole answer where it must be converted; what cannot stream at all: capabilities.'),
  think_tags: z
    .enum(['pair', 'closing'])
    .optional()
    .describe(
      'Its texts begin with its thoughts: between `<think>` and `</think>` (pair), or up to `</think>` (closing, where its template writes the first tag). Callers get them as reasoning. Default: texts stay as they are.',
    ),
  batch: positiveInt(100_000).optional().describe('Most inputs of one embedding call.'),
  space: someText(64).optional().describe('Vector space of its embeddings.'),
  data: dataFactsSchema,
  timeouts: timeoutsSchema.prefault({}),
});

/** `provider/model`, whose model may hold more slashes; or an object. The result is always an object. */
export const targetSchema = z.union(
  [
    z
      .string()
      .regex(/^[^/\s]+\/\S+( \S+)*$/, 'expected provider/model')
      .transform((text) => {
        const slash = text.indexOf('/');
        return { provider: text.slice(0, slash), model: text.slice(slash + 1) };
      })
      .pipe(targetObjectSchema),
    targetObjectSchema,
  ],
  { error: 'expected provider/model or an object with provider and model' },
);

const targetsSchema = z.array(targetSchema).min(1, 'expected at least one target').max(100);

const variantSchema = z.strictObject({
  weight: z.number().min(0).max(1_000).default(1).describe('Share of its callers.'),
  targets: targetsSchema.optional().describe("Where it runs. Default: the model's targets."),
  prompt: z
    .string()
    .regex(/^[A-Za-z0-9][\w.-]{0,63}(@[\w.-]{1,64})?$/, 'expected a prompt such as reply, reply@3 or reply@label')
    .optional()
    .describe('Prompt of `prompts`, whose messages come before those of the request. Its variables need defaults.'),
  parameters: parametersSchema.prefault({}).describe("Set in its requests, in the place of the caller's."),
});

/** A model for callers: an alias with its targets. */
const semanticCache = z.strictObject({
  model: modelName.describe('The alias that embeds questions. The operator pays for it.'),
  error: percentage()
    .refine((share) => share > 0 && share <= 0.2, 'expected above 0% and at most 20%')
    .prefault('1%')
    .describe('Largest share of wrong answers: a kept answer serves similar questions only below it.'),
  sample: percentage()
    .prefault('5%')
    .describe('Share of later hits that ask the model all the same, so that its error goes on being measured.'),
  deadline: duration({ min: '1ms', max: '60s' })
    .prefault('200ms')
    .describe('How long a request waits for the embedding of its question. A later one is a miss.'),
  judge: modelName
    .optional()
    .describe('The alias that compares answers. Default: short ones by their words, long ones by their embeddings.'),
});

export const modelSchema = z.strictObject({
  type: z.enum(modelTypes).default('chat').describe('What it is for.'),
  listed_as: z.enum(modelTypes).optional().describe('model_type in the model list. Default: its type.'),
  tier: name('a tier').optional().describe('Group of models with separate limits (see tiers).'),
  targets: targetsSchema.describe('Where it may run: `provider/model` or an object.'),
  only: z
    .strictObject({
      accounts: z.array(someText(64)).max(1_000).optional().describe('Ids of accounts.'),
      plans: z.array(name('a plan')).max(1_000).optional().describe('Names of plans.'),
    })
    .optional()
    .describe(
      'Who may use it: these accounts, and those with one of these plans. Plans and keys may take it from them. Default: everybody.',
    ),
  variants: z
    .record(name("a variant's name"), variantSchema)
    .optional()
    .describe('Shares of its requests that run otherwise, to compare them. A caller stays with one variant.'),
  sticky: z
    .enum(['key', 'user', 'session'])
    .default('key')
    .describe('What stays with one variant: a key, an end user, or a session. Without a user or a session, the key.'),
  rollback: z
    .literal('auto')
    .optional()
    .describe(
      'Takes a variant out that has clearly more errors than the first one, or is clearly slower. Default: all stay.',
    ),
  shadow: z
    .strictObject({
      share: percentage().describe('Share of its requests.'),
      targets: targetsSchema.optional().describe('Where it is sent. Either this or `model`.'),
      model: modelName.optional().describe('Another model, whose targets it is sent to.'),
    })
    .optional()
    .describe(
      'Sends a share of its requests elsewhere as well, once the caller has the answer. Callers neither see it nor pay for it.',
    ),
  fallbacks: z.array(modelName).max(20).default([]).describe('Other aliases, tried in order after all targets.'),
  timeouts: timeoutsSchema.prefault({}),
  attempts: z.int().min(1).max(8).default(4).describe('Upstream attempts per request, the first included.'),
  hedge: z
    .strictObject({
      after: z
        .string()
        .regex(/^p(50|75|90|95|99)$/, 'expected a percentile such as p95')
        .default('p95')
        .describe('Percentile of the time to first token after which a second attempt starts.'),
      at_most: percentage().prefault('5%').describe('Largest share of requests that may be hedged.'),
    })
    .optional()
    .describe(
      'A second attempt elsewhere when a first token is slow. Whole answers that take longer than usual have it anyhow, within at_most, and so has what a silent target holds.',
    ),
  prefer: z
    .enum(['cheapest', 'fastest', 'balanced'])
    .optional()
    .describe(
      'Who is asked first among healthy targets of one priority: the lowest price for the request, the shortest measured time to the first token, or the lowest product of both. Default: by weight and load.',
    ),
  quality: z
    .strictObject({
      checks: z
        .array(z.enum(['schema', 'refusal', 'length']))
        .default(['schema', 'refusal', 'length'])
        .describe(
          "What an answer must be: JSON that meets the request's schema, no refusal, and not cut by the length that its model can write.",
        ),
      min_chars: positiveInt().optional().describe('Characters of text that it must have, unless it calls a tool.'),
    })
    .optional()
    .describe(
      'Checks of each answer. One that fails makes the next target answer, such as a dearer one with a higher priority; the last answer is given as it is. Streams are held back until they pass.',
    ),
  guards: guardNames().describe('Guards of its requests and answers.'),
  on_filter: z
    .enum(['answer', 'next'])
    .optional()
    .describe(
      'What a content filter refuses before the first content, a prompt or an answer: `next` asks the next target, `answer` gives the refusal. If all refuse, the caller gets the refusal. Default: answer.',
    ),
  answer_model: z
    .enum(['asked', 'upstream'])
    .optional()
    .describe(
      "`model` of its answers: the name that was asked for, or the provider's id, which the header x-culvert-model always has. Default: asked in Messages, upstream elsewhere.",
    ),
  cache: z
    .strictObject({
      ...cachedAnswerMembers,
      tool_calls: z.boolean().default(false).describe('Keeps answers that call tools too.'),
      semantic: semanticCache
        .optional()
        .describe('Answers questions of the same meaning too, once their measured error allows it. Default: off.'),
    })
    .optional()
    .describe('Keeps complete answers, and gives them to equal requests. Default: nothing is kept.'),
  prompt_cache: promptCache
    .default('off')
    .describe(
      "auto: requests ask the provider to keep the beginning of a prompt in its cache, where that pays, and conversations stay at their target. A request that has the vendor's own fields for it goes out unchanged.",
    ),
  cost: milliMultiple(z.number().min(0).max(costUnitsMax))
    .default(1)
    .describe("Units a request costs, times the endpoint's cost."),
  dimensions: z.int().min(1).max(65_536).optional().describe('Length of its embedding vectors.'),
  space: someText(64).optional().describe('Vector space of its embeddings; a fallback never leaves it.'),
  voices: z.record(someText(64), someText(128)).optional().describe('Voices by the name callers use.'),
  realtime: z
    .strictObject({
      transcription: modelName.describe('The alias that writes down what the caller says.'),
      speech: modelName.describe('The alias that speaks the answers.'),
      voice: someText(64).default('alloy').describe('Its voice, where the caller names none.'),
    })
    .optional()
    .describe(
      'Holds realtime sessions for a model that chats: what the caller says is transcribed, the model answers, and its answer is spoken. Default: the targets hold the sessions themselves.',
    ),
  capabilities: capabilitiesSchema.optional(),
  context_window: positiveInt().optional().describe('Tokens it can read, for all targets that do not say.'),
  max_output_tokens: positiveInt().optional().describe('Tokens it can write, for all targets that do not say.'),
});

export const modelsSchema = z
  .record(modelName, modelSchema)
  .default({})
  .describe(
    'Aliases: the model names that callers use. Without any, every model that a provider lists is one. One * makes a pattern.',
  );
