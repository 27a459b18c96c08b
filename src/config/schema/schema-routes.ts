import { z } from 'zod';
import { conditionCharsMax } from '../../rules/condition.ts';
import { duration, name, someText } from '../scalars.ts';
import { modelName } from './schema-models.ts';
import { parametersSchema } from './schema-parameters.ts';

/** Statuses with which a rule may refuse. */
const refusalStatuses = [400, 402, 403, 404, 409, 410, 413, 422, 429, 451, 503] as const;

const stepSchema = z.strictObject({
  at_least: z.number().min(0).optional().describe('Least value, such as 0.5. Default: any.'),
  at_most: z.number().min(0).optional().describe('Greatest value. Default: any.'),
  model: modelName.describe('The alias that answers then.'),
});

const ladderSchema = z.strictObject({
  by: z
    .enum(['budget_left', 'units_left', 'tokens'])
    .describe('What decides: the share that is left of a budget or of units, 0 to 1, or the size of the input.'),
  steps: z.array(stepSchema).min(1).max(20).describe('The first step that fits gives the model. None fits: it stays.'),
});

const classSchema = z.strictObject({
  model: modelName.describe('The alias that answers requests of this class.'),
  examples: z
    .array(someText(2_000))
    .min(1)
    .max(100)
    .describe('Texts of users that belong to this class. Ten or more make it dependable.'),
});

const classifySchema = z.strictObject({
  embedding_model: modelName.describe('The model that embeds the examples and the newest text of the user.'),
  classes: z.array(classSchema).min(2).max(10).describe('Classes of requests, each with its model.'),
  otherwise: modelName
    .optional()
    .describe(
      'The alias that answers where no class is clearly the nearest, or no vector came in time. Default: it stays.',
    ),
  margin: z
    .number()
    .min(0)
    .max(1)
    .default(0.02)
    .describe('How much nearer the best class must be than the second, in similarity.'),
  deadline: duration({ min: '10ms', max: '10s' }).prefault('500ms').describe('Longest wait for the vector.'),
  observe: z
    .boolean()
    .default(false)
    .describe('Only records which model would answer; the request goes on as if the rule had no classes.'),
});

export const routeName = name("a rule's name").regex(/^[A-Za-z]/, "a rule's name begins with a letter");

const routeFields = z.strictObject({
  when: someText(conditionCharsMax)
    .optional()
    .describe('Condition in CEL, such as `plan == "free" && tokens > 8000`. Default: each request.'),
  order: z
    .int()
    .min(-10_000)
    .max(10_000)
    .default(0)
    .describe(
      'Rules with a lower number come first. Default: 0, in the order of the file, and stored ones after them.',
    ),
  enabled: z.boolean().default(true).describe('Whether it is in force.'),
  model: modelName.optional().describe('The alias that answers, also where the plan of the caller does not have it.'),
  ladder: ladderSchema.optional().describe('The alias that answers, by what is left or by size.'),
  classify: classifySchema.optional().describe('The alias that answers, by examples of what users ask.'),
  targets: z
    .array(modelName)
    .min(1)
    .max(50)
    .optional()
    .describe('Targets of the model that may answer, as `provider/model`, or `provider` for all of them there.'),
  parameters: parametersSchema.optional().describe("Members of conversations, in place of the caller's."),
  tag: someText(64).optional().describe("Tag by which its use is summed, in place of the caller's."),
  refuse: z
    .strictObject({
      message: someText(1_000).describe('What the caller reads. The name of the rule is in it too.'),
      status: z.literal(refusalStatuses).default(403).describe('HTTP status.'),
    })
    .optional()
    .describe('Refuses the request. It costs nothing.'),
  continue: z
    .boolean()
    .default(false)
    .describe('Whether later rules are tried as well. What an earlier rule has set stays. Default: the first ends it.'),
});

export const routeSchema = routeFields.superRefine((rule, context) => {
  const { model, ladder, classify, targets, parameters, tag, refuse } = rule;
  const changes = Object.entries({ model, ladder, classify, targets, parameters, tag }).filter(
    ([, value]) => value !== undefined,
  );
  const refused = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message, input: rule });
  if (refuse === undefined && changes.length === 0) {
    refused([], 'a rule needs an effect: model, ladder, classify, targets, parameters, tag or refuse');
  }
  if (refuse !== undefined && changes.length > 0)
    refused(['refuse'], `cannot be used together with ${changes[0]?.[0]}`);
  const [first, second] = Object.entries({ model, ladder, classify }).filter(([, value]) => value !== undefined);
  if (second !== undefined) refused([second[0]], `expected either ${first?.[0]} or ${second[0]}`);
  if (refuse !== undefined && rule.continue) refused(['continue'], 'a rule that refuses ends it');
});

export const routesSchema = z
  .record(routeName, routeSchema)
  .default({})
  .describe('Rules that send requests elsewhere, change them or refuse them by what they are.');
