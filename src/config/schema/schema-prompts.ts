import { z } from 'zod';
import { name, someText } from '../scalars.ts';
import { modelName } from './schema-models.ts';
import { parametersSchema } from './schema-parameters.ts';

const variableTypes = ['string', 'number', 'boolean'] as const;

export const variableName = z
  .string()
  .regex(/^[A-Za-z_]\w{0,63}$/, 'a variable has letters, digits and _, and begins with no digit');

const variableObject = z.strictObject({
  type: z.enum(variableTypes).default('string').describe('Type of its values.'),
  default: z.union([z.string(), z.number(), z.boolean()]).optional().describe('Value where a request has none.'),
});

const variableSchema = z.union(
  [
    z
      .enum(variableTypes)
      .transform((type): z.input<typeof variableObject> => ({ type }))
      .pipe(variableObject),
    variableObject,
  ],
  { error: 'expected string, number, boolean, or an object with type and default' },
);

const charsMax = 200_000;

const versionFields = {
  variables: z
    .record(variableName, variableSchema)
    .default({})
    .describe('Values that a request gives, by name: `string`, `number`, `boolean`, or an object.'),
  model: modelName.optional().describe('The alias that answers. Default: the one that the request names.'),
  parameters: parametersSchema.prefault({}).describe('Set where a request does not set them itself.'),
};

const messagesSchema = z
  .array(
    z.strictObject({
      role: z.enum(['system', 'user', 'assistant']).describe('Author of the message.'),
      content: someText(charsMax).describe('Text. `{{name}}` is the value of a variable.'),
    }),
  )
  .min(1, 'expected at least one message')
  .max(100)
  .describe("Messages before the request's own.");

export const versionSchema = z.strictObject({ ...versionFields, messages: messagesSchema });

const versionNumber = z
  .string()
  .regex(/^[1-9]\d{0,5}$/, 'a version is a whole number of at least 1')
  .describe('Number of a version.');

export const labelName = z
  .string()
  .regex(/^[A-Za-z][\w.-]{0,63}$/, 'a label begins with a letter, and has letters, digits, _, . and - after it');

/** A prompt of one version, or of several. */
export const promptFields = z.strictObject({
  ...versionFields,
  messages: messagesSchema.optional(),
  versions: z.record(versionNumber, versionSchema).optional().describe('Several versions by their numbers.'),
  labels: z
    .record(labelName, z.int().min(1).max(999_999))
    .default({})
    .describe('Versions by names such as `production`, which is the one of a request that names none.'),
});

export const promptSchema = promptFields.refine(
  ({ messages, versions }) => (messages === undefined) !== (versions === undefined),
  { error: 'expected either messages or versions' },
);

export const promptName = name("a prompt's name");

export const promptsSchema = z
  .record(promptName, promptSchema)
  .default({})
  .describe('Prompts that requests name as `prompt/NAME`, `prompt/NAME@3` or `prompt/NAME@label`.');
